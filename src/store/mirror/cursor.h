/* cursor.h: the trials that a statement finds, one after another. */
#ifndef MIRROR_CURSOR_H
#define MIRROR_CURSOR_H

#include <lineage/query.h>

#include "internal.h"

#define MAX_BOUND 250

/* A statement with its values, in the order of the question marks. */
struct builder {
    struct mirror *mirror;
    struct buf sql;
    struct bound {
        const char *text; /* NULL: number */
        double number;
    } bound[MAX_BOUND];
    int n;
};

/* Run a statement that selects seq; what it finds is fixed now. */
enum lineage_status cursor_open(struct lineage_cursor **cursor, const struct builder *b,
                                struct lineage_error *err);

#endif
