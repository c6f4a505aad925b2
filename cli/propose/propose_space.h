/* propose_space.h: the values of a range on its scale, points of a grid, and which settings are near each other. */
#pragma once

#include "propose/propose_problem.h"

/* Returns the value at position u in [0, 1] of the range, rounded like a proposal. */
double propose_value(const struct propose_range *range, double u);

/* Returns the position of a value on the scale of its range: 0 at low, 1 at high. For a choice, returns the index. */
double propose_position(const struct propose_range *range, double value);

/* Whether a value belongs to the range: it is between the ends, and whole if the range has whole numbers. */
bool propose_holds(const struct propose_range *range, double value);

/* Whether a trial with setting x has a value in range i: its condition holds, and the range that it names is active. */
bool propose_is_active(const struct propose_range *ranges, const double *x, size_t i);

/* Sets the elements of inactive ranges to their lower ends, so that equal settings have equal bytes. */
void propose_settle(const struct propose_problem *problem, double *x);

/*
 * Returns the index of the first trial of the past that differs from x by at most the share `tolerance` of each range
 * and has the same choices; n_past if there is none. With tolerance 0 the setting must be equal.
 */
size_t propose_find(const struct propose_problem *problem, const double *x, double tolerance);

/* ---- for the methods ---- */

bool propose_is_whole(const struct propose_range *range); /* whole numbers or choices */

/*
 * Converts a value to the scale of its range, and returns the ends of the range on that scale. For whole numbers the
 * ends are half a step further out.
 */
double propose_scaled(const struct propose_range *range, double value);
double propose_scaled_low(const struct propose_range *range);
double propose_scaled_high(const struct propose_range *range);

/* Returns the value of the range that is nearest to a position on its scale, rounded. */
double propose_unscaled(const struct propose_range *range, double scaled);

/*
 * The position of a value between the ends of its range on their scale, from 0 to 1, and the value at a position. Whole
 * numbers share [0, 1] evenly, each with the middle of its part. A choice keeps its index.
 */
double propose_unit_of(const struct propose_range *range, double value);
double propose_of_unit(const struct propose_range *range, double unit);

/* Returns the number of values in the range; INFINITY if they are not whole numbers or choices. */
double propose_values(const struct propose_range *range);

/* Return the number of grid points in the range, and the i-th of them. */
size_t propose_steps(const struct propose_range *range);
double propose_step(const struct propose_range *range, size_t i);
