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

/* One store under attack. */
struct arena_of_war {
    const char *dir;     /* the store */
    const char *acks;    /* file of what was acknowledged and announced, a line each, outside the store */
    const char *work;    /* a work directory to snapshot */
    const char *command; /* path of `lineage`, NULL for the library alone */
    bool dirty;          /* other tools leave unbalanced quotes */
    bool long_rows;      /* up to 100 kB, else mostly 1 kB */
};

/* ---- text that follows from its tag (marathon_text.c) -------------------------------------------------------- */

uint64_t draw(uint64_t *seed); /* splitmix64 */

/* "R0123456789abcdef.1200:..." of `length` bytes in all (at least 32), NUL-terminated; free. kind is R or N. */
char *tagged_text(char kind, uint64_t tag, size_t length);

/* Whether text is exactly what its tag says; false too if it has no tag of that kind. */
bool is_tagged_text(char kind, const char *text, uint64_t *tag, size_t *length);

/* The cell as Python's csv module writes it; free. */
char *csv_cell(const char *text);

/* ---- actors (marathon_actors.c) ------------------------------------------------------------------------------ */

/* In a child: act on the store until killed or `actions` are done; exit status 0, or 1 with a line on stdout. */
int act(const struct arena_of_war *war, uint64_t seed, unsigned actions);

/* A kill inside the child, at the n-th faultable call of the store from now on (0: never), or, with `torn`, in the
 * middle of the n-th write. */
void arm_kill(unsigned n, bool torn, uint64_t seed);

/* Another tool writes results.tsv as fieldkit does, n rows; with the batch announced. For import. */
void write_foreign_file(const char *path, uint64_t batch, unsigned n, uint64_t seed);

/* ---- checks (marathon_check.c) ------------------------------------------------------------------------------- */

/* What must hold when nobody is at work any more; prints each thing broken. Returns how many. */
unsigned check_store(const struct arena_of_war *war);

#endif
