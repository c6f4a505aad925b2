/*
 * tree_graph.h: draws the tree of all trials on a terminal. Every trial is below its parent, and its line continues to
 * the child that leads to the best trial, or else to the child with the most descendants; the other children branch off
 * above that child. So a chain of a hundred kept trials is a straight line, and the width of the graph is logarithmic
 * in the number of trials.
 */
#pragma once

#include "cli.h"

/* Prints the graph; returns an exit status. */
int tree_graph_print(struct lineage_store *store, struct cli_screen *screen);
