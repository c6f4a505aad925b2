/* word_terms.c: a hash table of words that were already split, keyed by their bytes. */
#include "ideas_internal.h"

#include <string.h>

/* Without it uthash calls exit, which a library must not. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct word_entry {
    UT_hash_handle hh;
    struct word_terms terms;
    char word[];
};

struct word_terms *word_terms_find(const struct lineage_ideas *ideas, const char *word, size_t length)
{
    struct word_entry *entry = NULL;
    if (ideas->words)
        HASH_FIND(hh, ideas->words, word, length, entry);
    return entry ? &entry->terms : NULL;
}

struct word_terms *word_terms_add(struct lineage_ideas *ideas, const char *word, size_t length)
{
    struct word_entry *entry = arena_alloc(&ideas->arena, 1, sizeof *entry + length + 1);
    if (!entry)
        return NULL;
    memcpy(entry->word, word, length);
    HASH_ADD_KEYPTR(hh, ideas->words, entry->word, length, entry);
    return entry->hh.tbl ? &entry->terms : NULL; /* uthash's own tables are allocated apart */
}

void word_terms_release(struct lineage_ideas *ideas)
{
    HASH_CLEAR(hh, ideas->words);
}
