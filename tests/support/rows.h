/* rows.h: writes stores without the library, as another program might, and reads them. Any failure ends the test. */
#pragma once

#include <lineage/query.h>
#include <lineage/verify.h>

/* A row with the columns that tests use; the other columns are empty. NULL means an empty cell. */
struct row {
    const char *id, *specialist, *parent, *status, *metric, *notes, *expected, *delta, *timestamp;
};

/* Appends rows to DIR/results.tsv. A new file gets the 17-column header first. The array ends with {.id = NULL}. */
void add_rows(const char *dir, const struct row *rows);

/* Appends bytes to DIR/results.tsv unchanged. */
void add_bytes(const char *dir, const char *bytes);

/*
 * Overwrites bytes of DIR/results.tsv in place: replaces the first occurrence of `from` by `to`, which has the same
 * length.
 */
void edit_bytes(const char *dir, const char *from, const char *to);

/* Returns the path of a file in dir, valid until the next call. */
const char *in_dir(const char *dir, const char *name);

/* The notices and findings that a test has received. */
struct heard {
    unsigned n;
    uint64_t line; /* line of the last finding */
    char text[512];
    char kinds[256]; /* "kind:line " each */
};

struct lineage_store *open_store(const char *dir, enum lineage_direction direction, struct heard *heard);
void hear_finding(void *context, const struct lineage_finding *finding);

/* Returns the ids of a query's rows, for example "001 003 ". The text is valid until the next call. */
const char *ids_of(struct lineage_store *store, const struct lineage_query *query);
const char *ids_of_cursor(struct lineage_cursor *cursor);

/* all_ids returns the ids of all rows; best_of returns the id of the best row, or "none". Valid until the next call. */
const char *all_ids(struct lineage_store *store);
const char *best_of(struct lineage_store *store);

/* Returns the first value that an SQL statement selects, as text (null is "NULL"); valid until the next call. */
const char *sql_value(struct lineage_store *store, const char *sql);
