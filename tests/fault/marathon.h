/*
 * marathon.h: a long test of kills. Processes write, read, import and rebuild one store and are killed at random
 * instants, at system calls of the store, and inside write. Afterwards all promises are checked.
 *
 * The content of a row can be computed from the row itself: its hypothesis and its notes begin with a tag and a length,
 * from which the whole text follows. The check therefore knows for every row whether it is complete and whether it was
 * acknowledged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <lineage/store.h>

/* What an actor was doing when it was killed, and how it was killed. */
enum deed {
    RESTING,
    OPENING,
    APPENDING,
    APPENDING_FILES,
    READING,
    RENDERING,
    REBUILDING,
    VERIFYING,
    IMPORTING,
    STRANGER,
    COMMAND_APPENDS,
    COMMAND_IMPORTS,
    COMMAND_READS,
    COMMAND_RENDERS,
    COMMAND_REBUILDS,
    COMMAND_VERIFIES,
    NIGHT,
    N_DEEDS
};
enum death { AT_ANY_INSTANT, AT_A_CALL, INSIDE_WRITE, N_DEATHS };

/* The current action of one actor, in shared memory that the parent can read after the actor was killed. */
struct part {
    enum deed deed;
    enum death death;
};

/* The store that the actors use, and the files around it. */
struct arena_of_war {
    const char *dir;     /* the store */
    const char *acks;    /* file outside the store with a line for each acknowledged or announced row */
    const char *work;    /* a work directory that is copied as a snapshot */
    const char *command; /* path of `lineage`; NULL: only the library is used */
    const char *sweep;   /* sweep file for a night of short trials; NULL in a build without the trainer */
    bool dirty;          /* other programs also write rows with an unclosed quote */
    bool long_rows;      /* rows have up to 100 kB; otherwise mostly 1 kB */
};

enum { NIGHT_TRIALS = 6 };

/* ---- text that follows from its tag (marathon_text.c) -------------------------------------------------------- */

uint64_t draw(uint64_t *seed); /* splitmix64 */

/*
 * Returns a text "R0123456789abcdef.1200:..." of `length` >= 32 bytes, NUL-terminated; the caller frees it. `kind` is
 * its first letter, R or N.
 */
char *tagged_text(char kind, uint64_t tag, size_t length);

/*
 * Returns true if the text is exactly the text that its tag determines; false if it does not begin with a tag of that
 * kind.
 */
bool is_tagged_text(char kind, const char *text, uint64_t *tag, size_t *length);

/* Returns the text as a cell in the form that Python's csv module writes; the caller frees it. */
char *csv_cell(const char *text);

/* ---- actors (marathon_actors.c) ------------------------------------------------------------------------------ */

/*
 * Runs in a child: works on the store until it is killed or has done `actions` actions. The exit status is 0, or 1
 * after printing the reason on stdout. `part` always shows the current action.
 */
int act(const struct arena_of_war *war, struct part *part, uint64_t seed, unsigned actions);

/* ---- checks (marathon_check.c) ------------------------------------------------------------------------------- */

/* Checks the store after all actors have ended. Prints each broken promise and returns their number. */
unsigned check_store(const struct arena_of_war *war);
