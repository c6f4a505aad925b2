/* render.h: what the printers share. A printer turns a report into text and never asks the store. */
#pragma once

#include <lineage/render.h>
#include <lineage/report.h>

#include "../format/arena.h"
#include "../internal.h"

/* A metric as `%.6f`, a delta as `%+.6f`, absent as —; nan and infinities as nan, inf, -inf. */
#define NUMBER_TEXT_MAX 352
const char *metric_text(char out[NUMBER_TEXT_MAX], struct lineage_number number);
const char *delta_text(char out[NUMBER_TEXT_MAX], struct lineage_number number);

/* Adds the text unchanged, with C0 80 turned back into NUL. */
void add_raw(struct buf *out, const char *text);

/* Adds the first n - 1 code points and …, or the whole text if it has at most n. */
void add_cut(struct buf *out, const char *text, size_t n);

enum lineage_status render_native(struct buf *out, struct lineage_store *store, const struct lineage_render_options *options,
                                  struct lineage_error *err);

/* ---- blackboard.c: the blackboard's three files, printed from the rows of results.tsv as text ---- */

struct blackboard {
    const struct lineage_board *board;
    bool higher;
    const char *metric, *label, *tree_path;
};

/* Index of the last row with that id, LINEAGE_BOARD_NONE if there is none. */
size_t bb_find(const struct blackboard *bb, const char *id);

/* The children of `row` (LINEAGE_BOARD_NONE: the roots) are by_parent[*first] and the entries after it. Returns their
 * number. */
size_t bb_children(const struct blackboard *bb, size_t row, size_t *first);

/* Print the three files. bb_tree and bb_knowledge return false when out of memory. */
void bb_leaderboard(struct buf *out, const struct blackboard *bb);
bool bb_tree(struct buf *out, const struct blackboard *bb);
bool bb_knowledge(struct buf *out, const struct blackboard *bb);

/* Prints the end of KNOWLEDGE.md that is kept from the old file (NULL if there was none). */
void bb_insights(struct buf *out, const char *old, size_t length);
