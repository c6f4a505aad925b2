/*
 * propose_ranges.h: reads named ranges from texts and from JSON.
 *
 *     LOW:HIGH                 any number from LOW to HIGH
 *     LOW:HIGH:log             evenly spaced in the logarithm; also integer, log-integer, linear
 *     LOW:HIGH:log:5           with 5 points in a grid (default 4)
 *     adam,sgd,'x,y'  8,16,32  one of these values; texts are quoted as `lineage query` quotes them
 *     RANGE if NAME=VALUES     only where NAME, another range, has one of these values, or a number from LOW to HIGH
 * In JSON a range is such a text, a list of numbers and texts to choose from, or {"range": RANGE, "if": "NAME=VALUES"}.
 *
 * A range with a condition may come before the range that it names, because the members of a JSON object have no order. Call
 * propose_space_link after the last range.
 */
#pragma once

#include "cli.h"
#include "propose/propose.h"

enum { PROPOSE_CHOICES_MAX = 256, PROPOSE_WHY_MAX = 256 };

/*
 * Ranges, and the memory that they borrow from. Zero the struct before the first range is added, and do not copy it
 * afterwards.
 */
struct propose_space {
    struct propose_range ranges[PROPOSE_RANGES_MAX];
    size_t n;
    struct propose_choice choices[PROPOSE_CHOICES_MAX];
    size_t n_choices;
    const char *conditions[PROPOSE_RANGES_MAX]; /* "NAME=VALUES" of each range; NULL: always active */
    double values[PROPOSE_CHOICES_MAX];         /* of conditions */
    size_t n_values;
    char bytes[8192]; /* names and texts */
    size_t used;
};

/* Adds a range. Returns false, with a reason that names the range, if it is not valid. */
bool propose_space_add(struct propose_space *space, const char *name, const char *text, char why[PROPOSE_WHY_MAX]);

/* Resolves the conditions. Returns false, with a reason, if one names no range or no value of it, or if they form a circle. */
bool propose_space_link(struct propose_space *space, char why[PROPOSE_WHY_MAX]);

/* Adds every member of an object {NAME: RANGE}, which must have at least one, and links them. */
bool propose_space_read(struct propose_space *space, const json_t *ranges, char why[PROPOSE_WHY_MAX]);

/* A value of the range as JSON: a number, or the text of a choice. */
json_t *propose_value_json(const struct propose_range *range, double value);

/* A setting as JSON: {NAME: VALUE} of the ranges that are active. */
json_t *propose_setting_json(const struct propose_space *space, const double *x);

/* Writes the value of a parameter in the range: a number, or the index of a choice. Returns false if it is not in the
 * range. */
bool propose_value_of(double *value, const struct propose_range *range, const struct lineage_param *param);
bool propose_value_of_json(double *value, const struct propose_range *range, const json_t *json);

/*
 * Sets the elements of inactive ranges to their lower ends. has [space->n] is whether x has a value in a range. Returns false
 * if an active range has none.
 */
bool propose_complete(const struct propose_space *space, double *x, const bool *has);

/* The key `propose` of a sweep file: {"method": "auto", "trials": 40, "seed": 1}. */
struct propose_plan {
    bool given;
    enum propose_method method; /* default auto */
    size_t trials;              /* 0: not given */
    uint64_t seed;
};
bool propose_plan_read(struct propose_plan *plan, const json_t *json, char why[PROPOSE_WHY_MAX]);
