/* blackboard.h: the blackboard's three files, printed from the rows of results.tsv as text. */
#pragma once

#include "render.h"

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
