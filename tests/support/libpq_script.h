/*
 * libpq_script.h: a PostgreSQL server with scripted answers, for programs linked with --wrap of
 * libpq_load, clock_gettime, poll and getpid. Nothing waits, because the clock advances by itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* How a statement is answered. */
enum how {
    ROWS,    /* rows: cells are separated by `|`, rows by `;`; `~` is null; "" has no rows */
    DONE,    /* success of a statement that returns no rows */
    NO,      /* an error: "SQLSTATE text"; either part may be missing */
    NO_END,  /* an error; then the server closes the connection */
    CUT,     /* rows; then the connection is lost */
    LOST,    /* the connection is lost before any answer */
    SILENT,  /* no answer */
    UNSENT,  /* sending the statement fails */
    STUCK,   /* writing to the socket fails */
    MANY,    /* rows, an error, rows again and a second error */
    ENDLESS, /* the end of an answer is sent several times */
};

/* An expected statement (a part of its text is enough) and how it is answered. */
struct answer {
    const char *asked;
    enum how how;
    const char *said;
};

/* Called at the beginning of a test: afterwards no statement is expected and no call fails. */
void script_begin(void);

/*
 * Appends expected statements. The statement that begins each connection is answered automatically, unless it is the
 * next expected one.
 */
void script_is(const struct answer *answers, size_t n);
#define SCRIPT(...)                                                                                                              \
    script_is((const struct answer[]){__VA_ARGS__}, sizeof((const struct answer[]){__VA_ARGS__}) / sizeof(struct answer))

/*
 * Asserts that every expected statement was sent and that all results were freed, and all connections except
 * `connections` of them.
 */
void script_must_be_over(unsigned connections);

/* The last statement and its parameters, separated by `|`; a null parameter is "~". */
extern char script_asked[4096];

/* Calls that fail while their member is true. */
extern struct script_faults {
    bool connect, enter, leave, sync, prepare, consume;
} script_faults;

extern unsigned script_prepared;  /* statements prepared since the test set this to 0 */
extern unsigned script_notifies;  /* notifications that wait to be read */
extern bool script_notifies_again; /* every poll produces another notification */
extern double script_seconds;     /* seconds added to the clock */
extern int script_pid_more;       /* added to the process id, to simulate a fork */

/* Breaks the connection now, while no statement is running. */
void script_break(void);
