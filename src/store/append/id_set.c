/*
 * id_set.c: a hash table of ids.
 *
 * Rows that the mirror has not seen must still be found by id, or an id would be given twice. A
 * table because a handle may be 65536 rows ahead (APPEND_LAG); entries and ids lie in one arena,
 * since they are only ever dropped together.
 */
#include "id_set.h"

#include <string.h>

/* Without it uthash calls exit, which a library must not. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct id_entry {
    UT_hash_handle hh;
    const char *id;
};

bool id_set_has(const struct id_set *set, const char *id)
{
    struct id_entry *entry = NULL;
    if (set->table)
        HASH_FIND(hh, set->table, id, strlen(id), entry);
    return entry != NULL;
}

bool id_set_add(struct id_set *set, const char *id)
{
    struct id_entry *entry = arena_alloc(&set->arena, 1, sizeof *entry);
    if (!entry || !(entry->id = arena_text(&set->arena, id, strlen(id))))
        return false;
    HASH_ADD_KEYPTR(hh, set->table, entry->id, strlen(entry->id), entry);
    set->n++;
    return entry->hh.tbl != NULL; /* uthash's own tables are allocated apart */
}

void id_set_clear(struct id_set *set)
{
    HASH_CLEAR(hh, set->table);
    arena_release(&set->arena);
    set->n = 0;
}
