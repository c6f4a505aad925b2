/*
 * propose.h: chooses the setting to try next, from named ranges and the trials that were run in them.
 *
 * A proposal is a function of the ranges, the method, the seed and the past. No state is kept between proposals, so a
 * night that is killed and restarted continues as if it had not been killed. A proposal is the same on every machine:
 * only operations that IEEE 754 rounds exactly are used, and values are rounded to a hundred-thousandth of their range,
 * which also keeps the names of trials short. No method proposes a setting that is in the past. Ranges whose condition does not
 * hold have no value in a setting.
 *
 * Methods
 *   auto     gp while there are at most PROPOSE_GP_MOST measured trials, then tpe
 *   gp       a Gaussian process with expected improvement, after n_ranges + 3 start-up trials, from 4 to 10 (here Sobol's)
 *   tpe      Bergstra et al. 2011, "Algorithms for hyper-parameter optimization", with joint densities of all ranges and the
 *            settings of Optuna: 10 start-up trials (Sobol's), and the best min(ceil(0.1 n), 25) of n measured settings are
 *            good. Trials that failed or still run count as bad, so that proposals keep away from them
 *   sobol    Sobol's sequence (direction numbers of Joe and Kuo 2008, Gray code order), scrambled by the seed as in
 *            Owen 1995: the points are evenly spread for any number of trials
 *   random   independent and uniform
 *   grid     `steps` points of every range; the last range varies fastest
 */
#pragma once

#include "propose/propose_problem.h"

/* The names of the methods, for messages. */
#define PROPOSE_METHOD_NAMES "auto, gp, tpe, sobol, random or grid"

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

/* The method auto is gp up to this many measured trials, and then tpe. */
enum { PROPOSE_GP_MOST = 150 };
