/* sort.h: sorts doubles in time linear in their number. */
#pragma once

#include <stddef.h>

/*
 * Sort values [n] in ascending order; none may be NaN. spare [n] is scratch. Returns the one of the
 * two arrays that holds the result.
 */
double *rl_sort(double *values, double *spare, size_t n);
