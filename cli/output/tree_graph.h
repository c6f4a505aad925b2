/*
 * tree_graph.h: the tree of all trials for a terminal, as a graph of lines.
 *
 * A trial stands under its parent, and its line goes straight on to the child that leads to the best trial, else to the
 * one with most descendants; the other children branch off before it. So a chain of a hundred keeps is a straight line,
 * and the graph is no wider than the logarithm of the number of trials.
 */
#ifndef CLI_TREE_GRAPH_H
#define CLI_TREE_GRAPH_H

#include "cli.h"

/* Print it; returns an exit status. */
int tree_graph_print(struct lineage_store *store, struct cli_screen *screen);

#endif
