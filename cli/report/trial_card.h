/*
 * trial_card.h: prints one trial in full: what it changed, hypothesis, parameters beside the parent's, notes, step
 * curves, information gain by turn, and the diff of its snapshot.
 */
#pragma once

#include "report/picture.h"

/* with_diff: compare the snapshots too, which reads both. */
void trial_card(const struct picture *p, size_t i, bool with_diff);

/* Chooses the trials that a page shows in full: all of a small store, else the chain, the last night, the best and the
 * newest. Sets chosen[model.n]. */
void cards_choose(const struct model *model, bool *chosen, size_t *n);
