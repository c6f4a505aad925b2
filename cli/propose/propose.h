/*
 * propose.h: chooses the setting to try next, from named ranges and the trials that were run in them.
 *
 * A proposal is a function of the ranges, the method, the seed and the past. No state is kept between proposals, so a
 * night that is killed and restarted continues as if it had not been killed. A proposal is the same on every machine:
 * only operations that IEEE 754 rounds exactly are used, and values are rounded to a hundred-thousandth of their range,
 * which also keeps the names of trials short. No method proposes a setting that is in the past.
 *
 * Methods
 *   sobol    Sobol's sequence (direction numbers of Joe and Kuo 2008, Gray code order), scrambled by the seed as in
 *            Owen 1995: the points are evenly spread for any number of trials
 *   random   independent and uniform
 *   grid     `steps` points of every range; the last range varies fastest
 *   tpe      Bergstra et al. 2011, "Algorithms for hyper-parameter optimization", with the settings of Optuna: 10
 *            start-up trials (here Sobol's), 24 candidates, and the best min(ceil(0.1 n), 25) of the n measured trials
 *            count as good. Trials that failed or still run count as bad, so that proposals keep away from them
 *
 *   propose           the methods
 *   propose_problem   ranges and past, as structs
 *   propose_space     values of a range on its scale, grids, and which settings are near each other
 *   propose_math      functions and random numbers that are the same on every machine
 *   sobol, tpe        the two methods that need more than a line
 *   propose_ranges    ranges from a sweep file or the command line
 *   propose_past      the past from the rows of a store
 *   propose_answer    what `lineage suggest` prints
 */
#ifndef CLI_PROPOSE_H
#define CLI_PROPOSE_H

#include "propose/propose_problem.h"

/* The name of a method ("tpe"), NULL after the last method. */
const char *propose_method_name(enum propose_method method);

/* Returns false if no method has this name. */
bool propose_method_parse(enum propose_method *method, const char *name);

enum propose_answer {
    PROPOSE_OK,
    PROPOSE_EXHAUSTED, /* every setting that the method can propose was tried */
    PROPOSE_NO_MEMORY
};

/* Writes the next setting to x [n_ranges]. */
enum propose_answer propose_next(double *x, const struct propose_problem *problem, enum propose_method method);

/*
 * Returns the number of settings: of the grid for that method, else of the whole space if every range has whole numbers
 * or choices, else INFINITY.
 */
double propose_size(const struct propose_problem *problem, enum propose_method method);

#endif
