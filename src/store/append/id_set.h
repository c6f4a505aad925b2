/* id_set.h: ids of rows that the index has not seen yet: those just appended, or just imported. */
#ifndef APPEND_ID_SET_H
#define APPEND_ID_SET_H

#include <stdint.h>

#include "../format/arena.h"

/* Zeroed: empty. */
struct id_set {
    struct id_entry *table; /* uthash, in arena */
    struct arena arena;
    size_t n;
    /* Those that were counted one after another: the numbers from run_from, less than run_to, in run_width digits or
     * as many as it takes. None is in the table. */
    uint64_t run_from, run_to;
    size_t run_width;
};

bool id_set_has(const struct id_set *set, const char *id);
bool id_set_add(struct id_set *set, const char *id); /* false when out of memory */
void id_set_clear(struct id_set *set);               /* frees all it holds */

#endif
