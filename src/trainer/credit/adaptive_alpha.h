/* adaptive_alpha.h: computes adaptive alpha, the weight of the process advantage, from each batch. */
#pragma once

#include <rlcore/batch.h>

/*
 * The factor on turn-group-v1d's alpha in its adaptive variant (v1c of A2TGPO, arXiv 2605.06200, whose formula is
 * not published: this definition is ours). It scales process advantages to the spread of outcomes, so that their
 * proportion to outcomes is that of gains in turn-group:
 *
 *     alpha_t = alpha * s,   s = sd(z(o)) / sd(D), but at least 1/4 and at most 4
 *
 * sd is biased; D is the process advantage of each turn of the batch that has a gain (rlcore/a2tgpo.h), z(o) the
 * normalised outcome of each row. In a group of equal outcomes z(o) is 0 but D is not. With a fixed alpha, training
 * would therefore rely more on gains alone, the fewer groups have different outcomes. If D has no spread, s is 1.
 *
 * with, without: advantages [B*T] for alpha 1 and for alpha 0; turn_start as in rlcore/algorithm.h.
 */
double adaptive_alpha_scale(const struct rl_batch *batch, const size_t *turn_start, const float *with, const float *without);
