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

static void add_value(struct knob *knob, struct lineage_number value)
{
    if (!value.present || knob->n_values == VALUES_MAX)
        return;
    for (size_t i = 0; i < knob->n_values; i++)
        if (knob->values[i] == value.value)
            return;
    knob->values[knob->n_values++] = value.value;
}

static bool collect(struct lineage_ideas *ideas, const struct lineage_change *change, const struct change_key *key)
{
    struct knob *knob = find(ideas, change->knob);
    if (!knob) {
        size_t length = strlen(change->knob);
        knob = arena_alloc(&ideas->arena, 1, sizeof *knob + length + 1);
        if (!knob)
            return false;
        memcpy(knob->text, change->knob, length);
        knob->key = key;
        HASH_ADD_KEYPTR(hh, ideas->knobs, knob->text, length, knob);
        if (!knob->hh.tbl)
            return false;
    }
    knob->identifier = knob->identifier || (strchr(change->name, '_') && !strchr(change->name, ' '));
    add_value(knob, change->from_value);
    add_value(knob, change->to_value);
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

const char *knob_merged(const struct lineage_ideas *ideas, const char *text)
{
    const struct knob *knob = find(ideas, text);
    while (knob && knob->into)
        knob = knob->into; /* each step leads to a longer name */
    return knob ? knob->text : text;
}

bool knobs_merge(struct lineage_ideas *ideas)
{
    bool ok = true;
    for (size_t i = 0; ok && i < ideas->n; i++)
        for (size_t k = 0; ok && k < ideas->rows[i].idea.n_changes; k++)
            ok = collect(ideas, &ideas->rows[i].changes[k], &ideas->rows[i].keys[k]);
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
    for (size_t i = 0; i < ideas->n; i++)
        for (size_t k = 0; k < ideas->rows[i].idea.n_changes; k++)
            ideas->rows[i].changes[k].knob = knob_merged(ideas, ideas->rows[i].changes[k].knob);
    return true;
}

void knobs_release(struct lineage_ideas *ideas)
{
    HASH_CLEAR(hh, ideas->knobs);
}
