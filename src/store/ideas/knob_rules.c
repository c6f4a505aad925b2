/*
 * knob_rules.c: what a person decided about names of knobs.
 *
 * Rules go by the words that a name spells, before abbreviations are expanded. So they can separate "wd" from
 * "weight decay", which the log may show to be one.
 */
#include "ideas_internal.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct ruled_name {
    UT_hash_handle hh;
    const char *first;       /* the first name of its list of one knob, NULL if it is in none */
    struct ruled_name *knob; /* the entry of that first name, or this one */
    uint64_t apart;          /* of a knob: bit i is set if it is in the i-th list of different knobs */
    char words[];
};

static size_t spell(char out[KNOB_TEXT_MAX], const char *name)
{
    struct knob_words words;
    return knob_words_sort(out, &words, name);
}

static struct ruled_name *find(const struct lineage_ideas *ideas, const char *name)
{
    char words[KNOB_TEXT_MAX];
    struct ruled_name *found = NULL;
    size_t length = ideas->ruled_names ? spell(words, name) : 0;
    if (length)
        HASH_FIND(hh, ideas->ruled_names, words, length, found);
    return found;
}

static struct ruled_name *find_or_add(struct lineage_ideas *ideas, const char *name)
{
    char words[KNOB_TEXT_MAX];
    struct ruled_name *made = find(ideas, name);
    if (made)
        return made;
    size_t length = spell(words, name);
    made = arena_alloc(&ideas->arena, 1, sizeof *made + length + 1);
    if (!made)
        return NULL;
    memcpy(made->words, words, length);
    made->knob = made;
    HASH_ADD_KEYPTR(hh, ideas->ruled_names, made->words, length, made);
    return made->hh.tbl ? made : NULL;
}

static enum lineage_status join(struct lineage_ideas *ideas, const struct lineage_knob_rule *rule, struct lineage_error *err)
{
    const char *shown = arena_text(&ideas->arena, rule->names[0], strlen(rule->names[0]));
    struct ruled_name *first = shown ? find_or_add(ideas, rule->names[0]) : NULL;
    for (size_t i = 0; first && i < rule->n; i++) {
        struct ruled_name *name = find_or_add(ideas, rule->names[i]);
        if (!name)
            return store_no_memory(err);
        if (name->first && name->first != shown)
            return store_fail(err, LINEAGE_EINVAL, "knobs: '%s' is in two lists of names of one knob", rule->names[i]);
        name->first = shown;
        name->knob = first;
    }
    return first ? LINEAGE_OK : store_no_memory(err);
}

static enum lineage_status separate(struct lineage_ideas *ideas, const struct lineage_knob_rule *rule, struct lineage_error *err)
{
    const uint64_t bit = (uint64_t)1 << ideas->n_apart++;
    for (size_t i = 0; i < rule->n; i++) {
        struct ruled_name *name = find_or_add(ideas, rule->names[i]);
        if (!name)
            return store_no_memory(err);
        if (name->knob->apart & bit)
            return store_fail(err, LINEAGE_EINVAL, "knobs: '%s' cannot differ from another name of that list: both are %s",
                              rule->names[i], name->first ? "in a list of names of one knob" : "spellings of one name");
        name->knob->apart |= bit;
    }
    return LINEAGE_OK;
}

enum lineage_status lineage_ideas_add_rules(struct lineage_ideas *ideas, const struct lineage_knob_rule *rules, size_t n,
                                            struct lineage_error *err)
{
    char words[KNOB_TEXT_MAX];
    if (ideas->settled)
        return store_fail(err, LINEAGE_EINVAL, "rules cannot be added to a settled set of ideas");
    if (n > LINEAGE_KNOB_RULES - ideas->n_rules)
        return store_fail(err, LINEAGE_EINVAL, "knobs: a set of ideas has at most %d rules", LINEAGE_KNOB_RULES);
    ideas->n_rules += n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < rules[i].n; k++)
            if (!spell(words, rules[i].names[k]))
                return store_fail(err, LINEAGE_EINVAL, "knobs: '%s' has no word that could name a setting", rules[i].names[k]);
    for (size_t i = 0; i < n; i++)
        if (rules[i].n && rules[i].relation == LINEAGE_KNOBS_SAME)
            TRY(join(ideas, &rules[i], err));
    for (size_t i = 0; i < n; i++)
        if (rules[i].n && rules[i].relation == LINEAGE_KNOBS_DIFFERENT)
            TRY(separate(ideas, &rules[i], err));
    return LINEAGE_OK;
}

const char *knob_rule_name(const struct lineage_ideas *ideas, const char *name, uint64_t *apart)
{
    const struct ruled_name *found = find(ideas, name);
    if (apart)
        *apart = found ? found->knob->apart : 0;
    return found ? found->first : NULL;
}

void knob_rules_release(struct lineage_ideas *ideas)
{
    HASH_CLEAR(hh, ideas->ruled_names);
}
