/*
 * rows.h: stores written by hand for tests, as another program might write them. Any failure ends
 * the test.
 */
#ifndef SUPPORT_ROWS_H
#define SUPPORT_ROWS_H

#include <lineage/query.h>
#include <lineage/verify.h>

/* A row with the columns that tests use; the others are empty. NULL means empty. */
struct row {
    const char *id, *specialist, *parent, *status, *metric, *notes, *expected, *delta, *timestamp;
};

/* Append rows to DIR/results.tsv, with the 17-column header first if the file is new. The array
 * ends with {.id = NULL}. */
void add_rows(const char *dir, const struct row *rows);

/* Append bytes unchanged. */
void add_bytes(const char *dir, const char *bytes);

/* Overwrite bytes of DIR/results.tsv in place: the first occurrence of `from` by `to` of the same
 * length. */
void edit_bytes(const char *dir, const char *from, const char *to);

/* Path of a file in dir, valid until the next call. */
const char *in_dir(const char *dir, const char *name);

/* The notices and findings that were received. */
struct heard {
    unsigned n;
    uint64_t line; /* of the last one */
    char text[512];
    char kinds[256]; /* "kind:line " each */
};

struct lineage_store *open_store(const char *dir, enum lineage_direction direction,
                                 struct heard *heard);
void hear_finding(void *context, const struct lineage_finding *finding);

/* The ids of a query's rows, "001 003 "; valid until the next call. */
const char *ids_of(struct lineage_store *store, const struct lineage_query *query);
const char *ids_of_cursor(struct lineage_cursor *cursor);

/* The ids of all rows, and of the best one or "none". Valid until the next call. */
const char *all_ids(struct lineage_store *store);
const char *best_of(struct lineage_store *store);

/* First value of an SQL statement as text ("NULL"); valid until the next call. */
const char *sql_value(struct lineage_store *store, const char *sql);

#endif
