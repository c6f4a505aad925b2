/*
 * marathon.h: a long test of kills. Processes write, read, import and rebuild one store and are
 * killed at random instants, at system calls of the store, and inside write; then all promises are
 * checked.
 *
 * A row of the marathon determines its own content: its hypothesis and its notes begin with a tag
 * and a length from which the whole text follows. So every row that can be read is known to be
 * complete or not, and acknowledged or not.
 */
#ifndef FAULT_MARATHON_H
#define FAULT_MARATHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <lineage/store.h>

/* The action of an actor when it was killed, and the kind of kill. */
enum deed { RESTING, OPENING, APPENDING, APPENDING_FILES, READING, RENDERING, REBUILDING, VERIFYING, IMPORTING, STRANGER,
            COMMAND_APPENDS, COMMAND_IMPORTS, COMMAND_READS, COMMAND_RENDERS, COMMAND_REBUILDS, COMMAND_VERIFIES, NIGHT,
            N_DEEDS };
enum death { AT_ANY_INSTANT, AT_A_CALL, INSIDE_WRITE, N_DEATHS };

/* The state of one actor, in memory that outlives it. */
struct part {
    enum deed deed;
    enum death death;
};

/* One store under attack. */
struct arena_of_war {
    const char *dir;     /* the store */
    const char *acks;    /* file outside the store with a line for each acknowledged or announced row */
    const char *work;    /* a work directory that is frozen as a snapshot */
    const char *command; /* path of `lineage`; NULL: only the library is used */
    const char *sweep;   /* sweep file of a night of short trials; NULL without a trainer */
    bool dirty;          /* other programs leave unbalanced quotes */
    bool long_rows;      /* up to 100 kB, else mostly 1 kB */
};

enum { NIGHT_TRIALS = 6 };

/* ---- text that follows from its tag (marathon_text.c) -------------------------------------------------------- */

uint64_t draw(uint64_t *seed); /* splitmix64 */

/*
 * A text "R0123456789abcdef.1200:..." of `length` >= 32 bytes, NUL-terminated; free. kind is R or
 * N.
 */
char *tagged_text(char kind, uint64_t tag, size_t length);

/*
 * Returns true if the text is exactly the one that its tag determines; false without a tag of that
 * kind.
 */
bool is_tagged_text(char kind, const char *text, uint64_t *tag, size_t *length);

/* The cell in the form of Python's csv module; free. */
char *csv_cell(const char *text);

/* ---- actors (marathon_actors.c) ------------------------------------------------------------------------------ */

/*
 * Runs in a child: works on the store until it is killed or `actions` are done; exit status 0, or 1
 * with a line on stdout. `part` always shows the current action.
 */
int act(const struct arena_of_war *war, struct part *part, uint64_t seed, unsigned actions);

/* ---- checks (marathon_check.c) ------------------------------------------------------------------------------- */

/* Check the store after all actors have ended; prints each broken promise. Returns their number. */
unsigned check_store(const struct arena_of_war *war);

#endif
