/*
 * pg.h: a connection to a PostgreSQL server: statements with a deadline, and failures told apart by what a caller can do
 * about them. Alone sees libpq.
 *
 * A failure is one of three. The server or the way to it is away, now or since: LINEAGE_EAWAY, and whether the statement
 * took place is not known. The server said no, to the statement or (LINEAGE_EREFUSED; see also connect.h) to whoever came
 * with it: nothing took place; pg_sqlstate says why. It does not answer: the connection is given up at the deadline, which is the first
 * again.
 */
#ifndef POSTGRES_PG_H
#define POSTGRES_PG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../fail.h"

struct pg;

/* What a statement answered; zeroed is nothing. Text format, NULL as "" unless pg_is_null; a cell that is not in the answer is
 * NULL. */
struct pg_result {
    struct pg *pg;
    void *rows;
};

/*
 * Take note of the server, without going there; uri for libpq, shown in messages. LINEAGE_EIO without libpq,
 * LINEAGE_EINVAL in a build without it.
 */
enum lineage_status pg_open(struct pg **pg, const char *uri, const char *shown, struct lineage_error *err);
void pg_close(struct pg *pg);

/* Connect if there is no connection; every call below does it first. *fresh, if not NULL: whether there was none. */
enum lineage_status pg_connect(struct pg *pg, bool *fresh, struct lineage_error *err);
bool pg_is_connected(struct pg *pg);
void pg_disconnect(struct pg *pg);

/* Seconds that a statement may take where nothing longer is known of it. */
#define PG_PATIENCE 30.0

/*
 * One or more statements of the simple protocol, values written into them by the caller (numbers, hex, UUIDs). Several are one
 * transaction unless they say otherwise. out, which may be NULL, receives the last result that has rows.
 */
enum lineage_status pg_query(struct pg *pg, struct pg_result *out, double seconds, const char *sql, struct lineage_error *err);

/* One statement with n parameters $1 .. $n as text; NULL is NULL. */
enum lineage_status pg_run(struct pg *pg, struct pg_result *out, double seconds, const char *sql, size_t n,
                           const char *const *params, struct lineage_error *err);

/* One statement of several that are sent together. */
struct pg_part {
    const char *sql;
    const char *name; /* under which the connection remembers it, prepared at its first use; NULL: it is not */
    size_t n;         /* parameters, as for pg_run */
    const char *const *params;
    bool ends; /* what it is part of: the parts behind it are tried whatever became of it and those before */
};

enum { PG_PARTS_MAX = 4 };

/*
 * Up to PG_PARTS_MAX statements in one message to the server, and their answers in one back (libpq's pipeline). out, which may
 * be NULL, receives the rows of the first; *done, how many succeeded before the first that did not. The status is that of the
 * first failure. The last part must end.
 */
enum lineage_status pg_run_parts(struct pg *pg, struct pg_result *out, double seconds, const struct pg_part *parts, size_t n,
                                 size_t *done, struct lineage_error *err);

/* SQLSTATE of the last statement that the server refused, "" if none was. */
const char *pg_sqlstate(const struct pg *pg);

/* Called once for a statement that has been waited for since a second; NULL: nobody is told. */
void pg_tell_waiting(struct pg *pg, void (*waiting)(void *context), void *context);

/* How many connections there have been: what was said to an earlier one (LISTEN) the server has forgotten. */
unsigned pg_connections(const struct pg *pg);

/* The socket to poll for a NOTIFY, -1 without a connection; and whether one has come since (all of them are taken). */
int pg_socket(struct pg *pg);
bool pg_take_notifies(struct pg *pg);

size_t pg_rows(const struct pg_result *result);
bool pg_is_null(const struct pg_result *result, size_t row, size_t column);
const char *pg_text(const struct pg_result *result, size_t row, size_t column, size_t *length); /* length may be NULL */
const char *pg_digits(const struct pg_result *result, size_t row, size_t column); /* of a bytea; "" if it is none */
int64_t pg_int(const struct pg_result *result, size_t row, size_t column);
bool pg_is_int(const struct pg_result *result, size_t row, size_t column); /* else pg_int says 0 */
void pg_clear(struct pg_result *result);

#endif
