/* odds.c: the evidence of a trial that ran several times (lineage/evidence.h). */
#include <lineage/evidence.h>

#include <math.h>

#include "odds.h"
#include "quantiles.h"

/* Gains that the odds are a mixture over, in standard deviations. Most weight is on the smallest: large gains need few
 * runs in any case. */
static const struct {
    double gain, weight;
} mixture[] = {{1, 0.8}, {2, 0.1}, {4, 0.1}};

const char *lineage_evidence_state_name(enum lineage_evidence_state state)
{
    static const char *const names[] = {[LINEAGE_EVIDENCE_OPEN] = "open",
                                        [LINEAGE_EVIDENCE_CONFIRMED] = "confirmed",
                                        [LINEAGE_EVIDENCE_REFUTED] = "refuted",
                                        [LINEAGE_EVIDENCE_EXHAUSTED] = "exhausted"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : NULL;
}

/* It keeps the sign and grows with the logarithm of t where df is small, so an estimate from few runs can hardly confirm
 * anything. */
double normal_of_t(double t, double df)
{
    if (isinf(df))
        return t;
    return copysign(sqrt(df * log1p(t * t / df)) * (8 * df + 1) / (8 * df + 3), t);
}

/* Without a race only a trial that one score suggests to be better costs more runs. */
enum { CANDIDATE_ERRORS = 2 };

/* Scores that never differ between seeds need no statistics, but a few equal ones may be chance where scores are coarse. */
enum { SAME_FROM = 3 };

/* Fills in what depends on the size of the noise. */
static void weigh(struct lineage_judgement *j, const struct lineage_evidence_rule *rule, const struct lineage_noise *noise,
                  double information)
{
    double s = normal_of_t((j->gain - rule->min_delta) * sqrt(information) / noise->std, noise->freedom) * sqrt(information);
    j->error = noise->std / sqrt(information);
    j->candidate = j->gain - rule->min_delta > CANDIDATE_ERRORS * j->error;
    j->near = j->gain - rule->min_delta > j->error;
    j->one_std = exp(s - information / 2);
    j->odds = 0;
    for (size_t i = 0; i < sizeof mixture / sizeof *mixture; i++)
        j->odds += mixture[i].weight * exp(mixture[i].gain * s - mixture[i].gain * mixture[i].gain * information / 2);
}

void lineage_judge(struct lineage_judgement *judgement, const struct lineage_evidence_rule *rule,
                   const struct lineage_noise *noise, const struct lineage_runs *trial, const struct lineage_runs *best)
{
    const double n = (double)trial->n, m = (double)best->n;
    const double needed = (double)(rule->trials ? rule->trials : LINEAGE_NIGHT_TRIALS) / LINEAGE_FALSE_KEEPS;
    const double gain = rule->higher ? trial->mean - best->mean : best->mean - trial->mean;
    const bool better = gain > 0 && gain > rule->min_delta, exact = noise->std == 0 && noise->freedom >= SAME_FROM;
    *judgement = (struct lineage_judgement){.gain = gain,
                                            .error = exact ? 0 : (double)NAN,
                                            .odds = exact && better ? needed : 1,
                                            .one_std = better ? 1 : 0,
                                            .candidate = better,
                                            .near = better};
    if (noise->std > 0 && noise->freedom > 0)
        weigh(judgement, rule, noise, n * m / (n + m));
    if (trial->n >= 2 && better && judgement->odds >= needed)
        judgement->state = LINEAGE_EVIDENCE_CONFIRMED;
    else if (judgement->one_std <= LINEAGE_MISSED_EFFECTS)
        judgement->state = LINEAGE_EVIDENCE_REFUTED;
    else if (trial->n >= (rule->runs_max ? rule->runs_max : LINEAGE_RUNS_MAX))
        judgement->state = LINEAGE_EVIDENCE_EXHAUSTED;
}

void lineage_judgement_interval(double *low, double *high, const struct lineage_judgement *judgement,
                                const struct lineage_noise *noise)
{
    *low = *high = (double)NAN;
    if (!(noise->freedom > 0) || isnan(judgement->error))
        return;
    double half = quantile_t(0.025, noise->freedom) * judgement->error;
    *low = judgement->gain - half;
    *high = judgement->gain + half;
}
