/* run_totals.h: clocks of a run, and sums over its iterations, which the last event reports as means. */
#pragma once

#include <trainer/train.h>

/* Seconds; `began` is a time of clock_now(). train_s is 0 until training has ended. */
struct run_clock {
    double began, train_s, eval_s;
};

struct run_totals {
    double score_sum; /* sum over the evaluations during training */
    int32_t n_scores;
    double scale_mean_sum, scale_std_sum, entropy_sum, clip_fraction_sum; /* of all iterations */
    double alpha_sum; /* sum over the iterations with an adaptive alpha */
    int32_t n_alpha;  /* number of these iterations */
    struct trainer_judge_counts judged;
    /*
     * The `late` members cover the last tenth of the iterations, because the first iterations describe the warm start.
     * late[].mean is a sum of means and late[].std a sum of variances, both weighted by the count.
     */
    struct trainer_turn_gain late[TRAINER_TURNS_MAX];
    int32_t n_late; /* largest number of turns with a gain */
    struct trainer_values late_values;
    int32_t n_late_values; /* number of iterations in late_values */
};

/* Adds iteration `iteration` (0-based) of n_iterations. */
void run_totals_add(struct run_totals *totals, int32_t iteration, int32_t n_iterations, const struct trainer_iteration *metrics);

/* Fills the means of TRAINER_EVENT_DONE, but not the final score. */
void run_totals_report(const struct run_totals *totals, int32_t n_iterations, struct trainer_event *event);
