/*
 * libpq_script.h: a PostgreSQL server with scripted answers, for programs linked with --wrap of
 * libpq_load, clock_gettime, poll and getpid. Nothing waits, because the clock advances by itself.
 */
#ifndef SUPPORT_LIBPQ_SCRIPT_H
#define SUPPORT_LIBPQ_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/* The scripted result of a statement. */
enum how {
    ROWS,    /* cells separated by `|`, rows by `;`; `~` is null; "" for an answer without rows */
    DONE,    /* success without rows, for a statement that returns none */
    NO,      /* an error: "SQLSTATE text", either may be missing */
    NO_END,  /* an error, after which the server closes the connection */
    CUT,     /* rows, after which the connection is lost */
    LOST,    /* the connection is lost before an answer */
    SILENT,  /* no answer */
    UNSENT,  /* sending fails */
    STUCK,   /* writing to the socket fails */
    MANY,    /* rows, an error, rows again and a second error */
    ENDLESS, /* several ends of answers, one after the other */
};

/* An expected statement, and a part of its text. */
struct answer {
    const char *asked;
    enum how how;
    const char *said;
};

/* Reset at the beginning of a test: no statement is expected, and no call fails. */
void script_begin(void);

/*
 * Append expected statements. The statement that begins each connection is answered automatically
 * unless it is the next expected one.
 */
void script_is(const struct answer *answers, size_t n);
#define SCRIPT(...) script_is((const struct answer[]){__VA_ARGS__}, sizeof((const struct answer[]){__VA_ARGS__}) / sizeof(struct answer))

/*
 * Assert that every expected statement was sent, and that all results and all connections but
 * `connections` were freed.
 */
void script_must_be_over(unsigned connections);

/* The last statement and its parameters, separated by `|`, with "~" for null. */
extern char script_asked[4096];

/* The calls that fail until these members are changed. */
extern struct script_faults {
    bool connect, enter, leave, sync, prepare, consume;
} script_faults;

extern unsigned script_prepared;  /* statements sent since the test set it to 0 */
extern unsigned script_notifies;  /* notifications that wait to be read */
extern bool script_notifies_again; /* every poll produces one */
extern double script_seconds;     /* added to the clock */
extern int script_pid_more;       /* added to the process id, which simulates a fork */

/* Break the connection now, while no statement is running. */
void script_break(void);

#endif
