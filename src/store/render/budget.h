/*
 * budget.h: a block consists of rows of known worth; the most valuable rows that fit are printed.
 *
 * Invariants
 *   1. Rows of a part are taken in the order of their worth, so a list is cut at its far end and never in the middle (a
 *      chain: in its middle and never at its ends).
 *   2. Core rows of all parts are taken before any others: an agent cannot plan without them, so they are dropped last.
 *      After them come the rows of early parts, and only then all others.
 *   3. A part without rows has no heading.
 *   4. Everything is measured in printed bytes. A text is written once, in its two forms; later steps only choose.
 */
#pragma once

#include "../format/arena.h"

#define BUDGET_PARTS 20

struct span {
    size_t at, length; /* position in the block's text */
};

struct budget_row {
    size_t part;
    struct span brief, full; /* full replaces brief if there is room */
    double worth;
    bool core;
    size_t needs; /* the number, from 1, of a row without which this one is not understood; 0: none */
    enum { ROW_LEFT_OUT, ROW_BRIEF, ROW_FULL } form;
};

struct budget_part {
    const char *name;
    struct span head, tail;
    bool asked;       /* the caller asked for this part */
    bool early;       /* its rows are taken before those of other parts that are not core */
    bool cut_inside;  /* a line in place of omitted rows reports them */
    size_t beyond;    /* number of items before row beyond_at that have no row; that row mentions them */
    size_t beyond_at;
    size_t first, n;  /* rows */
};

struct block {
    struct buf text;
    struct budget_part parts[BUDGET_PARTS];
    size_t n_parts;
    struct budget_row *rows;
    size_t n_rows, capacity;
    bool failed;
};

/* Starts a part; text written into block->text before its first row is its heading. */
void block_begin(struct block *block, const char *name, bool asked);
void block_head_end(struct block *block);

/* To add a row, write its brief form into block->text, call block_brief_end, write its full form, call block_row_end.
 * Without block_brief_end the row has only one form. */
void block_brief_end(struct block *block);
void block_row_end(struct block *block, double worth, bool core);

/* Text written since the last row is printed after the rows. */
void block_tail_end(struct block *block);

void block_release(struct block *block);

/* Chooses the forms of the rows so that the output fits into `room` bytes (0 = no limit). */
void budget_choose(struct block *block, size_t room);

/* Bytes of the chosen rows with their headings. */
size_t budget_size(const struct block *block);

/* Prints the chosen rows. */
void budget_print(struct buf *out, const struct block *block);

/* Prints what was not chosen: `leaderboard 5 of 7, recent 12 of 30, texts shortened`; prints nothing if every row was
 * chosen in full. */
void budget_tell(struct buf *out, const struct block *block);
