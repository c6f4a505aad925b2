/* id_set.h: ids of rows that the mirror has not read yet, because they were just appended or imported. */
#pragma once

#include "../format/arena.h"

/* A zeroed set is empty. */
struct id_set {
    struct id_entry *table; /* uthash, in arena */
    struct arena arena;
    size_t n;
    /* Consecutive numbers: from run_from up to run_to - 1, padded to run_width digits. None of them is in the table. */
    uint64_t run_from, run_to;
    size_t run_width;
};

bool id_set_has(const struct id_set *set, const char *id);
bool id_set_add(struct id_set *set, const char *id); /* false when out of memory */
void id_set_clear(struct id_set *set);               /* frees everything in it */
#define SCOPED_ID_SET RELEASED_BY(id_set_clear) struct id_set

/* Finds a number n, from 2, for which ID-n is not taken. It is the least such number if every smaller one is taken, which
 * holds for numbers that this function chose. It searches by doubling and bisection, so that a log with one id in ten
 * thousand rows does not cost their square. */
size_t id_find_free_number(bool (*is_taken)(void *context, size_t n), void *context);
