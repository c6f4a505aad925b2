/* report_axes.h: the parameters that vary, and how much of the score's variance each explains. */
#pragma once

#include "report/report_model.h"

enum { AXIS_WORDS_MAX = 10 }; /* most texts that a parameter may have; with more no picture shows it */

/* Fills model->axes: alpha, beta, gamma first, then the parameters that vary in most trials, seeds last. The first
 * MODEL_AXES of them are those of pictures; behind them come the other columns of the table, among them parameters with one
 * value or many texts. Returns false when out of memory. */
bool axes_find(struct model *model);

/* Whether an axis is a setting that can be tuned, which is all but the seed. */
bool axis_is_setting(const struct model_axis *axis);

/* Returns a value's place on the axis, from 0 to 1. */
double axis_place(const struct model_axis *axis, double value);

/*
 * Divides an axis into bins: its values if there are at most `max`, else ranges with equally many trials. Writes the
 * smallest value of each bin to edges and returns the number of bins.
 */
size_t axis_classes(const struct model *model, const struct model_axis *axis, size_t max, double *edges);

/* Returns the bin of a value: the last one whose edge is not above it. */
size_t axis_class(const double *edges, size_t n, double value);
