/*
 * marathon.h: the standing adversary. Processes that write, read, import and rebuild one store are killed at random
 * instants, at system calls of the store, and inside write itself; then everything that was promised is checked.
 *
 * A row of the marathon says by itself what it must be: its hypothesis and its notes begin with a tag and a length
 * from which the whole text follows. So every row that can be read is known to be whole or not, acknowledged or not.
 */
#ifndef FAULT_MARATHON_H
#define FAULT_MARATHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <lineage/store.h>

/* What an actor was doing when it died, and of what. */
enum deed { RESTING, OPENING, APPENDING, APPENDING_FILES, READING, RENDERING, REBUILDING, VERIFYING, IMPORTING, STRANGER,
            COMMAND_APPENDS, COMMAND_IMPORTS, COMMAND_READS, COMMAND_RENDERS, COMMAND_REBUILDS, COMMAND_VERIFIES, NIGHT,
            N_DEEDS };
enum death { AT_ANY_INSTANT, AT_A_CALL, INSIDE_WRITE, N_DEATHS };

/* Of one actor, in memory that outlives it. */
struct part {
    enum deed deed;
    enum death death;
};

/* One store under attack. */
struct arena_of_war {
    const char *dir;     /* the store */
    const char *acks;    /* file of what was acknowledged and announced, a line each, outside the store */
    const char *work;    /* a work directory to snapshot */
    const char *command; /* path of `lineage`, NULL for the library alone */
    const char *sweep;   /* file of a night of short trials, NULL without a trainer beside the command */
    bool dirty;          /* other tools leave unbalanced quotes */
    bool long_rows;      /* up to 100 kB, else mostly 1 kB */
};

enum { NIGHT_TRIALS = 6 };

/* ---- text that follows from its tag (marathon_text.c) -------------------------------------------------------- */

uint64_t draw(uint64_t *seed); /* splitmix64 */

/* "R0123456789abcdef.1200:..." of `length` bytes in all (at least 32), NUL-terminated; free. kind is R or N. */
char *tagged_text(char kind, uint64_t tag, size_t length);

/* Whether text is exactly what its tag says; false too if it has no tag of that kind. */
bool is_tagged_text(char kind, const char *text, uint64_t *tag, size_t *length);

/* The cell as Python's csv module writes it; free. */
char *csv_cell(const char *text);

/* ---- actors (marathon_actors.c) ------------------------------------------------------------------------------ */

/* In a child: act on the store until killed or `actions` are done; exit status 0, or 1 with a line on stdout. `part` says
 * all the while what it is doing. */
int act(const struct arena_of_war *war, struct part *part, uint64_t seed, unsigned actions);

/* ---- checks (marathon_check.c) ------------------------------------------------------------------------------- */

/* What must hold when nobody is at work any more; prints each thing broken. Returns how many. */
unsigned check_store(const struct arena_of_war *war);

#endif
