/*
 * pg.h: a connection to a PostgreSQL server: statements with a deadline, and failures distinguished by what a caller
 * can do about them. Only these files see libpq.
 *
 * There are two kinds of failure. The server cannot be reached, now or since the statement was sent: LINEAGE_EAWAY,
 * and it is unknown whether the statement took place. Or the server refused, either the statement or the user
 * (LINEAGE_EREFUSED; see also connect.h): nothing took place, and pg_sqlstate says why. If it does not answer, the
 * connection is given up at the deadline, which is LINEAGE_EAWAY again.
 */
#pragma once

#include <stddef.h>

#include "../fail.h"

struct pg;

/* The answer to a statement; zeroed: empty. Text format, NULL as "" unless pg_is_null; a cell that is not in the
 * answer is NULL. */
struct pg_result {
    struct pg *pg;
    void *rows;
};

/* Remembers the server without connecting; uri is for libpq, `shown` for messages. Returns LINEAGE_EIO if libpq is not
 * installed, LINEAGE_EINVAL in a build without PostgreSQL support. */
enum lineage_status pg_open(struct pg **pg, const char *uri, const char *shown, struct lineage_error *err);
void pg_close(struct pg *pg);

/* Connects unless it is connected; every call below does this first. *fresh, if not NULL, becomes true if a new
 * connection was made. */
enum lineage_status pg_connect(struct pg *pg, bool *fresh, struct lineage_error *err);
bool pg_is_connected(struct pg *pg);
void pg_disconnect(struct pg *pg);

/* Default limit for a statement, in seconds. */
#define PG_PATIENCE 30.0

/* The longest limit of statements that wait for no standby and may be late. */
#define PG_SHORT 2.0

/* Limit for a statement that flushes, because a flush waits for synchronous standbys, which may be down. Without such standbys it is
 * PG_PATIENCE. A command that only reads has its mirror and waits PG_READ_WAIT; one that appends waits the number of seconds that
 * pg_set_standby_wait sets. If `appending` is set for the first time, a short wait of before counts no more. */
#define PG_READ_WAIT 2.5
double pg_flush_seconds(struct pg *pg, bool appending);
void pg_set_standby_wait(struct pg *pg, double seconds); /* above PG_READ_WAIT */

/* Runs one or more statements of the simple protocol; the caller writes the values into them (numbers, hex, UUIDs).
 * Several statements form one transaction unless they contain BEGIN or COMMIT. out, which may be NULL, receives the
 * last result that has rows. */
enum lineage_status pg_query(struct pg *pg, struct pg_result *out, double seconds, const char *sql, struct lineage_error *err);

/* Runs one statement with n parameters $1 .. $n as text; a NULL pointer is SQL NULL. */
enum lineage_status pg_run(struct pg *pg, struct pg_result *out, double seconds, const char *sql, size_t n,
                           const char *const *params, struct lineage_error *err);

/* One of several statements that are sent in one message. */
struct pg_part {
    const char *sql;
    const char *name; /* name under which it is prepared at its first use; NULL: not prepared */
    size_t n; /* parameters, as for pg_run */
    const char *const *params;
    double seconds; /* limit for its answer, behind the answer before it; 0: that of the call */
    bool ends; /* the last part of its transaction: later parts are tried even if it fails */
};

enum { PG_PARTS_MAX = 4 };

/* Sends up to PG_PARTS_MAX statements in one message and reads all their answers (libpq's pipeline). out, which may be
 * NULL, receives the rows of the first statement; *done is the number of statements that succeeded before the first
 * failure. Returns the status of the first failure. The last part must have `ends` set. */
enum lineage_status pg_run_parts(struct pg *pg, struct pg_result *out, double seconds, const struct pg_part *parts, size_t n,
                                 size_t *done, struct lineage_error *err);

/* SQLSTATE of the last statement that the server refused, "" if there was none. */
const char *pg_sqlstate(const struct pg *pg);

/* Sets a callback for a statement that has taken a second; it is called once. NULL: none. */
void pg_tell_waiting(struct pg *pg, void (*waiting)(void *context), void *context);

/* Number of connections made so far. Callers compare it, because a new connection lacks what was set up on an earlier
 * one (LISTEN). */
unsigned pg_connections(const struct pg *pg);

/* pg_socket returns the socket to poll for a NOTIFY, -1 without a connection. The other function returns whether a
 * NOTIFY has arrived, and consumes all of them. */
int pg_socket(struct pg *pg);
bool pg_take_notifies(struct pg *pg);

size_t pg_rows(const struct pg_result *result);
bool pg_is_null(const struct pg_result *result, size_t row, size_t column);
const char *pg_text(const struct pg_result *result, size_t row, size_t column, size_t *length); /* length may be NULL */
const char *pg_digits(const struct pg_result *result, size_t row, size_t column); /* digits of a bytea; "" for anything else */
int64_t pg_int(const struct pg_result *result, size_t row, size_t column);
void pg_clear(struct pg_result *result);
#define SCOPED_RESULT RELEASED_BY(pg_clear) struct pg_result
