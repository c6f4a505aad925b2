/* alpha.h: adaptive alpha: how much of the process advantage there is beside the outcome's. */
#ifndef TRAINER_ADAPTIVE_ALPHA_H
#define TRAINER_ADAPTIVE_ALPHA_H

#include <rlcore/batch.h>

/*
 * What turn-group-v1d's alpha is multiplied by in the variant with an adaptive one (v1c of A2TGPO,
 * arXiv 2605.06200, whose formula is not published: the definition is ours). As turn-group has
 * gains, process advantages come to the outcome's spread:
 *
 *     alpha_t = alpha * s,   s = sd(z(o)) / sd(D), but at least 1/4 and at most 4
 *
 * sd is biased; D is the process advantage of each turn with a gain of the batch (rlcore/a2tgpo.h),
 * z(o) the normalised outcome of each row. z(o) is 0 in a group of equal outcomes, D is not: the
 * fewer groups differ, the more a fixed alpha trains on gains alone. s is 1 where D has no spread.
 *
 * with, without: advantages [B*T] of alpha 1 and of alpha 0; turn_start as in rlcore/algorithm.h.
 */
double adaptive_alpha_scale(const struct rl_batch *batch, const size_t *turn_start, const float *with,
                     const float *without);

#endif
