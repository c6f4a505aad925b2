/* shrunk_means.c: the value that each trial is expected to have, and which trial runs again next (lineage/evidence.h). */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "../statistics/odds.h"
#include "shrunk_means.h"

/* Until something ran again, the noise is guessed as the square root of this share of the variance between trials. */
#define PRIOR_SHARE 0.1
#define PRIOR_FREEDOM 2.0
/* Trials differ in truth by at least this share of the variance between their means. */
#define LEAST_SHARE 0.02
/* A night stops when its answer is that certain; fewer degrees of freedom than this say nothing about certainty. */
#define SURE_ENOUGH 0.995
enum { SURE_FROM = 4, FAR_SHARE = 3, CLAIM_RUNS = 2 };

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void better_half(double *middle, double *spread, double *values, size_t n, bool higher)
{
    double squares = 0;
    size_t better = 0;
    *middle = *spread = 0;
    if (!n)
        return;
    qsort(values, n, sizeof *values, compare_numbers);
    *middle = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    for (size_t i = 0; i < n; i++) {
        double d = higher ? values[i] - *middle : *middle - values[i];
        squares += d >= 0 ? d * d : 0;
        better += d >= 0;
    }
    *spread = sqrt(squares / (double)better);
}

static double normal_above(double z)
{
    return 0.5 * erfc(z / sqrt(2));
}

/* Variance of one score: measured, with a guess that counts until enough is measured. */
static double noise_variance(const struct lineage_evidence *evidence, double spread)
{
    const struct lineage_noise *noise = &evidence->noise;
    if (isinf(noise->freedom))
        return noise->std * noise->std;
    return (PRIOR_FREEDOM * PRIOR_SHARE * spread * spread + noise->freedom * noise->std * noise->std) / (PRIOR_FREEDOM + noise->freedom);
}

static bool is_better(const struct lineage_evidence *evidence, size_t a, size_t b)
{
    double x = evidence->trials[a].expected, y = evidence->trials[b].expected;
    return evidence->rule.higher ? x > y : x < y;
}

/* The better of two; the earlier one if they are equal. */
static size_t best_of(const struct lineage_evidence *evidence, bool kept, size_t without)
{
    size_t best = evidence->n;
    for (size_t i = 0; i < evidence->n; i++)
        if (i != without && (!kept || evidence->trials[i].kept_id) && (best == evidence->n || is_better(evidence, i, best)))
            best = i;
    return best;
}

static double certainty(const struct lineage_evidence *evidence, size_t a, size_t b)
{
    const struct lineage_evidence_trial *x = &evidence->trials[a], *y = &evidence->trials[b];
    double error = hypot(x->doubt, y->doubt), gap = fabs(x->expected - y->expected);
    return error > 0 ? 1 - normal_above(normal_of_t(gap / error, PRIOR_FREEDOM + evidence->noise.freedom)) : gap > 0 ? 1 : 0.5;
}

/* The middle and spread of the trials' means. */
static bool find_spread(double *middle, double *spread, const struct lineage_evidence *evidence)
{
    double *means = calloc(evidence->n + 1, sizeof *means);
    for (size_t i = 0; means && i < evidence->n; i++)
        means[i] = evidence->trials[i].runs.mean;
    if (means)
        better_half(middle, spread, means, evidence->n, evidence->rule.higher);
    free(means);
    return means != NULL;
}

bool evidence_expect(struct lineage_evidence *evidence)
{
    double middle, spread, inverse = 0;
    bool again = false;
    if (!find_spread(&middle, &spread, evidence))
        return false;
    for (size_t i = 0; i < evidence->n; i++) {
        inverse += 1 / (double)evidence->trials[i].runs.n;
        again = again || evidence->trials[i].runs.n > 1 || evidence->trials[i].again;
    }
    const double noise = noise_variance(evidence, spread), between = spread * spread;
    const double truth = fmax(between - noise * inverse / (double)(evidence->n ? evidence->n : 1), LEAST_SHARE * between);
    for (size_t i = 0; i < evidence->n; i++) {
        struct lineage_evidence_trial *trial = &evidence->trials[i];
        double share = truth > 0 ? truth / (truth + noise / (double)trial->runs.n) : 1;
        trial->expected = share < 1 ? middle + share * (trial->runs.mean - middle) : trial->runs.mean;
        trial->doubt = sqrt(truth * (1 - share));
    }
    evidence->best = best_of(evidence, true, evidence->n);
    evidence->answer = best_of(evidence, false, evidence->n);
    evidence->second = best_of(evidence, false, evidence->answer);
    evidence->sure = again && evidence->second < evidence->n ? certainty(evidence, evidence->answer, evidence->second) : (double)NAN;
    return true;
}

/* ---- which trial runs again ---- */

/* The mean that a fifth of the trials is worse than; NAN without memory. */
static double worse_fifth(const struct lineage_evidence *evidence)
{
    double *means = calloc(evidence->n + 1, sizeof *means), value = (double)NAN;
    for (size_t i = 0; means && i < evidence->n; i++)
        means[i] = evidence->rule.higher ? -evidence->trials[i].runs.mean : evidence->trials[i].runs.mean;
    if (means && evidence->n) {
        qsort(means, evidence->n, sizeof *means, compare_numbers);
        value = means[(evidence->n - 1) * 4 / 5];
    }
    free(means);
    return evidence->rule.higher ? -value : value;
}

/* A trial that ran once, with a score far outside of all others, the bad ones included: its run may have diverged by chance. */
static size_t find_stray(const struct lineage_evidence *evidence, const bool *skip, double middle, double spread)
{
    size_t found = SIZE_MAX;
    const double limit = fmax(FAR_OUTSIDE * spread, FAR_SHARE * fabs(worse_fifth(evidence) - middle));
    for (size_t i = 0; i < evidence->n; i++) {
        const struct lineage_evidence_trial *trial = &evidence->trials[i];
        double worse = evidence->rule.higher ? middle - trial->runs.mean : trial->runs.mean - middle;
        if (spread > 0 && worse > limit && !skip[i] && trial->runs.n == 1 && !trial->again)
            found = i;
    }
    return found;
}

/* How much one more run of trial i is expected to improve the answer. */
static double improvement(const struct lineage_evidence *evidence, size_t i, double noise)
{
    const struct lineage_evidence_trial *trial = &evidence->trials[i];
    size_t rival = i == evidence->answer ? evidence->second : evidence->answer;
    double variance = trial->doubt * trial->doubt, step = variance / sqrt(variance + noise);
    double z = step > 0 ? fabs(evidence->trials[rival].expected - trial->expected) / step : INFINITY;
    return isinf(z) ? 0 : step * (exp(-z * z / 2) / sqrt(2 * 3.14159265358979323846) - z * normal_above(z));
}

/* The answer is certain, but whether it is better than the kept trials is another claim, for which both run again. The kept one does
 * so only if the other has more runs already: where the gain is large, it need not. */
static size_t next_of_claim(const struct lineage_evidence *evidence, const bool *skip)
{
    const size_t answer = evidence->answer, best = evidence->best;
    if (lineage_evidence_is_ready(evidence, answer) && !skip[answer])
        return answer; /* one more run brings its row */
    if (best == evidence->n || answer == best || evidence->trials[answer].judgement.state != LINEAGE_EVIDENCE_OPEN)
        return SIZE_MAX;
    size_t next = evidence->trials[answer].runs.n > CLAIM_RUNS * evidence->best_runs.n ? best : answer;
    return skip[next] ? SIZE_MAX : next;
}

size_t lineage_evidence_next(const struct lineage_evidence *evidence, const bool *skip)
{
    double middle, spread, most = 0;
    if (evidence->n < 2 || !find_spread(&middle, &spread, evidence))
        return SIZE_MAX;
    if (evidence->noise.freedom >= SURE_FROM && evidence->sure >= SURE_ENOUGH)
        return next_of_claim(evidence, skip);
    size_t next = find_stray(evidence, skip, middle, spread);
    const double noise = noise_variance(evidence, spread);
    for (size_t i = 0; next == SIZE_MAX && i < evidence->n; i++)
        most = skip[i] ? most : fmax(most, improvement(evidence, i, noise));
    for (size_t i = 0; next == SIZE_MAX && most > 0 && i < evidence->n; i++)
        if (!skip[i] && improvement(evidence, i, noise) >= most)
            next = i;
    return next == SIZE_MAX ? next_of_claim(evidence, skip) : next;
}
