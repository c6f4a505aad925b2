/*
 * knob_merge.c: merges two names of one knob if the log shows that they belong together.
 *
 * "block_size 128→64" and "GPTQ block_size 128→32" name one knob: the words of one name are among those of the other,
 * and at some time trials gave both names the same value. A name that could belong to two longer names, as "wd" to
 * "muon wd" and "embed wd", stays on its own, and so does a name of one word. Two identifiers, as muon_wd and
 * muon_wd_mlp, are two variables of a program.
 */
#include "ideas_internal.h"

#include <stdlib.h>
#include <string.h>

/* Without this macro uthash calls exit when memory runs out, which a library must not do. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum { VALUES_MAX = 16, NAMES_OF_A_WORD = 256 };

struct knob {
    UT_hash_handle hh;
    const struct change_key *key;
    double values[VALUES_MAX];
    size_t n_values;
    bool identifier;         /* the name was written with underscores */
    struct knob *into;       /* the longer name of the same knob */
    uint32_t number;
    struct knob *next[CHANGE_WORDS]; /* for each word of this name, the next name that contains the word */
    char text[];
};

static struct knob *find(const struct lineage_ideas *ideas, const char *text)
{
    struct knob *knob = NULL;
    if (ideas->knobs)
        HASH_FIND(hh, ideas->knobs, text, strlen(text), knob);
    return knob;
}

static void add_value(struct knob *knob, const struct lineage_ideas *ideas, uint32_t number)
{
    if (knob->n_values == VALUES_MAX)
        return;
    const struct lineage_number value = value_number(ideas, number);
    if (!value.present)
        return;
    for (size_t i = 0; i < knob->n_values; i++)
        if (knob->values[i] == value.value)
            return;
    knob->values[knob->n_values++] = value.value;
}

/* The knob of a name, which is made with the first name that has it. */
static struct knob *knob_of(struct lineage_ideas *ideas, struct knob_name *name, const char *spelled)
{
    struct knob *knob = find(ideas, name->knob);
    if (!knob) {
        size_t length = strlen(name->knob);
        knob = arena_alloc(&ideas->arena, 1, sizeof *knob + length + 1);
        if (!knob)
            return NULL;
        memcpy(knob->text, name->knob, length);
        knob->key = &name->key;
        knob->number = ideas->n_knobs++;
        HASH_ADD_KEYPTR(hh, ideas->knobs, knob->text, length, knob);
        if (!knob->hh.tbl)
            return NULL;
    }
    knob->identifier = knob->identifier || (strchr(spelled, '_') && !strchr(spelled, ' '));
    return knob;
}

static bool collect(struct lineage_ideas *ideas, const struct row_change *change)
{
    struct knob_name *name = &ideas->named[change->name];
    if (!name->made && !(name->made = knob_of(ideas, name, ideas->names.entries[change->name].text)))
        return false;
    add_value(name->made, ideas, change->from);
    add_value(name->made, ideas, change->to);
    return true;
}

static size_t place_of_word(const struct change_key *key, uint32_t word)
{
    size_t i = 0;
    while (i < key->n && key->words[i] != word)
        i++;
    return i;
}

static bool is_part(const struct knob *part, const struct knob *whole)
{
    for (size_t i = 0; i < part->key->n; i++)
        if (place_of_word(whole->key, part->key->words[i]) == whole->key->n)
            return false;
    return part->key->n < whole->key->n;
}

static bool share_a_value(const struct knob *a, const struct knob *b)
{
    for (size_t i = 0; i < a->n_values; i++)
        for (size_t k = 0; k < b->n_values; k++)
            if (a->values[i] == b->values[k])
                return true;
    return false;
}

/* Returns the longer name that a name belongs to; NULL if there is none or more than one. */
static struct knob *longer_name(const struct knob *knob, struct knob *const *with_word)
{
    struct knob *found = NULL;
    uint32_t word = knob->key->words[0];
    size_t steps = 0;
    for (struct knob *other = with_word[word]; other; other = other->next[place_of_word(other->key, word)]) {
        if (++steps > NAMES_OF_A_WORD)
            return NULL;
        if (other == knob || (knob->identifier && other->identifier) || !is_part(knob, other) || !share_a_value(knob, other))
            continue;
        if (found)
            return NULL;
        found = other;
    }
    return found;
}

/* The knob that the name belongs to in the end. Each step leads to a longer name. */
static const struct knob *last_of(const struct knob *knob)
{
    while (knob && knob->into)
        knob = knob->into;
    return knob;
}

const char *knob_merged(const struct lineage_ideas *ideas, const char *text)
{
    const struct knob *knob = last_of(find(ideas, text));
    return knob ? knob->text : text;
}

bool knobs_merge(struct lineage_ideas *ideas)
{
    bool ok = true;
    for (size_t i = 0; ok && i < ideas->n; i++)
        for (size_t k = 0; ok && k < ideas->rows[i].idea.n_changes; k++)
            ok = collect(ideas, &ideas->rows[i].own[k]);
    struct knob **with_word = ok ? calloc(ideas->terms.n + 1, sizeof(struct knob *)) : NULL;
    if (!with_word)
        return false;
    for (struct knob *knob = ideas->knobs; knob; knob = knob->hh.next)
        for (size_t i = 0; i < knob->key->n; i++)
            if (place_of_word(knob->key, knob->key->words[i]) == i) {
                knob->next[i] = with_word[knob->key->words[i]];
                with_word[knob->key->words[i]] = knob;
            }
    for (struct knob *knob = ideas->knobs; knob; knob = knob->hh.next)
        if (knob->key->n >= 2 && !knob->key->apart)
            knob->into = longer_name(knob, with_word);
    free(with_word);
    for (uint32_t i = 0; i < ideas->names.n; i++) {
        const struct knob *knob = last_of(ideas->named[i].made);
        if (knob) {
            ideas->named[i].knob = knob->text;
            ideas->named[i].number = knob->number;
        }
    }
    return true;
}

void knobs_release(struct lineage_ideas *ideas)
{
    HASH_CLEAR(hh, ideas->knobs);
}
