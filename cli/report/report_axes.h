/* report_axes.h: the parameters that vary, and how much of the score's spread each goes with. */
#ifndef REPORT_AXES_H
#define REPORT_AXES_H

#include "report/report_model.h"

enum { AXIS_WORDS_MAX = 10 }; /* different texts of one parameter; with more it is left out */

/* Fill model->axes: alpha, beta, gamma first, then those that most trials have; seeds last. False: no memory. */
bool axes_find(struct model *model);

/* Whether an axis is a setting that one would tune: all but the seed. */
bool axis_is_setting(const struct model_axis *axis);

/* A value in 0..1 along the axis. */
double axis_place(const struct model_axis *axis, double value);

/*
 * Classes of an axis: its values if there are at most `max`, else as many stretches with equally many trials.
 * edges gets the smallest value of each; returns how many there are.
 */
size_t axis_classes(const struct model *model, const struct model_axis *axis, size_t max, double *edges);

/* The class of a value: the last one whose edge is not above it. */
size_t axis_class(const double *edges, size_t n, double value);

/*
 * How much of the variance of the score goes with one parameter: epsilon squared of a one-way analysis of variance
 * over at most 5 classes, 1 - (n-1)/(n-k) * SSW/SST (Kelley 1935, PNAS 21:554), which is about 0 if they have nothing
 * to do with each other, whatever the number of classes. chance is what 95 of 100 random orders of the scores stay
 * below, from 200 orders drawn with a fixed seed.
 */
struct axis_importance {
    size_t n; /* measured trials that have the parameter */
    size_t classes;
    struct lineage_number share; /* absent when the trials do not suffice to compute it */
    double chance;
};

/* False: no memory. */
bool axis_importance(struct axis_importance *out, const struct model *model, const struct model_axis *axis);

#endif
