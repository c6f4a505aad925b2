/* draw_parent.h: draws the trial from which the next trial starts. */
#pragma once

#include <stdint.h>

#include <lineage/store.h>

/*
 * Draws a kept trial at random, weighted by its score and its number of children. The caller frees *exp_id, which is ""
 * if no trial was kept yet. The same store and seed give the same trial. Returns CLI_GO_ON or an exit status.
 */
int draw_parent(char **exp_id, struct lineage_store *store, uint64_t seed);
