/*
 * lineage/hypothesis.h: whether what a trial predicted came true.
 *
 * A trial predicts by its expected_delta, and the log has the difference to the best trial of its time (delta_vs_best). The
 * difference of two scores is uncertain by the noise between seeds, so the verdict is made from its 95 % interval:
 *
 *   supported      the whole interval lies on the expected side of 0
 *   refuted        the interval lies short of the expectation, and not wholly on its side of 0: an improvement as large as
 *                  predicted is excluded, and an improvement at all is not shown
 *   inconclusive   everything else: the trial is compatible with the prediction and with no effect, or the noise is unknown
 *
 * A prediction of 0 ("costs nothing") is refuted if the interval excludes 0, and otherwise inconclusive. The verdict of a
 * row changes when the noise of the store does; nothing is stored.
 */
#ifndef LINEAGE_HYPOTHESIS_H
#define LINEAGE_HYPOTHESIS_H

#include <lineage/store.h>

enum lineage_verdict {
    LINEAGE_VERDICT_NONE, /* nothing was predicted, or the trial was not compared (neither keep nor discard, no score) */
    LINEAGE_SUPPORTED,
    LINEAGE_REFUTED,
    LINEAGE_INCONCLUSIVE,
    LINEAGE_N_VERDICTS
};

/* "supported", "refuted", "inconclusive"; "" for LINEAGE_VERDICT_NONE; NULL if out of range. */
LINEAGE_API const char *lineage_verdict_name(enum lineage_verdict verdict);

struct lineage_hypothesis {
    enum lineage_verdict verdict;
    double expected; /* the leading number of expected_delta */
    double happened; /* delta_vs_best */
    double margin;   /* half of the 95 % interval of `happened`; 0: unknown */
    bool covered;    /* the interval contains the expectation; false if the margin is unknown */
};

/* Half of the 95 % interval of the difference of two scores: t * noise_std * sqrt(2 / noise_seeds), where t is Student's
 * quantile for the degrees of freedom of the noise; 1.96 if the owner has set it. 0 if the store has no noise floor. */
LINEAGE_API double lineage_hypothesis_margin(const struct lineage_config *config);

/* Judges two numbers. nan and infinities give LINEAGE_VERDICT_NONE. */
LINEAGE_API struct lineage_hypothesis lineage_hypothesis_judge(double expected, double happened, double margin);

/* Judges the prediction of a trial that was kept or discarded and has a delta_vs_best. */
LINEAGE_API struct lineage_hypothesis lineage_hypothesis_of(const struct lineage_trial *trial, double margin);

#define LINEAGE_HYPOTHESIS_TEXT_MAX 160

/* Writes "supported: expected -0.01, happened -0.02 ± 0.005", or without the margin if it is unknown, and returns out; ""
 * for LINEAGE_VERDICT_NONE. */
LINEAGE_API const char *lineage_hypothesis_text(char out[LINEAGE_HYPOTHESIS_TEXT_MAX],
                                                const struct lineage_hypothesis *hypothesis);

#endif
