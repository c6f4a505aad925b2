/*
 * gaussian.h: a Gaussian process over the settings of a space (Rasmussen and Williams 2006, "Gaussian processes for machine
 * learning"): for any setting, the mean and the standard deviation of the value that is expected there.
 *
 * The kernel is Matern's with 5/2 and one length for each range. A setting is a point with one coordinate for each range,
 * from 0 to 1 on the scale of the range; values of a choice are all at distance 1 from each other. Mean and variance are
 * those of the largest likelihood; the lengths and the share of noise maximise the posterior, by Rprop (Blum and Riedmiller
 * 2013, "Optimization of Gaussian process hyperparameters using Rprop").
 *
 * Points of another context, such as trials of another sweep, are correlated with the others by a factor below 1, and have
 * an offset of their own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "propose/propose_problem.h"

/* ---- cholesky ---- */

/*
 * systems of linear equations with a symmetric positive definite matrix, for matrices of a few hundred rows. The inner
 * loops add a multiple of one vector to another, element by element. A compiler can use vector instructions for them
 * without changing the order of any sum, so the results have the same bits on every processor. A matrix [n][n] is stored by
 * columns; only the part on and below the diagonal is read and written: element (i, j) with i >= j is a[j * n + i].
 */

/* Replaces a by its factor L, where a = L L^T. Returns false, with a undefined, if a is not positive definite. */
bool cholesky_factor(double *a, size_t n);

/* Replaces x [n] by L^-1 x. */
void cholesky_forward(const double *l, size_t n, double *x);

/* Replaces x [n] by L^-T x. After cholesky_forward, x solves L L^T x = b. */
void cholesky_backward(const double *l, size_t n, double *x);

/* Writes (L L^T)^-1 to out [n][n], on and below the diagonal; `rows` [n][n] is overwritten. */
void cholesky_inverse(double *out, const double *l, size_t n, double *rows);

/* Returns the sum of the logarithms of the diagonal of L: half the logarithm of the determinant. */
double cholesky_half_log_determinant(const double *l, size_t n);

struct gaussian_point {
    double z[PROPOSE_RANGES_MAX];
    double y;
    double seeds;     /* the variance of its noise is divided by this */
    double relation;  /* correlation with the points of context 0, in (0, 1] */
    uint64_t context; /* 0: that of the proposals */
};

struct gaussian {
    size_t n, n_ranges;
    const bool *is_choice;         /* [n_ranges], borrowed */
    struct gaussian_point *points; /* [n] */
    double length[PROPOSE_RANGES_MAX];
    double noise; /* variance of the noise of one seed, as a share of `variance` */
    double mean, variance;
    double *l;     /* [n][n] Cholesky factor of the correlations */
    double *alpha; /* [n] correlations^-1 (y - mean) */
    double *ones;  /* [n] L^-1 1 */
    double ones_square;
    double *work; /* [n] */
};

/*
 * What is expected of the noise before the points are seen: its variance is about `noise` times the variance of y, to a
 * factor of exp(spread).
 */
struct gaussian_prior {
    double noise, spread;
};

/*
 * Learns lengths and noise from the points [n], n > 0, of which it copies all and learns from at most GAUSSIAN_LEARNED.
 * Call gaussian_release in any case. Returns false when out of memory.
 */
bool gaussian_fit(struct gaussian *gaussian, const struct gaussian_point *points, size_t n, const bool *is_choice,
                  size_t n_ranges, const struct gaussian_prior *prior);
void gaussian_release(struct gaussian *gaussian);

/* Adds points [n][PROPOSE_RANGES_MAX] of context 0 whose values are what is expected there. Returns false when out of memory. */
bool gaussian_believe(struct gaussian *gaussian, const double (*z)[PROPOSE_RANGES_MAX], size_t n);

/* Writes the mean and the standard deviation of the value without noise at z. Uses gaussian->work. */
void gaussian_predict(double *mean, double *deviation, struct gaussian *gaussian, const double *z);

/* The mean only, which is cheaper. */
double gaussian_mean(const struct gaussian *gaussian, const double *z);

/* The mean without noise at point i. */
double gaussian_mean_at(const struct gaussian *gaussian, size_t i);

enum { GAUSSIAN_LEARNED = 64 };
