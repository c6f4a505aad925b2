/*
 * budget.h: a block as rows of known worth, of which those are printed that fit.
 *
 * Invariants
 *   1. Rows of a part are taken in the order of their worth, so a list is cut at its far end and never in the
 *      middle (a chain: in its middle and never at its ends).
 *   2. Core rows of all parts are taken before any other: what an agent cannot plan without stays to the last.
 *   3. A part without a row has no heading.
 *   4. Everything is measured in bytes of what is printed; a text is written once, in its two forms, and only
 *      chosen from later.
 */
#ifndef RENDER_BUDGET_H
#define RENDER_BUDGET_H

#include "../format/arena.h"

#define BUDGET_PARTS 20

struct span {
    size_t at, length; /* in the block's text */
};

struct budget_row {
    size_t part;
    struct span brief, full; /* full stands in brief's place when there is room */
    double worth;
    bool core;
    enum { ROW_LEFT_OUT, ROW_BRIEF, ROW_FULL } form;
};

struct budget_part {
    const char *name;
    struct span head, tail;
    bool asked;       /* wanted by the caller */
    bool cut_inside;  /* rows left out are shown as a line where they stood */
    size_t beyond;    /* items in front of row beyond_at that were no rows to begin with; the row tells of them */
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

/* The part that the following rows belong to; what is written into block->text until then is its heading. */
void block_begin(struct block *block, const char *name, bool asked);
void block_head_end(struct block *block);

/* Write a row's brief form into block->text, call block_brief_end, its full form, block_row_end. Without
 * block_brief_end there is one form. */
void block_brief_end(struct block *block);
void block_row_end(struct block *block, double worth, bool core);

/* What is written since the last row is printed behind the rows. */
void block_tail_end(struct block *block);

void block_release(struct block *block);

/* Choose the forms of the rows so that all that is printed fits `room` bytes (0 = no limit). */
void budget_choose(struct block *block, size_t room);

/* Bytes that the chosen rows take with their headings. */
size_t budget_size(const struct block *block);

/* Print the chosen rows. */
void budget_print(struct buf *out, const struct block *block);

/* `leaderboard 5 of 7, recent 12 of 30, texts shortened`: what was not chosen; nothing if all was. */
void budget_tell(struct buf *out, const struct block *block);

#endif
