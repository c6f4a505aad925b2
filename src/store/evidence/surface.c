/* surface.c: see surface.h. */
#include "surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* POINTS_MAX bounds the time, which grows with the cube. Fewer than POINTS_MIN say nothing about a surface. */
enum { POINTS_MIN = 6, POINTS_MAX = 100, CLIMBS = 12 };
/* The surface must be likelier by this much, in natural logarithms, because its parameters were fitted. */
#define LIKELIER 3.0
/* The middle is unknown: its variance, in those of the means. */
#define FLAT 100.0

/* Logarithms of: one length for each parameter, then these. */
enum { HEIGHT, OWN, NOISE, N_OTHERS };

/* What is expected of each, and how far it may be from that: height and own variance in variances of the means, noise in that measured. */
static const struct {
    double middle, spread;
} priors[N_OTHERS] = {{1.4, 1.5}, {-4, 1.5}, {0, 2}};

struct fit {
    const struct lineage_evidence *evidence;
    const struct surface *surface;
    size_t *points, n; /* [n] the trials */
    double *covariance; /* [n][n] */
    double *mean; /* [n] around middle */
    double middle, spread; /* variance of the means */
    double noise;
};

static double correlation(const struct fit *fit, size_t a, size_t b, const double *lengths)
{
    const struct surface *surface = fit->surface;
    double square = 0;
    if (surface->group[a] != surface->group[b])
        return 0;
    for (size_t k = 0; k < surface->n_params; k++) {
        double d = (surface->z[a][k] - surface->z[b][k]) / lengths[k];
        square += d * d;
    }
    const double s = sqrt(5 * square);
    return (1 + s + s * s / 3) * exp(-s);
}

/*
 * Takes in the points one by one, and returns the logarithm of their likelihood. That depends on what is expected of the later points
 * alone, at a sixth of the work; `everywhere` also learns what they say about the earlier ones.
 */
static double condition(struct fit *fit, double noise, bool everywhere)
{
    double likelihood = 0;
    memset(fit->mean, 0, fit->n * sizeof *fit->mean);
    for (size_t i = 0; i < fit->n; i++) {
        if (fit->evidence->trials[fit->points[i]].stray)
            continue;
        const struct lineage_runs *runs = &fit->evidence->trials[fit->points[i]].runs;
        double *row = fit->covariance + i * fit->n;
        const double variance = row[i] + noise / (double)runs->n, surprise = runs->mean - fit->middle - fit->mean[i];
        if (!(variance > 0))
            return -INFINITY;
        likelihood -= 0.5 * (log(variance) + surprise * surprise / variance);
        for (size_t j = everywhere ? 0 : i + 1; j < fit->n; j++)
            fit->mean[j] += row[j] / variance * surprise;
        for (size_t j = everywhere ? 0 : i + 1; j < fit->n; j++) {
            const double share = row[j] / variance;
            double *to = fit->covariance + j * fit->n;
            for (size_t k = everywhere ? 0 : j; j != i && k < fit->n; k++)
                to[k] -= share * row[k];
        }
        const double left = 1 - row[i] / variance;
        for (size_t k = 0; everywhere && k < fit->n; k++)
            row[k] *= left;
    }
    return likelihood;
}

static double density(double theta, double middle, double spread)
{
    const double z = (theta - middle) / spread;
    return -0.5 * z * z;
}

/* The measured noise is likelier the more degrees of freedom it has. */
static double noise_density(const struct fit *fit, double theta)
{
    const double freedom = fit->evidence->noise.freedom;
    return isinf(freedom) ? theta * theta * -1e6
                          : -0.5 * freedom * (theta + exp(-theta) - 1) + density(theta, 0, priors[NOISE].spread);
}

static double posterior(struct fit *fit, const double *theta, bool everywhere)
{
    const size_t d = fit->surface->n_params;
    const double *others = theta + d, height = fit->spread * exp(others[HEIGHT]), own = fit->spread * exp(others[OWN]);
    double lengths[SURFACE_PARAMS_MAX], value = noise_density(fit, others[NOISE]);
    for (size_t k = 0; k < d; k++) {
        lengths[k] = exp(theta[k]);
        value += density(theta[k], log(0.6 * sqrt((double)d)), 1);
    }
    for (size_t k = HEIGHT; k <= OWN; k++)
        value += density(others[k], priors[k].middle, priors[k].spread);
    for (size_t i = 0; i < fit->n; i++)
        for (size_t j = 0; j <= i; j++) {
            const double same = i == j ? own : 0;
            fit->covariance[i * fit->n + j] = fit->covariance[j * fit->n + i] =
                FLAT * fit->spread + same + height * correlation(fit, fit->points[i], fit->points[j], lengths);
        }
    return value + condition(fit, fit->noise * exp(others[NOISE]), everywhere);
}

/* As if neighbours said nothing, for the likeliest noise. */
static double without_surface(struct fit *fit, double truth)
{
    double most = -INFINITY;
    for (double theta = -2; theta <= 2; theta += 0.5) {
        for (size_t i = 0; i < fit->n * fit->n; i++)
            fit->covariance[i] = FLAT * fit->spread + (i % (fit->n + 1) == 0 ? truth : 0);
        most = fmax(most, noise_density(fit, theta) + condition(fit, fit->noise * exp(theta), false));
    }
    return most;
}

/* Steps along one parameter after the other, which become shorter when none helps. */
static double climb(struct fit *fit, double *theta)
{
    const size_t n = fit->surface->n_params + N_OTHERS;
    double step = 1, top = posterior(fit, theta, false);
    for (int round = 0; round < CLIMBS && step > 0.2; round++) {
        const double before = top;
        for (size_t k = 0; k < n; k++)
            for (int way = -1; way <= 1; way += 2) {
                theta[k] += way * step;
                const double value = posterior(fit, theta, false);
                if (value > top)
                    top = value;
                else
                    theta[k] -= way * step;
            }
        step *= top > before ? 1 : 0.5;
    }
    return posterior(fit, theta, true);
}

static void choose_points(struct fit *fit, double limit)
{
    const struct lineage_evidence *evidence = fit->evidence;
    double n = 0, sum = 0, squares = 0;
    for (size_t i = evidence->n; i-- > 0 && fit->n < POINTS_MAX;) {
        const double from = evidence->trials[i].runs.mean - fit->middle;
        bool placed = true;
        for (size_t k = 0; k < fit->surface->n_params; k++)
            placed = placed && !isnan(fit->surface->z[i][k]);
        const bool stray = evidence->trials[i].stray;
        if (!placed || (!stray && (evidence->rule.higher ? -from : from) > limit))
            continue;
        fit->points[fit->n++] = i;
        n += stray ? 0 : 1;
        sum += stray ? 0 : from;
        squares += stray ? 0 : from * from;
    }
    fit->spread = n >= POINTS_MIN ? squares / n - sum * sum / (n * n) : 0;
}

static void learn(struct fit *fit, struct lineage_evidence *evidence, double truth)
{
    double theta[SURFACE_PARAMS_MAX + N_OTHERS];
    const size_t d = fit->surface->n_params;
    for (size_t k = 0; k < d; k++)
        theta[k] = log(0.6 * sqrt((double)d));
    for (size_t k = 0; k < N_OTHERS; k++)
        theta[d + k] = priors[k].middle;
    const double otherwise = without_surface(fit, truth);
    if (!(climb(fit, theta) > otherwise + LIKELIER))
        return;
    for (size_t i = 0; i < fit->n; i++) {
        evidence->trials[fit->points[i]].expected = fit->middle + fit->mean[i];
        evidence->trials[fit->points[i]].doubt = sqrt(fmax(fit->covariance[i * fit->n + i], 0));
    }
}

bool surface_expect(struct lineage_evidence *evidence, const struct surface *surface, double middle, double limit, double truth,
                    double noise)
{
    const size_t most = evidence->n < POINTS_MAX ? evidence->n : POINTS_MAX;
    struct fit fit = {.evidence = evidence, .surface = surface, .middle = middle, .noise = noise};
    fit.points = calloc(most + 1, sizeof *fit.points);
    fit.covariance = calloc((most + 1) * (most + 1), sizeof *fit.covariance);
    fit.mean = fit.covariance ? fit.covariance + most * most : NULL;
    const bool good = fit.points && fit.covariance;
    if (good)
        choose_points(&fit, limit);
    if (good && fit.spread > 0 && noise > 0)
        learn(&fit, evidence, truth);
    free(fit.points);
    free(fit.covariance);
    return good;
}
