/*
 * turns.h: iterates over the turns of a row whose turn ids have been checked.
 *
 * Turn k of a row spans [begin, end): from its first token to the first token of turn k+1, or the
 * end of the row. Positions inside with an id other than k are holes (-1).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>

#include "support/grid.h"

/*
 * The first position from `from` on whose turn id exceeds `current`, or n: where the next turn
 * begins.
 */
size_t rl_turn_next(struct rl_ids turn, size_t from, size_t n, int32_t current);

/* rl_turn_starts without its checks: start [B+1] where the turns of each row begin. */
void rl_turn_count_rows(const struct rl_grid *batch, size_t *start);
