/* blackboard.h: rows of results.tsv as the blackboard sees them: text, every row, damaged ones included. */
#ifndef RENDER_BLACKBOARD_H
#define RENDER_BLACKBOARD_H

#include "render.h"

struct bb_row {
    const char *id, *parent, *specialist, *hypothesis;
    const char *status; /* NULL if the row is too short to have one */
    const char *score, *delta;
    double key; /* score as a number, +inf if it is none */
};

/* What best.json says; texts are never NULL. */
struct bb_best {
    bool present;
    const char *id, *score, *specialist, *hypothesis, *snapshot;
};

struct blackboard {
    struct arena arena;
    struct bb_row *rows; /* [n], file order */
    size_t n, capacity;
    size_t *by_parent;   /* [n] row indices sorted by parent's row, then by id as text */
    size_t *parent_row;  /* [n] last row with the parent's id, NO_ROW for a root */
    size_t *last_row;    /* [n] last row with this row's id */
    struct bb_best best;
    bool higher;
    const char *metric, *label, *tree_path;
};

#define NO_ROW ((size_t)-1)

/* Read results.tsv and best.json. */
enum lineage_status bb_load(struct blackboard *bb, struct lineage_store *store,
                            const struct lineage_blackboard_options *options, struct lineage_error *err);
void bb_release(struct blackboard *bb);

/* Index of the last row with that id, NO_ROW if there is none. */
size_t bb_find(const struct blackboard *bb, const char *id);

/* Children of a row as a run of by_parent: *first and the count. */
size_t bb_children(const struct blackboard *bb, size_t row, size_t *first);

void bb_leaderboard(struct buf *out, const struct blackboard *bb);
bool bb_tree(struct buf *out, const struct blackboard *bb); /* false when out of memory */
bool bb_knowledge(struct buf *out, const struct blackboard *bb, const char *old, size_t old_length);

#endif
