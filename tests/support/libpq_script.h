/*
 * libpq_script.h: a server of PostgreSQL that answers what a test has written down, for programs linked with --wrap of libpq_load,
 * clock_gettime, poll and getpid: nobody waits, for the clock goes on by itself.
 */
#ifndef SUPPORT_LIBPQ_SCRIPT_H
#define SUPPORT_LIBPQ_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/* What becomes of a statement. */
enum how {
    ROWS,    /* cells between `|`, rows between `;`, `~` is null; "" is no rows */
    DONE,    /* no rows, and none were asked for */
    NO,      /* refused: "SQLSTATE text", either may be missing */
    NO_END,  /* refused, and the connection is closed behind it */
    CUT,     /* rows, and the connection is lost behind them */
    LOST,    /* the connection is lost before an answer */
    SILENT,  /* no answer */
    UNSENT,  /* it cannot be sent */
    STUCK,   /* it cannot be written to the socket */
    MANY,    /* rows, a refusal, rows again and a second refusal */
    ENDLESS, /* ends of answers, one after the other */
};

/* One statement to come, and a part of its text. */
struct answer {
    const char *asked;
    enum how how;
    const char *said;
};

/* Nothing is asked, and nothing fails: at the beginning of a test. */
void script_begin(void);

/* What comes next. The statement that begins each connection is answered by itself unless it is the one that is due. */
void script_is(const struct answer *answers, size_t n);
#define SCRIPT(...) script_is((const struct answer[]){__VA_ARGS__}, sizeof((const struct answer[]){__VA_ARGS__}) / sizeof(struct answer))

/* Everything was asked, and every answer and connection given back but `connections`. */
void script_must_be_over(unsigned connections);

/* The statement and parameters that were sent last, "~" for null, between `|`. */
extern char script_asked[4096];

/* Which calls fail, until they are set otherwise. */
extern struct script_faults {
    bool connect, enter, leave, sync, prepare, consume;
} script_faults;

extern unsigned script_prepared;  /* statements that were, since the test set it to 0 */
extern unsigned script_notifies;  /* that wait to be taken */
extern bool script_notifies_again; /* one comes whenever somebody polls */
extern double script_seconds;     /* of the clock */
extern int script_pid_more;       /* added to the number of this process: another one after a fork */

/* The connection breaks now, while nobody asks anything. */
void script_break(void);

#endif
