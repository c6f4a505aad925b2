/*
 * tree.c: visits all trials in tree order. The walk uses links between rows instead of recursion, because a chain of a
 * hundred thousand trials would exhaust the stack. Links take 24 bytes per row, and each trial is loaded when it is
 * shown.
 */
#include <stdlib.h>

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
    bool cycles_only; /* load only trials that no root leads to */
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

/* A parent may be anywhere in the log, even after its child. So the links are made in a separate pass, before the first
 * row is shown. */
static enum lineage_status link_one(void *context, int64_t seq, const char *parent, struct lineage_error *err)
{
    struct tree *tree = context;
    int64_t found = 0;
    enum lineage_status status = LINEAGE_ENOTFOUND;
    if (seq < 1 || (size_t)seq > tree->n)
        return LINEAGE_OK; /* the row was added after the nodes were counted */
    if (parent[0])
        status = mirror_find(tree->store->mirror, parent, &found, err);
    if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
        return status;
    if (found < 0 || (size_t)found > tree->n)
        found = 0; /* the parent was added later too */
    tree->nodes[seq].missing = parent[0] && !found;
    hang(tree, (uint32_t)seq, (uint32_t)found); /* node 0 collects the roots */
    return LINEAGE_OK;
}

struct row_question {
    struct mirror *mirror;
    int64_t seq;
    struct lineage_trial *trial;
};

static enum lineage_status ask_row(void *question, struct lineage_error *err)
{
    const struct row_question *q = question;
    return mirror_load(q->mirror, q->seq, q->trial, err);
}

/* If lineage.db is damaged, mirror_ask rebuilds it during the walk. The links stay valid, because the new mirror gives
 * every row the same seq. */
static enum lineage_status show(struct tree *tree, uint32_t seq, size_t depth, bool in_cycle,
                                struct lineage_error *err)
{
    struct lineage_trial trial;
    struct node *node = &tree->nodes[seq];
    node->seen = true;
    if (tree->cycles_only && !in_cycle)
        return LINEAGE_OK;
    struct row_question question = {tree->store->mirror, seq, &trial};
    enum lineage_status status = mirror_ask(tree->store->mirror, ask_row, &question, err);
    if (status != LINEAGE_OK)
        return status;
    struct lineage_tree_node shown = {&trial, depth, node->n_children, node->missing, in_cycle};
    tree->stopped = !tree->visit(tree->context, &shown);
    lineage_trial_release(&trial);
    return LINEAGE_OK;
}

/* Walks in preorder without a stack: to the first child if there is one, otherwise to the next sibling of the trial or
 * of its nearest ancestor that has one. */
static enum lineage_status walk_roots(struct tree *tree, struct lineage_error *err)
{
    uint32_t at = tree->nodes[0].first_child;
    size_t depth = 0;
    enum lineage_status status = LINEAGE_OK;
    while (status == LINEAGE_OK && at && !tree->stopped) {
        status = show(tree, at, depth, false, err);
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
    return status;
}

static enum lineage_status link_all(void *question, struct lineage_error *err)
{
    struct tree *tree = question;
    enum lineage_status status = tree->cycles_only ? LINEAGE_OK : mirror_sync(tree->store->mirror, err);
    if (status != LINEAGE_OK)
        return status;
    free(tree->nodes);
    tree->n = (size_t)mirror_position(tree->store->mirror)->rows + 1; /* plus one for a provisional row */
    tree->nodes = calloc(tree->n + 1, sizeof *tree->nodes);
    if (!tree->nodes)
        return store_no_memory(err);
    return mirror_each_parent(tree->store->mirror, link_one, tree, err);
}

static enum lineage_status walk(struct lineage_store *store, bool cycles_only,
                                bool (*visit)(void *context, const struct lineage_tree_node *node), void *context,
                                struct lineage_error *err)
{
    struct tree tree = {.store = store, .visit = visit, .context = context, .cycles_only = cycles_only};
    enum lineage_status status = mirror_ask(store->mirror, link_all, &tree, err);
    if (status == LINEAGE_OK)
        status = walk_roots(&tree, err);
    /* The remaining rows have no path from a root. They are shown at depth 0 and marked, because otherwise no command
     * would list them. */
    for (uint32_t i = 1; status == LINEAGE_OK && i <= tree.n && !tree.stopped; i++)
        if (!tree.nodes[i].seen && tree.nodes[i].parent)
            status = show(&tree, i, 0, true, err); /* the row is in a cycle or below one */
    free(tree.nodes);
    return status;
}

enum lineage_status lineage_tree_walk(struct lineage_store *store,
                                      bool (*visit)(void *context, const struct lineage_tree_node *node),
                                      void *context, struct lineage_error *err)
{
    return walk(store, false, visit, context, err);
}

enum lineage_status mirror_each_in_cycle(struct lineage_store *store,
                                         bool (*visit)(void *context, const struct lineage_tree_node *node),
                                         void *context, struct lineage_error *err)
{
    return walk(store, true, visit, context, err);
}
