/*
 * propose.h: which setting to try next, from named ranges and the trials that were run in them.
 *
 * A proposal is a function of the ranges, the method, the seed and the past, and of nothing else: no state
 * is kept between two of them, so that a night that is killed and started again goes on as it would
 * have, and the same on every machine (only operations that IEEE 754 rounds exactly are used; values
 * are rounded to a hundred-thousandth of their range, which also keeps names short).
 *
 * Methods
 *   sobol    Sobol's sequence (direction numbers of Joe and Kuo 2008, Gray code order), scrambled by the seed
 *            as in Owen 1995: evenly spread however many are run
 *   random   independent and uniform
 *   grid     `steps` points of every range, the last range fastest
 *   tpe      Bergstra et al. 2011, "Algorithms for hyper-parameter optimization", with the settings of
 *            Optuna: 10 start-up trials (here Sobol's), 24 candidates, good are the best
 *            min(ceil(0.1 n), 25) of n measured trials. Trials that failed, and those that still run, are
 *            among the bad: the next proposal keeps away from both
 * No method proposes a setting of the past again.
 */
#ifndef CLI_PROPOSE_H
#define CLI_PROPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROPOSE_RANGES_MAX = 32, PROPOSE_STEPS = 4 };

enum propose_scale {
    PROPOSE_LINEAR,
    PROPOSE_LOG,         /* low > 0 */
    PROPOSE_INTEGER,     /* whole numbers, evenly */
    PROPOSE_LOG_INTEGER, /* whole numbers, evenly in their logarithm; low >= 1 */
    PROPOSE_CHOICE       /* one of n_choices, which have no order */
};

/* A number, or a text where text is not NULL. */
struct propose_choice {
    double value;
    const char *text;
};

/* Both ends belong to a range. Everything is borrowed. */
struct propose_range {
    const char *name;
    enum propose_scale scale;
    double low, high;                     /* of a choice: 0 and n_choices - 1 */
    size_t steps;                         /* of the grid; 0: PROPOSE_STEPS. A choice has all of its own */
    const struct propose_choice *choices; /* [n_choices] */
    size_t n_choices;
};

enum propose_end { PROPOSE_MEASURED, PROPOSE_FAILED, PROPOSE_RUNNING };

/* A trial of the past. x[i] is its value in range i, of a choice the index; 0 behind the last range. */
struct propose_trial {
    double x[PROPOSE_RANGES_MAX];
    enum propose_end end;
    double score; /* of PROPOSE_MEASURED, finite */
};

struct propose_problem {
    const struct propose_range *ranges; /* [n_ranges], 1 to PROPOSE_RANGES_MAX */
    size_t n_ranges;
    const struct propose_trial *past; /* [n_past], oldest first */
    size_t n_past;
    bool lower_is_better;
    uint64_t seed;
};

enum propose_method { PROPOSE_SOBOL, PROPOSE_TPE, PROPOSE_RANDOM, PROPOSE_GRID, PROPOSE_N_METHODS };

/* The name of a method ("tpe"), NULL beyond the last; false if no method is called so. */
const char *propose_method_name(enum propose_method method);
bool propose_method_parse(enum propose_method *method, const char *name);

enum propose_answer {
    PROPOSE_OK,
    PROPOSE_EXHAUSTED, /* everything that the method has was tried */
    PROPOSE_NO_MEMORY
};

/* Write the next setting to x [n_ranges]. */
enum propose_answer propose_next(double *x, const struct propose_problem *problem, enum propose_method method);

/* How many settings there are: of the grid, or where all ranges are whole numbers or choices; else INFINITY. */
double propose_size(const struct propose_problem *problem, enum propose_method method);

/* ---- one range --------------------------------------------------------------------------------- */

/* The value at u in [0, 1] of a range, rounded as a proposal is. */
double propose_value(const struct propose_range *range, double u);

/* Where a value lies in its range: 0 at low, 1 at high, by its scale. A choice: the index. */
double propose_position(const struct propose_range *range, double value);

/* Whether a value belongs to the range: between its ends, whole where whole numbers are wanted. */
bool propose_holds(const struct propose_range *range, double value);

/*
 * The first trial of the past that lies within tolerance of x in every range, as a share of the range (choices
 * must be the same); n_past if there is none. Tolerance 0 asks for the very same setting.
 */
size_t propose_find(const struct propose_problem *problem, const double *x, double tolerance);

/* ---- draws ------------------------------------------------------------------------------------- */

/* In [0, 1), a function of its arguments; and 1 / (1 + exp(-x)): both the same on every machine. */
double propose_draw(uint64_t seed, uint64_t purpose, uint64_t index);
double propose_sigmoid(double x);

#endif
