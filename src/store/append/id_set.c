/*
 * id_set.c: a set of ids.
 *
 * Rows that the mirror has not read must still be found by id, or an id would be given twice. The set is a hash table,
 * because a handle may be 65536 rows ahead of the mirror (APPEND_LAG). The entries are in one arena, because they are
 * only freed together. Ids that append itself gives are consecutive numbers, so the set stores only the first and the
 * last of them.
 */
#include "id_set.h"

/* Without this macro uthash calls exit when memory runs out, which a library must not do. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct id_entry {
    UT_hash_handle hh;
    char id[];
};

/* Accepts at most as many digits as always fit into 64 bits. */
static bool is_number(const char *id, uint64_t *value, size_t *digits)
{
    size_t n = 0;
    *value = 0;
    for (; n < 19 && id[n] >= '0' && id[n] <= '9'; n++)
        *value = *value * 10 + (uint64_t)(id[n] - '0');
    *digits = n;
    return n && !id[n];
}

/* Whether an id with that many digits is a number padded to `width`: with width 3, 7 is written 007 and in no other
 * way. */
static bool is_padded_so(const char *id, size_t digits, size_t width)
{
    return digits == width || (digits > width && id[0] != '0');
}

static bool is_in_run(const struct id_set *set, const char *id)
{
    uint64_t value;
    size_t digits;
    return is_number(id, &value, &digits) && value >= set->run_from && value < set->run_to &&
           is_padded_so(id, digits, set->run_width);
}

static bool add_to_run(struct id_set *set, const char *id)
{
    uint64_t value;
    size_t digits;
    if (!is_number(id, &value, &digits))
        return false;
    if (set->run_from == set->run_to) {
        set->run_from = set->run_to = value;
        set->run_width = digits;
    }
    if (value != set->run_to || !is_padded_so(id, digits, set->run_width))
        return false;
    set->run_to++;
    return true;
}

bool id_set_has(const struct id_set *set, const char *id)
{
    struct id_entry *entry = NULL;
    if (is_in_run(set, id))
        return true;
    if (set->table)
        HASH_FIND(hh, set->table, id, strlen(id), entry);
    return entry != NULL;
}

bool id_set_add(struct id_set *set, const char *id)
{
    size_t length = strlen(id);
    if (add_to_run(set, id)) {
        set->n++;
        return true;
    }
    struct id_entry *entry = arena_alloc(&set->arena, 1, sizeof *entry + length + 1);
    if (!entry)
        return false;
    memcpy(entry->id, id, length);
    HASH_ADD_KEYPTR(hh, set->table, entry->id, length, entry);
    set->n++;
    return entry->hh.tbl != NULL; /* uthash allocates its own tables separately */
}

void id_set_clear(struct id_set *set)
{
    HASH_CLEAR(hh, set->table);
    arena_release(&set->arena);
    set->n = 0;
    set->run_from = set->run_to = 0;
}

size_t id_find_free_number(bool (*is_taken)(void *context, size_t n), void *context)
{
    size_t taken = 1, is_free = 2;
    while (is_taken(context, is_free)) {
        taken = is_free;
        is_free *= 2;
    }
    while (is_free - taken > 1) {
        size_t middle = taken + (is_free - taken) / 2;
        if (is_taken(context, middle))
            taken = middle;
        else
            is_free = middle;
    }
    return is_free;
}
