/* sparkline.h: draws values as a row of blocks, for a terminal. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Prints values as a row of at most `columns` blocks. If there are more values, they are sampled evenly, with the first
 * and the last. Needs n > 0, columns > 0 and finite values. */
void sparkline_print(FILE *out, const double *values, size_t n, size_t columns);
