/* noise.c: how large the noise is, and how well that is known (lineage/evidence.h). */
#include <lineage/evidence.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include <lineage/text.h>

#include "quantiles.h"

/* A group is left out if its variance would be this unlikely among the others, over all groups. */
#define OUTLIER_TAIL 0.001
#define OTHERS_FREEDOM 2
/* Digits of a mean: that many without need, and as many as every number keeps. */
enum { MEAN_DIGITS = 6, MEAN_DIGITS_MOST = 15 };

void lineage_noise_interval(struct lineage_noise *noise)
{
    noise->low = noise->high = noise->std;
    if (!(noise->freedom > 0) || isinf(noise->freedom))
        return;
    noise->low *= sqrt(noise->freedom / quantile_chi_square(0.025, noise->freedom));
    noise->high *= sqrt(noise->freedom / quantile_chi_square(0.975, noise->freedom));
}

void lineage_noise_of_config(struct lineage_noise *noise, const struct lineage_config *config)
{
    *noise = (struct lineage_noise){.std = config->noise_std};
    if (config->noise_std > 0)
        noise->freedom = config->noise_freedom ? config->noise_freedom : (double)INFINITY;
    if (config->noise_freedom)
        noise->runs = config->noise_runs > config->noise_freedom ? config->noise_runs : config->noise_freedom + 1;
    lineage_noise_interval(noise);
}

/* Sum of squares and degrees of freedom of the groups whose variance is at most `ceiling`, without the group `without`. */
static double pool(double *freedom, const struct lineage_noise_group *groups, size_t n, double ceiling, size_t without)
{
    double squares = 0;
    *freedom = 0;
    for (size_t i = 0; i < n; i++) {
        if (groups[i].n < 2 || i == without || groups[i].variance > ceiling)
            continue;
        *freedom += (double)(groups[i].n - 1);
        squares += (double)(groups[i].n - 1) * groups[i].variance;
    }
    return squares;
}

static size_t find_largest(const struct lineage_noise_group *groups, size_t n, double ceiling)
{
    size_t largest = SIZE_MAX;
    for (size_t i = 0; i < n; i++)
        if (groups[i].n > 1 && groups[i].variance <= ceiling &&
            (largest == SIZE_MAX || groups[i].variance > groups[largest].variance))
            largest = i;
    return largest;
}

void lineage_noise_pool(struct lineage_noise *noise, const struct lineage_noise_group *groups, size_t n_groups)
{
    double freedom, ceiling = (double)INFINITY;
    *noise = (struct lineage_noise){0};
    for (size_t left_out = 0; left_out < n_groups; left_out++) {
        size_t largest = find_largest(groups, n_groups, ceiling);
        if (largest == SIZE_MAX)
            break;
        double squares = pool(&freedom, groups, n_groups, ceiling, largest), own = (double)(groups[largest].n - 1);
        bool outlier = freedom >= OTHERS_FREEDOM && squares > 0 &&
                       tail_f(groups[largest].variance * freedom / squares, own, freedom) < OUTLIER_TAIL / (double)n_groups;
        if (!outlier)
            break;
        ceiling = nextafter(groups[largest].variance, 0);
        noise->left_out++;
    }
    double squares = pool(&freedom, groups, n_groups, ceiling, SIZE_MAX);
    for (size_t i = 0; i < n_groups; i++)
        noise->runs += groups[i].n > 1 && groups[i].variance <= ceiling ? groups[i].n : 0;
    noise->freedom = isfinite(squares) ? freedom : 0; /* unknown where the sum is too large for a number */
    noise->std = noise->freedom > 0 ? sqrt(squares / freedom) : 0;
    lineage_noise_interval(noise);
}

const char *lineage_noise_text(char out[LINEAGE_NOISE_TEXT_MAX], const struct lineage_noise *noise)
{
    if (isinf(noise->freedom)) {
        snprintf(out, LINEAGE_NOISE_TEXT_MAX, "%.3g as set by the owner", noise->std);
        return out;
    }
    int n = snprintf(out, LINEAGE_NOISE_TEXT_MAX,
                     noise->estimated ? "%.3g, an estimate from %zu replicas, 95 %% interval %.3g to %.3g"
                                      : "%.3g from %zu seeds, 95 %% interval %.3g to %.3g",
                     noise->std, noise->runs, noise->low, noise->high);
    if (noise->freedom < 2 && n > 0 && n < LINEAGE_NOISE_TEXT_MAX)
        snprintf(out + n, (size_t)(LINEAGE_NOISE_TEXT_MAX - n), "; two runs say little: run more seeds");
    return out;
}

const char *lineage_floor_text(char out[LINEAGE_FLOOR_TEXT_MAX], const struct lineage_config *config, double before)
{
    struct lineage_noise noise;
    char text[LINEAGE_NOISE_TEXT_MAX];
    lineage_noise_of_config(&noise, config);
    snprintf(out, LINEAGE_FLOOR_TEXT_MAX, "the noise floor is now %s; it was %.3g",
             config->noise_std > 0 ? lineage_noise_text(text, &noise) : "unknown", before);
    return out;
}

bool lineage_floor_moved(const struct lineage_config *config, const struct lineage_noise *before)
{
    return before->freedom > 0 && (config->noise_std < before->low || config->noise_std > before->high);
}

double lineage_noise_margin(const struct lineage_noise *noise, size_t n)
{
    return noise->freedom > 0 ? quantile_t(0.025, noise->freedom) * noise->std / sqrt((double)n) : (double)NAN;
}

const char *lineage_mean_text(char out[LINEAGE_NUMBER_MAX], double mean, double margin)
{
    const double magnitude = mean != 0 ? floor(log10(fabs(mean))) : 0, needed = margin > 0 ? magnitude - floor(log10(margin)) + 2
                                                                                : margin == 0 ? MEAN_DIGITS_MOST
                                                                                              : 0;
    snprintf(out, LINEAGE_NUMBER_MAX, "%.*g", (int)fmin(fmax(fmax(needed, magnitude + 1), MEAN_DIGITS), MEAN_DIGITS_MOST), mean);
    return out;
}

struct lineage_number lineage_score_margin(const struct lineage_config *config, const struct lineage_trial *trial)
{
    struct lineage_noise noise;
    size_t runs = lineage_score_runs(trial->notes);
    lineage_noise_of_config(&noise, config);
    double margin = lineage_noise_margin(&noise, runs > 1 ? runs : config->noise_seeds ? config->noise_seeds : 1);
    bool known = trial->score.present && isfinite(margin);
    return (struct lineage_number){known, known ? margin : 0};
}
