/* shrunk_means.c: the value that each trial is expected to have, and which trial runs again next (lineage/evidence.h). */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "../statistics/odds.h"
#include "../statistics/quantiles.h"
#include "shrunk_means.h"

/* Until something ran again, the noise is guessed as the square root of this share of the variance between trials. */
#define PRIOR_SHARE 0.1
#define PRIOR_FREEDOM 2.0
/* Trials differ in truth by at least this share of the variance between their means. */
#define LEAST_SHARE 0.02
/* A night stops when its answer is that certain; fewer degrees of freedom than this say nothing about certainty. */
#define SURE_ENOUGH 0.975
/* Lead and noise are estimated from the same few runs, so that a lead is less certain than its error says. By this factor, of the answers
 * that say 0.85 to 0.95 nine in ten are right (tests/bench/README.md, Verdicts). */
#define OWN_ESTIMATE 1.4
enum { SURE_FROM = 4, FAR_SHARE = 3, CLAIM_RUNS = 2 };
/* Unless the second is nearer than the guessed noise, the leader alone runs again until this many degrees of freedom are known, because
 * runs of a trial far behind would be wasted. */
enum { LEADER_UNTIL = 3 };
/* A trial does not run again if the measured noise explains its distance from the leader with a smaller chance. */
#define FAR_BEHIND 0.02
/* Means further on the worse side than this many spreads say nothing about the others: those runs may have diverged. */
enum { USUAL_SPREADS = 3, ROUNDS = 5 };
/* FAR_OUTSIDE for logarithms: how many spreads. */
#define FAR_BY_LOGS 4.0
/* A probability is a mean over this many steps to each side, that many standard deviations; what is smaller counts as 0. */
enum { STEPS = 24, STEPS_SPAN = 4 };
#define NEARLY_NO 1e-9

int compare_numbers(const void *a, const void *b)
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
    return (PRIOR_FREEDOM * PRIOR_SHARE * spread * spread + noise->freedom * noise->std * noise->std) /
           (PRIOR_FREEDOM + noise->freedom);
}

/* What the noise most likely is: unlike the mean of variances, the mean of logarithms soon forgets a guess that is too large. */
static double likely_noise(const struct lineage_evidence *evidence, double spread)
{
    const struct lineage_noise *noise = &evidence->noise;
    const double guess = PRIOR_SHARE * spread * spread;
    if (isinf(noise->freedom) || !(noise->freedom > 0) || !(guess > 0))
        return noise_variance(evidence, spread);
    const double measured = fmax(noise->std * noise->std, 1e-4 * guess);
    return exp((PRIOR_FREEDOM * log(guess) + noise->freedom * log(measured)) / (PRIOR_FREEDOM + noise->freedom));
}

static bool is_better(const struct lineage_evidence *evidence, size_t a, size_t b)
{
    double x = evidence->trials[a].expected, y = evidence->trials[b].expected;
    return evidence->rule.higher ? x > y : x < y;
}

/* Whether more of its runs diverged than did not: it may be good, but is not an answer before another run says so. */
static bool is_unsettled(const struct lineage_evidence_trial *trial)
{
    return trial->stray || trial->left_out > trial->runs.n;
}

/* Whether it would be the answer, had it not diverged more often than not. */
static bool is_held_back(const struct lineage_evidence *evidence, size_t i)
{
    const struct lineage_evidence_trial *trial = &evidence->trials[i];
    return !trial->stray && is_unsettled(trial) && is_better(evidence, i, evidence->answer);
}

static bool comes_later(const struct lineage_evidence *evidence, size_t a, size_t b)
{
    const bool unsettled = is_unsettled(&evidence->trials[a]);
    if (unsettled != is_unsettled(&evidence->trials[b]))
        return unsettled; /* what is expected of it is not what it has shown */
    return is_better(evidence, b, a) || (!is_better(evidence, a, b) && a > b);
}

/* The best one without trial `without`; the earlier one of equal ones. */
static size_t best_of(const struct lineage_evidence *evidence, bool kept, size_t without)
{
    size_t best = evidence->n;
    for (size_t i = 0; i < evidence->n; i++)
        if (i != without && (!kept || evidence->trials[i].kept_id) && (best == evidence->n || comes_later(evidence, best, i)))
            best = i;
    return best;
}

/* The probability that trial i is worse than `at`, of which `doubt` is the standard deviation. NAN: nothing is known about them. */
static double worse_than(const struct lineage_evidence *evidence, size_t i, double at, double doubt)
{
    const struct lineage_evidence_trial *trial = &evidence->trials[i];
    const double error = OWN_ESTIMATE * hypot(trial->doubt, doubt),
                 gap = evidence->rule.higher ? at - trial->expected : trial->expected - at;
    if (!isfinite(error) || !isfinite(gap))
        return (double)NAN;
    return error > 0 ? 1 - normal_above(normal_of_t(gap / error, 1 + evidence->noise.freedom)) : gap > 0 ? 1 : gap < 0 ? 0 : 0.5;
}

/*
 * The probability that the answer is better than all others: the mean over what the answer may be. Trials that cannot be the answer before
 * they run again do not count. A rival that is known better than half a step counts as known as well as that, because the mean would jump.
 */
static double certainty(const struct lineage_evidence *evidence)
{
    const struct lineage_evidence_trial *answer = &evidence->trials[evidence->answer];
    const double step = answer->doubt * STEPS_SPAN / STEPS;
    double sure = 0, weights = 0;
    for (int k = -STEPS; k <= STEPS; k++) {
        const double z = STEPS_SPAN * (double)k / STEPS, weight = exp(-z * z / 2),
                     at = answer->expected + z * OWN_ESTIMATE * answer->doubt;
        double all = weight;
        for (size_t i = 0; i < evidence->n && !(all <= NEARLY_NO); i++)
            if (i != evidence->answer && (i == evidence->second || !is_unsettled(&evidence->trials[i])))
                all *= worse_than(evidence, i, at,
                                  sqrt(fmax(0, step * step / 4 - evidence->trials[i].doubt * evidence->trials[i].doubt)));
        sure += all;
        weights += weight;
    }
    return sure / weights;
}

/* What the means of the trials usually are, or their logarithms. */
struct usual {
    double middle, spread; /* see better_half */
    double worst; /* a fifth of the trials is worse */
};

/* Leaves out trial `without`, or none with n. logs: all is NAN if some mean is not positive. Returns false when out of memory. */
static bool find_usual(struct usual *usual, const struct lineage_evidence *evidence, size_t without, bool logs)
{
    const bool higher = evidence->rule.higher;
    size_t n = 0;
    bool good = true;
    double *means = calloc(evidence->n + 1, sizeof *means);
    *usual = (struct usual){(double)NAN, (double)NAN, (double)NAN};
    if (!means)
        return false;
    for (size_t i = 0; i < evidence->n && good; i++) {
        const double mean = evidence->trials[i].runs.mean;
        good = !logs || mean > 0;
        if (i != without)
            means[n++] = logs ? log(mean) : mean;
    }
    const size_t fifth = n ? (n - 1) * 4 / 5 : 0;
    if (good) {
        better_half(&usual->middle, &usual->spread, means, n, higher);
        usual->worst = n ? means[higher ? n - 1 - fifth : fifth] : 0;
    }
    free(means);
    return true;
}

/* Whether a mean is too far behind the usual ones to say something about them, and they about it. Settings may be closer together than their
 * runs. */
static bool is_apart(const struct lineage_evidence *evidence, size_t i, const struct usual *usual, double noise)
{
    const double mean = evidence->trials[i].runs.mean,
                 worse = evidence->rule.higher ? usual->middle - mean : mean - usual->middle;
    return worse > USUAL_SPREADS * fmax(usual->spread, sqrt(noise));
}

/*
 * The variance of the trials' true means, and their middle, from means of differing precision (DerSimonian and Laird 1986, Control.
 * Clin. Trials 7:177, iterated as by Paule and Mandel 1982). *middle and truth are the first guesses.
 */
static double find_truth(double *middle, double truth, const struct lineage_evidence *evidence, const struct usual *usual,
                         double noise)
{
    const double start = *middle;
    for (int round = 0; round < ROUNDS; round++) {
        double weights = 0, sum = 0, squares = 0, n = 0, errors = 0;
        for (size_t i = 0; i < evidence->n; i++) {
            const struct lineage_runs *runs = &evidence->trials[i].runs;
            const double from = runs->mean - start, error = noise / (double)runs->n, weight = 1 / (truth + error);
            if (is_apart(evidence, i, usual, noise))
                continue;
            n++;
            weights += weight;
            sum += weight * from;
            squares += weight * from * from;
            errors += weight * error;
        }
        if (n < 3 || !isfinite(weights))
            break;
        *middle = start + sum / weights;
        truth =
            fmax(((squares - sum * sum / weights) * n / (n - 1) - errors) / weights, LEAST_SHARE * usual->spread * usual->spread);
    }
    return truth;
}

/* Whether some trial has a run that diverged and others that did not, so that runs diverge by chance here. */
static bool diverges_by_chance(const struct lineage_evidence *evidence)
{
    bool chance = false;
    for (size_t i = 0; i < evidence->n; i++)
        chance = chance || evidence->trials[i].left_out > 0;
    return chance;
}

/* Where runs diverge by chance, several bad trials do not speak for each other. */
static bool is_outside(const struct usual *usual, double spreads, double value, bool higher, bool chance)
{
    const double far = spreads * usual->spread, limit = chance ? far : fmax(far, FAR_SHARE * fabs(usual->worst - usual->middle));
    return usual->spread > 0 && (higher ? usual->middle - value : value - usual->middle) > limit;
}

/*
 * Whether a trial ran once, with a score far outside of all others, the bad ones included: its run may have diverged by chance. Where others
 * have, a second run may have, too. Scores of many magnitudes are far outside only if their logarithms are.
 */
static bool is_stray(const struct lineage_evidence *evidence, size_t i, const struct usual *usual, const struct usual *logs,
                     bool chance)
{
    const struct lineage_evidence_trial *trial = &evidence->trials[i];
    const bool higher = evidence->rule.higher;
    return trial->runs.n + trial->failed == trial->again + 1 && trial->again <= chance &&
           is_outside(usual, FAR_OUTSIDE, trial->runs.mean, higher, chance) &&
           (isnan(logs->spread) || is_outside(logs, FAR_BY_LOGS, log(trial->runs.mean), higher, chance));
}

bool evidence_expect(struct lineage_evidence *evidence, const struct surface *surface)
{
    struct usual usual, logs = {.spread = (double)NAN};
    double inverse = 0;
    bool again = false, stray = false;
    for (size_t i = 0; i < evidence->n; i++) {
        inverse += 1 / (double)evidence->trials[i].runs.n;
        again = again || evidence->trials[i].runs.n > 1 || evidence->trials[i].again;
        stray = stray || evidence->trials[i].again <= 1; /* may be, see is_stray */
    }
    if (!find_usual(&usual, evidence, evidence->n, false) || (stray && !find_usual(&logs, evidence, evidence->n, true)))
        return false;
    const double spread = usual.spread, noise = noise_variance(evidence, spread), between = spread * spread;
    double middle = usual.middle,
           truth = fmax(between - noise * inverse / (double)(evidence->n ? evidence->n : 1), LEAST_SHARE * between);
    if (truth > 0)
        truth = find_truth(&middle, truth, evidence, &usual, noise);
    const bool chance = diverges_by_chance(evidence);
    for (size_t i = 0; i < evidence->n; i++) {
        struct lineage_evidence_trial *trial = &evidence->trials[i];
        trial->stray = is_stray(evidence, i, &usual, &logs, chance);
        const bool apart = !trial->stray && is_apart(evidence, i, &usual, noise);
        const double error = noise / (double)trial->runs.n, share = trial->stray          ? 0
                                                                    : truth > 0 && !apart ? truth / (truth + error)
                                                                                          : 1;
        trial->expected = share < 1 ? middle + share * (trial->runs.mean - middle) : trial->runs.mean;
        trial->doubt = sqrt(apart ? error : truth * (1 - share));
    }
    if (again && surface && surface->n_params && !surface_expect(evidence, surface, middle, FAR_OUTSIDE * spread, truth, noise))
        return false;
    evidence->best = best_of(evidence, true, evidence->n);
    evidence->answer = best_of(evidence, false, evidence->n);
    evidence->second = best_of(evidence, false, evidence->answer);
    const bool asked = again && evidence->second < evidence->n;
    evidence->over_second = evidence->sure = (double)NAN;
    if (asked) {
        const struct lineage_evidence_trial *answer = &evidence->trials[evidence->answer];
        evidence->over_second = worse_than(evidence, evidence->second, answer->expected, answer->doubt);
        evidence->sure = evidence->n > 2 ? certainty(evidence) : evidence->over_second;
        if (evidence->sure > evidence->over_second)
            evidence->sure = evidence->over_second; /* it is less exact */
    }
    return true;
}

/* Heap sort, because qsort has no argument for the evidence. Sifts item `at` down among the first n. */
static void sift(size_t *order, const struct lineage_evidence *evidence, size_t at, size_t n)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && comes_later(evidence, order[child + 1], order[child]);
        if (!comes_later(evidence, order[child], order[at]))
            return;
        size_t item = order[at];
        order[at] = order[child];
        order[child] = item;
    }
}

void lineage_evidence_order(size_t *order, const struct lineage_evidence *evidence)
{
    for (size_t i = 0; i < evidence->n; i++)
        order[i] = i;
    for (size_t i = evidence->n / 2; i-- > 0;)
        sift(order, evidence, i, evidence->n);
    for (size_t n = evidence->n; n-- > 1;) {
        size_t last = order[0];
        order[0] = order[n];
        order[n] = last;
        sift(order, evidence, 0, n);
    }
}

size_t lineage_evidence_held_back(const struct lineage_evidence *evidence)
{
    size_t found = evidence->n;
    for (size_t i = 0; i < evidence->n; i++)
        if (is_held_back(evidence, i) && (found == evidence->n || is_better(evidence, i, found)))
            found = i;
    return found;
}

bool evidence_best_is_stray(const struct lineage_evidence *evidence)
{
    struct usual usual, logs;
    const size_t best = evidence->best;
    if (best >= evidence->n || !find_usual(&usual, evidence, best, false) || !find_usual(&logs, evidence, best, true))
        return false;
    usual.worst = usual.middle;
    logs.worst = logs.middle;
    return is_stray(evidence, best, &usual, &logs, diverges_by_chance(evidence));
}

/* Whether the measured noise hardly explains the distance from the leader: it exceeds `far` standard errors. */
static bool is_far_behind(const struct lineage_evidence *evidence, size_t i, double far)
{
    const struct lineage_runs *runs = &evidence->trials[i].runs, *best = &evidence->trials[evidence->answer].runs;
    const struct lineage_noise *noise = &evidence->noise;
    const double error = noise->std * sqrt(1 / (double)best->n + 1 / (double)runs->n);
    return !evidence->trials[i].stray && noise->freedom >= 2 && fabs(best->mean - runs->mean) > error * far;
}

/* How much one more run of trial i is expected to improve the answer. */
static double improvement(const struct lineage_evidence *evidence, size_t i, double noise, double far)
{
    const struct lineage_evidence_trial *trial = &evidence->trials[i];
    size_t rival = i == evidence->answer ? evidence->second : evidence->answer;
    double variance = trial->doubt * trial->doubt, step = variance / sqrt(variance + noise);
    double z = step > 0 ? fabs(evidence->trials[rival].expected - trial->expected) / step : INFINITY;
    return isinf(z) || is_far_behind(evidence, i, far)
               ? 0
               : step * (exp(-z * z / 2) / sqrt(2 * 3.14159265358979323846) - z * normal_above(z));
}

/* The answer is certain, but whether it is better than the kept trials is another claim, for which both run again. The kept one does
 * so only if the other has more runs already: where the gain is large, it need not. */
static size_t next_of_claim(const struct lineage_evidence *evidence, const bool *skip, double far)
{
    const size_t answer = evidence->answer, best = evidence->best;
    if (lineage_evidence_is_ready(evidence, answer) && !skip[answer])
        return answer; /* one more run brings its row */
    if (answer != best && evidence_best_is_stray(evidence) && !skip[best])
        return best;
    if (best == evidence->n || answer == best || evidence->trials[answer].judgement.state != LINEAGE_EVIDENCE_OPEN)
        return SIZE_MAX;
    size_t next = evidence->trials[answer].runs.n > CLAIM_RUNS * evidence->best_runs.n && !is_far_behind(evidence, best, far)
                      ? best
                      : answer;
    return skip[next] ? SIZE_MAX : next;
}

static bool leads_by_far(const struct lineage_evidence *evidence, const bool *skip, double far)
{
    bool leads = true;
    for (size_t i = 0; i < evidence->n; i++)
        leads = leads && (i == evidence->answer || (evidence->trials[i].stray && skip[i]) || is_far_behind(evidence, i, far));
    return leads;
}

size_t lineage_evidence_next(const struct lineage_evidence *evidence, const bool *skip)
{
    struct usual usual;
    double most = 0;
    if (evidence->n < 2 || !find_usual(&usual, evidence, evidence->n, false))
        return SIZE_MAX;
    const double far = evidence->noise.freedom > 0 ? quantile_t(FAR_BEHIND, evidence->noise.freedom) : INFINITY;
    if (leads_by_far(evidence, skip, far) || (evidence->noise.freedom >= SURE_FROM && evidence->sure >= SURE_ENOUGH &&
                                              lineage_evidence_held_back(evidence) == evidence->n))
        return next_of_claim(evidence, skip, far);
    const double lead = fabs(evidence->trials[evidence->answer].expected - evidence->trials[evidence->second].expected);
    if (evidence->noise.freedom < LEADER_UNTIL && !skip[evidence->answer] && !(lead <= sqrt(PRIOR_SHARE) * usual.spread))
        return evidence->answer;
    size_t next = SIZE_MAX;
    for (size_t i = 0; i < evidence->n; i++)
        if (!skip[i] && is_held_back(evidence, i))
            return i;
    const double noise = likely_noise(evidence, usual.spread);
    for (size_t i = 0; i < evidence->n; i++)
        most = skip[i] ? most : fmax(most, improvement(evidence, i, noise, far));
    for (size_t i = 0; next == SIZE_MAX && most > 0 && i < evidence->n; i++)
        if (!skip[i] && improvement(evidence, i, noise, far) >= most)
            next = i;
    return next == SIZE_MAX ? next_of_claim(evidence, skip, far) : next;
}
