/* sort.h: doubles in ascending order in time linear in their number, whatever they are. */
#ifndef RLCORE_SORT_H
#define RLCORE_SORT_H

#include <stddef.h>

/* Sort values [n], none of them NaN; spare [n] is scratch. Returns whichever holds the result. */
double *rl_sort(double *values, double *spare, size_t n);

#endif
