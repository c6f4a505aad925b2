#include "propose/gaussian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "propose/propose_math.h"

/* see cholesky.h. Golub and Van Loan, "Matrix Computations", 4th edition (2013), section 4.2. */

/* to += factor * from. The two do not overlap. */
static void add_multiple(double *restrict to, const double *restrict from, double factor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += factor * from[i];
}

bool cholesky_factor(double *a, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        double *column = a + k * n;
        if (!(column[k] > 0) || !isfinite(column[k]))
            return false;
        double diagonal = sqrt(column[k]);
        for (size_t i = k; i < n; i++)
            column[i] /= diagonal;
        for (size_t j = k + 1; j < n; j++)
            add_multiple(a + j * n + j, column + j, -column[j], n - j);
    }
    return true;
}

void cholesky_forward(const double *l, size_t n, double *x)
{
    for (size_t j = 0; j < n; j++) {
        x[j] /= l[j * n + j];
        add_multiple(x + j + 1, l + j * n + j + 1, -x[j], n - j - 1);
    }
}

void cholesky_backward(const double *l, size_t n, double *x)
{
    for (size_t j = n; j-- > 0;) {
        double sum = x[j];
        for (size_t i = j + 1; i < n; i++)
            sum -= l[j * n + i] * x[i];
        x[j] = sum / l[j * n + j];
    }
}

/* Row k of L^-1 is found from the rows before it, and its products with itself are added to the inverse. */
void cholesky_inverse(double *out, const double *l, size_t n, double *rows)
{
    memset(out, 0, n * n * sizeof *out);
    memset(rows, 0, n * n * sizeof *rows);
    for (size_t k = 0; k < n; k++) {
        double *row = rows + k * n;
        for (size_t j = 0; j < k; j++)
            add_multiple(row, rows + j * n, -l[j * n + k], j + 1);
        row[k] = 1;
        for (size_t j = 0; j <= k; j++)
            row[j] /= l[k * n + k];
    }
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j <= k; j++)
            add_multiple(out + j * n + j, rows + k * n + j, rows[k * n + j], k - j + 1);
}

double cholesky_half_log_determinant(const double *l, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += propose_log(l[i * n + i]);
    return sum;
}

/* Variance of the offset of another context, as a share of the variance of the process. */
static const double offset_variance = 4;

/* Added to the diagonal, so that settings that nearly coincide leave the matrix positive definite. */
static const double jitter = 1e-8;

static double square_of(const struct gaussian *gaussian, size_t r, double a, double b)
{
    if (gaussian->is_choice[r])
        return a == b ? 0 : 1;
    return (a - b) * (a - b);
}

static double square_distance(const struct gaussian *gaussian, const double *weights, const double *a, const double *b)
{
    double sum = 0;
    for (size_t r = 0; r < gaussian->n_ranges; r++)
        sum += weights[r] * square_of(gaussian, r, a[r], b[r]);
    return sum;
}

static void fill_weights(double *weights, const struct gaussian *gaussian)
{
    for (size_t r = 0; r < gaussian->n_ranges; r++)
        weights[r] = 1 / (gaussian->length[r] * gaussian->length[r]);
}

/* The kernel, from the square of the distance in lengths; *slope is its derivative by that square, times -2. */
static double matern(double *slope, double square)
{
    double s = sqrt(5 * square), decay = propose_exp(-s);
    *slope = 5.0 / 3 * (1 + s) * decay;
    return (1 + s + s * s / 3) * decay;
}

/* How points of two contexts are related, beside their distance. */
static double relation_of(const struct gaussian_point *a, const struct gaussian_point *b)
{
    return a->context == b->context ? 1 : a->relation * b->relation;
}

static double offset_of(const struct gaussian_point *a, const struct gaussian_point *b)
{
    return a->context && a->context == b->context ? offset_variance : 0;
}

/* Fills the correlations below the diagonal and, unless NULL, the slopes. */
static void fill_correlations(double *matrix, double *slopes, const struct gaussian *gaussian)
{
    double weights[PROPOSE_RANGES_MAX];
    fill_weights(weights, gaussian);
    for (size_t j = 0; j < gaussian->n; j++) {
        const struct gaussian_point *b = &gaussian->points[j];
        for (size_t i = j; i < gaussian->n; i++) {
            const struct gaussian_point *a = &gaussian->points[i];
            double slope, relation = relation_of(a, b);
            double k = matern(&slope, square_distance(gaussian, weights, a->z, b->z));
            matrix[j * gaussian->n + i] = relation * k + offset_of(a, b);
            if (slopes)
                slopes[j * gaussian->n + i] = relation * slope;
        }
        matrix[j * gaussian->n + j] += gaussian->noise / b->seeds + jitter;
    }
}

/* Factors the correlations and sets mean, variance and alpha. Returns the sum of squares that the variance is made of, or
 * a negative number if the matrix is not positive definite. */
static double solve(struct gaussian *gaussian)
{
    size_t n = gaussian->n;
    double cross = 0, squares = 0;
    if (!cholesky_factor(gaussian->l, n))
        return -1;
    for (size_t i = 0; i < n; i++) {
        gaussian->ones[i] = 1;
        gaussian->alpha[i] = gaussian->points[i].y;
    }
    cholesky_forward(gaussian->l, n, gaussian->ones);
    cholesky_forward(gaussian->l, n, gaussian->alpha);
    gaussian->ones_square = 0;
    for (size_t i = 0; i < n; i++) {
        gaussian->ones_square += gaussian->ones[i] * gaussian->ones[i];
        cross += gaussian->ones[i] * gaussian->alpha[i];
    }
    gaussian->mean = cross / gaussian->ones_square;
    for (size_t i = 0; i < n; i++) {
        gaussian->alpha[i] -= gaussian->mean * gaussian->ones[i];
        squares += gaussian->alpha[i] * gaussian->alpha[i];
    }
    cholesky_backward(gaussian->l, n, gaussian->alpha);
    /* A prior worth two points of variance 1, because y is standardised, keeps the variance of a flat past above 0. */
    gaussian->variance = (squares + 2) / ((double)n + 2);
    return squares;
}

/* The parameters that are learned are logarithms: of the lengths [n_ranges], and of the noise. */
struct learning {
    struct gaussian *gaussian;
    const struct gaussian_prior *prior;
    double *slopes, *inverse, *rows; /* [n][n] */
    double log_length, spread; /* expected of each length: mean and standard deviation of its logarithm */
};

static void take_parameters(struct gaussian *gaussian, const double *theta)
{
    for (size_t r = 0; r < gaussian->n_ranges; r++)
        gaussian->length[r] = propose_exp(theta[r]);
    gaussian->noise = propose_exp(theta[gaussian->n_ranges]);
}

static double log_prior(double *gradient, double theta, double expected, double spread)
{
    double z = (theta - expected) / spread;
    *gradient += -z / spread;
    return -0.5 * z * z;
}

/*
 * Returns the logarithm of the posterior density, up to a constant, and writes its gradient [n_ranges + 1]; -INFINITY if the
 * matrix is not positive definite. Rasmussen and Williams 2006, equation 5.9, with the variance at its maximum.
 */
static double log_posterior(double *gradient, struct learning *learning, const double *theta)
{
    struct gaussian *gaussian = learning->gaussian;
    size_t n = gaussian->n, d = gaussian->n_ranges;
    take_parameters(gaussian, theta);
    fill_correlations(gaussian->l, learning->slopes, gaussian);
    double squares = solve(gaussian);
    if (squares < 0)
        return -INFINITY;
    double value = -0.5 * ((double)n + 2) * propose_log(squares + 2) - cholesky_half_log_determinant(gaussian->l, n);
    cholesky_inverse(learning->inverse, gaussian->l, n, learning->rows);
    memset(gradient, 0, (d + 1) * sizeof *gradient);
    for (size_t j = 0; j < n; j++) {
        const struct gaussian_point *b = &gaussian->points[j];
        for (size_t i = j; i < n; i++) {
            const double *a = gaussian->points[i].z;
            double w = gaussian->alpha[i] * gaussian->alpha[j] / gaussian->variance - learning->inverse[j * n + i];
            double share = w * learning->slopes[j * n + i];
            for (size_t r = 0; r < d; r++)
                gradient[r] += share * square_of(gaussian, r, a[r], b->z[r]);
            if (i == j)
                gradient[d] += 0.5 * w * gaussian->noise / b->seeds;
        }
    }
    for (size_t r = 0; r < d; r++) {
        gradient[r] /= gaussian->length[r] * gaussian->length[r];
        value += log_prior(&gradient[r], theta[r], learning->log_length, learning->spread);
    }
    return value + log_prior(&gradient[d], theta[d], propose_log(learning->prior->noise), learning->prior->spread);
}

enum { ROUNDS = 25 };

/* Rprop: each parameter has a step of its own, which grows while the sign of its gradient stays, and shrinks when it flips. */
static void climb(struct learning *learning)
{
    struct gaussian *gaussian = learning->gaussian;
    size_t d = gaussian->n_ranges + 1;
    double theta[PROPOSE_RANGES_MAX + 1], best[PROPOSE_RANGES_MAX + 1], step[PROPOSE_RANGES_MAX + 1];
    double gradient[PROPOSE_RANGES_MAX + 1], before[PROPOSE_RANGES_MAX + 1] = {0}, top = -INFINITY;
    for (size_t i = 0; i < d; i++) {
        theta[i] = best[i] = i + 1 < d ? learning->log_length : propose_log(learning->prior->noise);
        step[i] = 0.3;
    }
    for (int round = 0; round < ROUNDS; round++) {
        double value = log_posterior(gradient, learning, theta);
        if (value > top) {
            top = value;
            memcpy(best, theta, sizeof best);
        }
        if (value == -INFINITY)
            break;
        for (size_t i = 0; i < d; i++) {
            double sign = gradient[i] * before[i];
            step[i] = sign > 0 ? fmin(1.2 * step[i], 1) : sign < 0 ? 0.5 * step[i] : step[i];
            before[i] = sign < 0 ? 0 : gradient[i];
            theta[i] += gradient[i] > 0 ? step[i] : gradient[i] < 0 ? -step[i] : 0;
            theta[i] = i + 1 < d ? fmin(fmax(theta[i], -4), 4) : fmin(fmax(theta[i], -16), 2);
        }
    }
    take_parameters(gaussian, best);
}

/* With enough noise every matrix of correlations is positive definite. */
static void settle(struct gaussian *gaussian)
{
    double squares = -1;
    while (squares < 0) {
        fill_correlations(gaussian->l, NULL, gaussian);
        squares = solve(gaussian);
        gaussian->noise *= squares < 0 ? 10 : 1;
    }
}

static bool make_room(struct gaussian *gaussian, size_t n)
{
    gaussian->points = malloc(n * sizeof *gaussian->points);
    gaussian->l = malloc(n * n * sizeof *gaussian->l);
    gaussian->alpha = malloc(3 * n * sizeof *gaussian->alpha);
    if (!gaussian->points || !gaussian->l || !gaussian->alpha)
        return false;
    gaussian->ones = gaussian->alpha + n;
    gaussian->work = gaussian->ones + n;
    return true;
}

/* Learns from the first points; the caller puts those first that tell most. */
static bool learn(struct gaussian *gaussian, const struct gaussian_prior *prior)
{
    size_t all = gaussian->n, n = all < GAUSSIAN_LEARNED ? all : GAUSSIAN_LEARNED;
    double *room = malloc(3 * n * n * sizeof *room);
    /* Lengths grow with the root of the number of ranges, as distances do (Hvarfner et al. 2024). */
    struct learning learning = {gaussian,
                                prior,
                                room,
                                room ? room + n * n : NULL,
                                room ? room + 2 * n * n : NULL,
                                propose_log(0.4 * sqrt((double)gaussian->n_ranges)),
                                1};
    if (room) {
        gaussian->n = n;
        climb(&learning);
        gaussian->n = all;
    }
    free(room);
    return room != NULL;
}

bool gaussian_fit(struct gaussian *gaussian, const struct gaussian_point *points, size_t n, const bool *is_choice,
                  size_t n_ranges, const struct gaussian_prior *prior)
{
    *gaussian = (struct gaussian){.n = n, .n_ranges = n_ranges, .is_choice = is_choice};
    if (!make_room(gaussian, n))
        return false;
    memcpy(gaussian->points, points, n * sizeof *points);
    if (!learn(gaussian, prior))
        return false;
    settle(gaussian);
    return true;
}

bool gaussian_believe(struct gaussian *gaussian, const double (*z)[PROPOSE_RANGES_MAX], size_t n)
{
    struct gaussian more = *gaussian;
    if (n == 0)
        return true;
    if (!make_room(&more, gaussian->n + n)) {
        gaussian_release(&more);
        return false;
    }
    memcpy(more.points, gaussian->points, gaussian->n * sizeof *more.points);
    for (size_t i = 0; i < n; i++) {
        struct gaussian_point point = {.y = gaussian_mean(gaussian, z[i]), .seeds = 1, .relation = 1};
        memcpy(point.z, z[i], sizeof point.z);
        more.points[more.n++] = point;
    }
    gaussian_release(gaussian);
    settle(&more);
    *gaussian = more;
    return true;
}

void gaussian_release(struct gaussian *gaussian)
{
    free(gaussian->points);
    free(gaussian->l);
    free(gaussian->alpha);
    *gaussian = (struct gaussian){0};
}

static double fill_cross(double *cross, const struct gaussian *gaussian, const double *z)
{
    double weights[PROPOSE_RANGES_MAX], slope, sum = gaussian->mean;
    fill_weights(weights, gaussian);
    for (size_t i = 0; i < gaussian->n; i++) {
        const struct gaussian_point *point = &gaussian->points[i];
        double k = matern(&slope, square_distance(gaussian, weights, point->z, z)) * (point->context ? point->relation : 1);
        if (cross)
            cross[i] = k;
        sum += k * gaussian->alpha[i];
    }
    return sum;
}

double gaussian_mean(const struct gaussian *gaussian, const double *z)
{
    return fill_cross(NULL, gaussian, z);
}

double gaussian_mean_at(const struct gaussian *gaussian, size_t i)
{
    const struct gaussian_point *point = &gaussian->points[i];
    return point->y - (gaussian->noise / point->seeds + jitter) * gaussian->alpha[i];
}

void gaussian_predict(double *mean, double *deviation, struct gaussian *gaussian, const double *z)
{
    double explained = 0, ones = 0;
    *mean = fill_cross(gaussian->work, gaussian, z);
    cholesky_forward(gaussian->l, gaussian->n, gaussian->work);
    for (size_t i = 0; i < gaussian->n; i++) {
        explained += gaussian->work[i] * gaussian->work[i];
        ones += gaussian->work[i] * gaussian->ones[i];
    }
    double share = 1 - explained + (1 - ones) * (1 - ones) / gaussian->ones_square;
    *deviation = sqrt(gaussian->variance * fmax(share, 1e-12));
}
