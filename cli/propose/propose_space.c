#include "propose/propose_space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "propose/propose_math.h"

bool propose_is_whole(const struct propose_range *range)
{
    return range->scale != PROPOSE_LINEAR && range->scale != PROPOSE_LOG;
}

static bool propose_is_log(const struct propose_range *range)
{
    return range->scale == PROPOSE_LOG || range->scale == PROPOSE_LOG_INTEGER;
}

double propose_scaled(const struct propose_range *range, double value)
{
    return propose_is_log(range) ? propose_log(value) : value;
}

double propose_scaled_low(const struct propose_range *range)
{
    return propose_scaled(range, range->low - (propose_is_whole(range) ? 0.5 : 0));
}

double propose_scaled_high(const struct propose_range *range)
{
    return propose_scaled(range, range->high + (propose_is_whole(range) ? 0.5 : 0));
}

/* Rounds by printing and parsing, which gives the same double that a reader of the row will get. */
static double rounded(const struct propose_range *range, double value)
{
    char text[400];
    if (propose_is_whole(range))
        return floor(value + 0.5);
    if (propose_is_log(range)) {
        snprintf(text, sizeof text, "%.4e", value);
    } else {
        int exponent;
        frexp(range->high - range->low, &exponent);
        double decimals = 5 - floor(exponent * 0.30103); /* keeps 5 digits of the range's width; 0.30103 is log10(2) */
        snprintf(text, sizeof text, "%.*f", (int)fmin(fmax(decimals, 0), 300), value);
    }
    return strtod(text, NULL);
}

double propose_unscaled(const struct propose_range *range, double scaled)
{
    double value = rounded(range, propose_is_log(range) ? propose_exp(scaled) : scaled);
    return fmin(fmax(value, range->low), range->high);
}

double propose_unit_of(const struct propose_range *range, double value)
{
    if (range->scale == PROPOSE_CHOICE)
        return value;
    double low = propose_scaled_low(range), high = propose_scaled_high(range);
    return (propose_scaled(range, value) - low) / (high - low);
}

double propose_of_unit(const struct propose_range *range, double unit)
{
    return range->scale == PROPOSE_CHOICE ? unit : propose_value(range, fmin(fmax(unit, 0), 1));
}

double propose_value(const struct propose_range *range, double u)
{
    double low = propose_scaled_low(range), high = propose_scaled_high(range);
    return propose_unscaled(range, low + u * (high - low));
}

double propose_position(const struct propose_range *range, double value)
{
    if (range->scale == PROPOSE_CHOICE)
        return value;
    double low = propose_scaled(range, range->low), high = propose_scaled(range, range->high);
    return high > low ? (propose_scaled(range, value) - low) / (high - low) : 0;
}

bool propose_holds(const struct propose_range *range, double value)
{
    return value >= range->low && value <= range->high && (!propose_is_whole(range) || value == floor(value));
}

double propose_values(const struct propose_range *range)
{
    if (range->high <= range->low)
        return 1;
    return propose_is_whole(range) ? range->high - range->low + 1 : INFINITY;
}

size_t propose_steps(const struct propose_range *range)
{
    size_t steps = range->steps ? range->steps : PROPOSE_STEPS;
    double values = propose_values(range);
    if (range->scale == PROPOSE_CHOICE)
        return range->n_choices;
    return values < (double)steps ? (size_t)values : steps;
}

/* Both ends of the range are points of its grid. */
double propose_step(const struct propose_range *range, size_t i)
{
    size_t n = propose_steps(range);
    double low = propose_scaled(range, range->low), high = propose_scaled(range, range->high);
    return n > 1 ? propose_unscaled(range, low + (high - low) * (double)i / (double)(n - 1)) : range->low;
}

bool propose_is_active(const struct propose_range *ranges, const double *x, size_t i)
{
    const struct propose_condition *condition = &ranges[i].condition;
    if (!condition->given)
        return true;
    double value = x[condition->of];
    bool holds = condition->n == 0 && value >= condition->low && value <= condition->high;
    for (size_t k = 0; k < condition->n; k++)
        holds = holds || value == condition->values[k];
    return holds && propose_is_active(ranges, x, condition->of);
}

void propose_settle(const struct propose_problem *problem, double *x)
{
    bool active[PROPOSE_RANGES_MAX];
    for (size_t i = 0; i < problem->n_ranges; i++)
        active[i] = propose_is_active(problem->ranges, x, i);
    for (size_t i = 0; i < problem->n_ranges; i++)
        if (!active[i])
            x[i] = problem->ranges[i].low;
}

static bool is_near(const struct propose_problem *problem, const double *x, const double *y, double tolerance)
{
    for (size_t i = 0; i < problem->n_ranges; i++) {
        const struct propose_range *range = &problem->ranges[i];
        if (x[i] == y[i])
            continue;
        if (range->scale == PROPOSE_CHOICE || !(fabs(propose_position(range, x[i]) - propose_position(range, y[i])) <= tolerance))
            return false;
    }
    return true;
}

size_t propose_find(const struct propose_problem *problem, const double *x, double tolerance)
{
    size_t i = 0;
    while (i < problem->n_past && !is_near(problem, x, problem->past[i].x, tolerance))
        i++;
    return i;
}
