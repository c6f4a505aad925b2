/* threshold.c: the improvement that a single score must show to be kept (lineage/store.h, derived in lineage/evidence.h). */
#include <lineage/evidence.h>

#include <math.h>
#include <stdlib.h>

#include "quantiles.h"

#define SCATTER_FREEDOM 0.37
enum { SCATTER_FROM = 10 };

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *numbers, size_t n)
{
    qsort(numbers, n, sizeof *numbers, compare_numbers);
    return n % 2 ? numbers[n / 2] : (numbers[n / 2 - 1] + numbers[n / 2]) / 2;
}

struct lineage_scatter lineage_scatter_of(double *scores, size_t n)
{
    if (!n)
        return (struct lineage_scatter){0};
    double middle = median_of(scores, n);
    for (size_t i = 0; i < n; i++)
        scores[i] = fabs(scores[i] - middle);
    return (struct lineage_scatter){1.4826 * median_of(scores, n), n};
}

unsigned lineage_config_trials(const struct lineage_config *config)
{
    return config->night_trials ? config->night_trials : config->newest_night ? config->newest_night : LINEAGE_NIGHT_TRIALS;
}

double lineage_threshold(const struct lineage_config *config, const struct lineage_scatter *scatter)
{
    const double tail = LINEAGE_FALSE_KEEPS / lineage_config_trials(config);
    struct lineage_noise noise;
    if (config->noise_std <= 0)
        return config->min_delta;
    lineage_noise_of_config(&noise, config);
    double widened = quantile_t(tail, noise.freedom) * noise.std;
    if (isfinite(noise.freedom) && scatter && scatter->n >= SCATTER_FROM && scatter->std > 0) {
        double most = fmax(scatter->std, noise.low) * quantile_t(tail, SCATTER_FREEDOM * (double)(scatter->n - 1));
        widened = fmin(widened, most);
    }
    return fmax(config->min_delta, widened * sqrt(2.0 / (config->noise_seeds ? config->noise_seeds : 1)));
}
