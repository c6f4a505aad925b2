/* tree.c: all trials in tree order, with links by row instead of recursion. */
#include <lineage/query.h>

#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Indices are seq; 0 is none. children of a row hang in file order. */
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
};

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

static enum lineage_status link_one(struct tree *tree, int64_t seq, const char *parent,
                                    struct lineage_error *err)
{
    int64_t found = 0;
    enum lineage_status status = LINEAGE_ENOTFOUND;
    if (parent[0])
        status = mirror_find(tree->store->mirror, parent, &found, err);
    if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
        return status;
    tree->nodes[seq].missing = parent[0] && !found;
    hang(tree, (uint32_t)seq, (uint32_t)found); /* node 0 collects the roots */
    return LINEAGE_OK;
}

static enum lineage_status link_all(struct tree *tree, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(
        tree->store->mirror, &stmt, "SELECT seq, parent_exp FROM trials ORDER BY seq", err);
    while (status == LINEAGE_OK &&
           (status = mirror_step(tree->store->mirror, stmt, err)) == LINEAGE_OK) {
        int64_t seq = sqlite3_column_int64(stmt, 0);
        if ((size_t)seq <= tree->n)
            status = link_one(tree, seq, (const char *)sqlite3_column_text(stmt, 1), err);
    }
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status show(struct tree *tree, uint32_t seq, size_t depth, bool in_cycle,
                                struct lineage_error *err)
{
    struct lineage_trial trial;
    struct node *node = &tree->nodes[seq];
    node->seen = true;
    enum lineage_status status = mirror_load(tree->store->mirror, seq, &trial, err);
    if (status != LINEAGE_OK)
        return status;
    struct lineage_tree_node shown = {&trial, depth, node->n_children, node->missing, in_cycle};
    tree->stopped = !tree->visit(tree->context, &shown);
    lineage_trial_release(&trial);
    return LINEAGE_OK;
}

/* Preorder without a stack: down to the first child, else to the next sibling of the nearest
 * ancestor. */
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

enum lineage_status lineage_tree_walk(struct lineage_store *store,
                                      bool (*visit)(void *context,
                                                    const struct lineage_tree_node *node),
                                      void *context, struct lineage_error *err)
{
    struct tree tree = {.store = store, .visit = visit, .context = context};
    enum lineage_status status = mirror_sync(store->mirror, err);
    if (status != LINEAGE_OK)
        return status;
    tree.n = (size_t)mirror_position(store->mirror)->rows + 1; /* and perhaps a provisional row */
    tree.nodes = calloc(tree.n + 1, sizeof *tree.nodes);
    if (!tree.nodes)
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    status = link_all(&tree, err);
    if (status == LINEAGE_OK)
        status = walk_roots(&tree, err);
    for (uint32_t i = 1; status == LINEAGE_OK && i <= tree.n && !tree.stopped; i++)
        if (!tree.nodes[i].seen && tree.nodes[i].parent)
            status = show(&tree, i, 0, true, err); /* what no root leads to hangs on a cycle */
    free(tree.nodes);
    return status;
}
