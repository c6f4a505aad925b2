/* propose_space.h: the values of a range on its scale, points of a grid, and which settings are near each other. */
#ifndef CLI_PROPOSE_SPACE_H
#define CLI_PROPOSE_SPACE_H

#include "propose/propose_problem.h"

/* The value of a range at u in [0, 1], rounded as a proposal is. */
double propose_value(const struct propose_range *range, double u);

/* Where a value lies in its range: 0 at low, 1 at high, on its scale. Of a choice, its index. */
double propose_position(const struct propose_range *range, double value);

/* Whether a value belongs to the range: it is between the ends, and whole if the range has whole numbers. */
bool propose_holds(const struct propose_range *range, double value);

/*
 * The index of the first trial of the past that differs from x by at most this share of each range, and has the same
 * choices; n_past if there is none. With tolerance 0, a trial with exactly this setting.
 */
size_t propose_find(const struct propose_problem *problem, const double *x, double tolerance);

/* ---- for the methods ---- */

bool propose_is_whole(const struct propose_range *range); /* whole numbers or choices */
bool propose_is_log(const struct propose_range *range);

/* A value on the scale of its range, and the ends there; for whole numbers they are half a step further out. */
double propose_scaled(const struct propose_range *range, double value);
double propose_scaled_low(const struct propose_range *range);
double propose_scaled_high(const struct propose_range *range);

/* The value of the range that is nearest to a place on its scale, rounded. */
double propose_unscaled(const struct propose_range *range, double scaled);

/* How many values there are; INFINITY if they are not whole. */
double propose_values(const struct propose_range *range);

/* How many points a grid has in the range, and the i-th of them. */
size_t propose_steps(const struct propose_range *range);
double propose_step(const struct propose_range *range, size_t i);

#endif
