/*
 * tree.c: visits all trials in tree order. The walk uses links between rows instead of recursion, because a chain of a
 * hundred thousand trials would exhaust the stack. Links take 24 bytes per row, and each trial is loaded when it is
 * shown.
 */

#include "../mirror/statement.h"
#include "questions.h"

/* Positions are seqs; 0 is none. Children are linked in the order of the log. 32 bits are enough for 4e9 rows, more
 * than one log and its mirror are made for, and they keep the links, the only memory that a tree needs, small. */
struct node {
    uint32_t parent, first_child, last_child, sibling, n_children;
    bool missing, seen;
};

struct tree {
    struct lineage_store *store;
    struct node *nodes; /* [n + 1] */
    size_t n;
    bool (*visit)(void *context, const struct lineage_tree_node *node);
    void *context;
    bool stopped;
    struct waiting *waiting;
    struct buf parent;    /* the parent that was looked up last, and its seq: children of one parent are mostly neighbours */
    int64_t parent_found; /* 0: no row has this id */
};

/* Trials that the walk has reached and the visitor has not seen: they are loaded together. */
struct waiting {
    struct mirror_rows rows;
    int64_t seqs[MIRROR_ROWS];
    size_t depths[MIRROR_ROWS];
    bool in_cycle[MIRROR_ROWS];
    size_t n, batch; /* batch: 1, 2, 4, ..., so that a visitor that stops early pays for few */
};

/* Appends the child after the last child of its parent, without walking through all the children. */
static void hang(struct tree *tree, uint32_t child, uint32_t parent)
{
    struct node *above = &tree->nodes[parent];
    tree->nodes[child].parent = parent;
    if (above->last_child)
        tree->nodes[above->last_child].sibling = child;
    else
        above->first_child = child;
    above->last_child = child;
    above->n_children++;
}

static enum lineage_status find_parent(struct tree *tree, const char *id, struct lineage_error *err)
{
    if (tree->parent.length && strcmp(tree->parent.data, id) == 0)
        return LINEAGE_OK;
    tree->parent_found = 0;
    buf_reset(&tree->parent);
    enum lineage_status status = mirror_find(tree->store->mirror, id, &tree->parent_found, err);
    if (status == LINEAGE_OK || status == LINEAGE_ENOTFOUND)
        buf_add(&tree->parent, id, strlen(id) + 1);
    return tree->parent.failed ? store_no_memory(err) : status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* A parent may be anywhere in the log, even after its child. So the links are made in a separate pass, before the first
 * row is shown. */
static enum lineage_status link_one(void *context, int64_t seq, const char *parent, struct lineage_error *err)
{
    struct tree *tree = context;
    if (seq < 1 || (size_t)seq > tree->n)
        return LINEAGE_OK; /* the row was added after the nodes were counted */
    if (parent[0])
        TRY(find_parent(tree, parent, err));
    int64_t found = parent[0] ? tree->parent_found : 0;
    if (found < 0 || (size_t)found > tree->n)
        found = 0; /* the parent was added later too */
    tree->nodes[seq].missing = parent[0] && !found;
    hang(tree, (uint32_t)seq, (uint32_t)found); /* node 0 collects the roots */
    return LINEAGE_OK;
}

/* If lineage.db is damaged, it is rebuilt during the walk. The links stay valid, because the new mirror gives every row the
 * same seq. */
static enum lineage_status show_waiting(struct tree *tree, struct lineage_error *err)
{
    struct waiting *w = tree->waiting;
    enum lineage_status status = LINEAGE_OK;
    for (size_t from = 0; status == LINEAGE_OK && from < w->n && !tree->stopped; from += w->rows.n) {
        status = mirror_borrow_rows(tree->store->mirror, w->seqs + from, w->n - from, &w->rows, err);
        for (size_t i = 0; status == LINEAGE_OK && i < w->rows.n && !tree->stopped; i++) {
            const struct node *node = &tree->nodes[w->seqs[from + i]];
            struct lineage_tree_node shown = {&w->rows.trials[i], w->depths[from + i], node->n_children, node->missing,
                                              w->in_cycle[from + i]};
            if (!w->rows.found[i])
                status = LINEAGE_ENOTFOUND;
            else
                tree->stopped = !tree->visit(tree->context, &shown);
        }
    }
    w->n = 0;
    w->batch = w->batch * 2 < MIRROR_ROWS ? w->batch * 2 : MIRROR_ROWS;
    return status;
}

static enum lineage_status show(struct tree *tree, uint32_t seq, size_t depth, bool in_cycle, struct lineage_error *err)
{
    struct waiting *w = tree->waiting;
    tree->nodes[seq].seen = true;
    w->seqs[w->n] = seq;
    w->depths[w->n] = depth;
    w->in_cycle[w->n++] = in_cycle;
    return w->n < w->batch ? LINEAGE_OK : show_waiting(tree, err);
}

/* Walks in preorder without a stack: to the first child if there is one, otherwise to the next sibling of the trial or
 * of its nearest ancestor that has one. */
static enum lineage_status walk_roots(struct tree *tree, struct lineage_error *err)
{
    uint32_t at = tree->nodes[0].first_child;
    size_t depth = 0;
    while (at && !tree->stopped) {
        TRY(show(tree, at, depth, false, err));
        if (tree->nodes[at].first_child) {
            at = tree->nodes[at].first_child;
            depth++;
            continue;
        }
        while (at && !tree->nodes[at].sibling && depth) {
            at = tree->nodes[at].parent;
            depth--;
        }
        at = tree->nodes[at].sibling;
    }
    return LINEAGE_OK;
}

static enum lineage_status link_all(void *question, struct lineage_error *err)
{
    struct tree *tree = question;
    TRY(mirror_sync(tree->store->mirror, err));
    free(tree->nodes);
    buf_reset(&tree->parent);
    tree->n = (size_t)mirror_position(tree->store->mirror)->rows + 1; /* plus one for a provisional row */
    tree->nodes = calloc(tree->n + 1, sizeof *tree->nodes);
    if (!tree->nodes)
        return store_no_memory(err);
    bool began = mirror_begin_reading(tree->store->mirror);
    enum lineage_status status = mirror_each_parent(tree->store->mirror, link_one, tree, err);
    mirror_end_reading(tree->store->mirror, began);
    return status;
}

enum lineage_status lineage_tree_walk(struct lineage_store *store,
                                      bool (*visit)(void *context, const struct lineage_tree_node *node), void *context,
                                      struct lineage_error *err)
{
    struct tree tree = {.store = store, .visit = visit, .context = context};
    tree.waiting = calloc(1, sizeof *tree.waiting);
    if (!tree.waiting)
        return store_no_memory(err);
    tree.waiting->batch = 1;
    enum lineage_status status = mirror_ask(store->mirror, link_all, &tree, err);
    if (status == LINEAGE_OK)
        status = walk_roots(&tree, err);
    /* The remaining rows have no path from a root. They are shown at depth 0 and marked, because otherwise no command
     * would list them. */
    for (uint32_t i = 1; status == LINEAGE_OK && i <= tree.n && !tree.stopped; i++)
        if (!tree.nodes[i].seen && tree.nodes[i].parent)
            status = show(&tree, i, 0, true, err); /* the row is in a cycle or below one */
    if (status == LINEAGE_OK)
        status = show_waiting(&tree, err);
    arena_release(&tree.waiting->rows.arena);
    free(tree.waiting);
    free(tree.nodes);
    buf_release(&tree.parent);
    return status;
}
