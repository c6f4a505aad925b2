/* sparkline.c: draws values as a row of blocks of different height. */
#include "output/show.h"

#include <math.h>

#include "cli.h"

/* The i-th of `shown` values that are spread evenly over n values and include the first and the last. */
static double sample(const double *values, size_t n, size_t shown, size_t i)
{
    return values[shown > 1 ? i * (n - 1) / (shown - 1) : n - 1];
}

void sparkline_print(FILE *out, const double *values, size_t n, size_t columns)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {"_", ".", ",", "-", "~", "=", "*", "#"};
    size_t shown = n < columns ? n : columns;
    double low = sample(values, n, shown, 0), high = low;
    for (size_t i = 1; i < shown; i++) {
        low = fmin(low, sample(values, n, shown, i));
        high = fmax(high, sample(values, n, shown, i));
    }
    for (size_t i = 0; i < shown; i++) {
        /* halved first, because the difference may overflow */
        double value = sample(values, n, shown, i) / 2 - low / 2;
        size_t height = high > low ? (size_t)(value / (high / 2 - low / 2) * 7 + 0.5) : 0;
        fputs(cli_sign(blocks[height], plain[height]), out);
    }
}
