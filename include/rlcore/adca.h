/*
 * rlcore/adca.h: ADCA-GRPO: advantages from the flags GOOD and BAD that a judge gave to the steps
 * of a rollout, combined with the outcome.
 *
 *     rl_adca_schedule_at     does the attribution apply at a training step, and with which alpha?
 *     rl_adca_skip_rows       which rows need not be sent to the judge?
 *     rl_adca_step_starts     the steps of each row, from the step id of each token
 *     rl_adca_advantage       flags and outcomes -> step rewards -> step and token advantages
 *     rl_adca_suffix_sums, rl_adca_spread   only the last two stages
 *
 * Step values are flat, row after row: row i has start[i+1] - start[i] steps. The outcome O of a
 * row is the sum of its rewards over all positions; O > 0.5 is a success. Arrays over tokens are
 * double, or float in the twins with suffix f. Outcomes and steps are double in both, because the
 * rounding error of a float outcome can exceed eps, and then every member of a group of equal
 * rewards would get +-1.
 *
 * Source: AgentEvolver, adv_processor/adca_grpo.py. Errors: see rlcore/status.h.
 */
#ifndef RLCORE_ADCA_H
#define RLCORE_ADCA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

enum rl_adca_scheme {
    RL_ADCA_DECOUPLE,  /* raw reward of a step: +fix_base if GOOD, -fix_base if BAD */
    RL_ADCA_ALLOCATION /* weights w of both flags share +1 (success) or -1 (failure). Success:
                          consistent_scale for GOOD, pos_unconsistent_scale for BAD. Failure:
                          neg_unconsistent_scale for GOOD, consistent_scale for BAD. Reward = sign w
                          / sum of w, or 0 if that sum is <= eps */
};

/* How the outcome is combined with z, the normalised step reward. */
enum rl_adca_outcome {
    RL_ADCA_LAST_STEP, /* alpha z, plus the outcome at the last step only */
    RL_ADCA_ALL_STEPS, /* alpha z, plus the outcome at every step */
    RL_ADCA_ONLY       /* z without the outcome; decouple only */
};

struct rl_adca_options {
    enum rl_adca_scheme scheme;    /* decouple */
    enum rl_adca_outcome outcome;  /* last_step */
    double consistent_scale;       /* 1 */
    double pos_unconsistent_scale; /* 0.2 */
    double neg_unconsistent_scale; /* 0.2 */
    double eps;                    /* 1e-8; >= 0 */
    bool do_batch_norm;            /* true: step rewards become z-scores within the prompt group */
    bool equal_trajectory_weight;  /* true: every row has the same weight in the z-score; false:
                                      every step has */
    double fix_base;               /* 0.2 */
    double alpha;                  /* 1 */
    bool length_normalisation;     /* false; true: combined rewards are multiplied by 1/sqrt(K);
                                  decouple only */
    double outcome_weight;         /* 1; factor of the normalised outcome (beta) */
};

RL_API void rl_adca_options_init(struct rl_adca_options *options);

/*
 * Sets start [n_rows+1] so that row i has K = largest step id + 1 steps, or 0 if no token has a
 * step. step_id [n_rows*n_tokens] is -1 outside steps.
 */
RL_API RL_NODISCARD enum rl_status rl_adca_step_starts(size_t n_rows, size_t n_tokens, const int32_t *step_id, size_t *start,
                                                       struct rl_error *err);

/*
 * rl_adca_step_starts for a batch of any layout (struct rl_layout), whose turns are the steps. It
 * needs no mask.
 */
RL_API RL_NODISCARD enum rl_status rl_adca_batch_starts(const struct rl_batch *batch, size_t *start, struct rl_error *err);

/*
 * Value of the first flag of a row that was not judged. The steps of such a row have no reward of
 * their own and do not take part in the normalisation, so only the outcome of the row is left. In
 * the metrics below the row counts as one without steps.
 */
#define RL_ADCA_UNJUDGED 255

struct rl_adca_input {
    size_t n_rows, n_tokens;
    const int64_t *group;   /* [B] prompt group labels */
    const int32_t *step_id; /* [B*T] */
    const size_t *start;    /* [B+1] from rl_adca_step_starts */
    const uint8_t *flags;   /* flat: 1 GOOD, 0 BAD. Surplus flags are ignored. Missing ones are
                               filled with GOOD, or with allocation GOOD for a success and BAD for a
                               failure */
    const size_t *flag_start; /* [B+1] where the flags of each row begin */
};

/*
 * Each metric is a mean over the rows that have steps, unless its comment says otherwise. It is 0
 * if no row has steps.
 */
struct rl_adca_metrics {
    double outcome_share_last_mean;     /* |o| / (|o| + sum |alpha z|), o with its weight */
    double alpha_effective;             /* sum |alpha z| / h, h = |o| with last_step, else K |o| */
    double sum_step_reward_sign_agree;  /* rows whose combined rewards add up to > 0 for a success,
                                           to <= 0 for a failure */
    double pos_traj_good_majority_rate; /* successes with more GOOD than BAD */
    double neg_traj_bad_majority_rate;  /* failures with at most as many GOOD as BAD */
    double attr_mean, attr_std;         /* mean and biased std of z over all steps */
    double out_mean, out_std;           /* mean and biased std of the normalised outcomes */
    /* The members below are set by the allocation scheme only. */
    double consistent_weight_share_pos; /* share of the consistent flag's weight */
    double consistent_weight_share_neg;
    double unit_weight_mean, unit_weight_p95;               /* 1 / sum of weights */
    double degenerate_total_w_count;                        /* rows with sum of weights <= eps */
    double r_norm_group_mean_abs_p95, r_norm_group_std_p95; /* 95th percentiles over the groups, of
                                                               |mean| and of std of z */
    double zscore_bad_group_cnt;    /* groups with |mean| > 0.05 or std outside [0.8, 1.2] */
    double good_bad_rnorm_gap_pos;  /* rows with both flags, O > 0: mean of z(GOOD) - z(BAD) */
    double good_bad_rnorm_gap_neg;  /* rows with both flags, O <= 0: mean of z(BAD) - z(GOOD) */
    double rnorm_small_mag_ratio;   /* share of |z| < 0.05 */
    double pre_norm_sum_sign_agree; /* rows whose raw sum has the sign of the outcome */
    double post_norm_sum_mean;      /* sum of z */
    /*
     * alpha_effective over the rows whose outcome has any size (both schemes), and the number of these rows. Where all
     * outcomes of a group are equal, their normalised values are 0, and the reference's mean above divides by 1e-12.
     */
    double alpha_effective_where_defined;
    uint64_t n_alpha_effective;
};

struct rl_adca_output {
    double *outcomes;                /* [B] outcomes O; or NULL */
    double *step_rewards;            /* [start[B]] combined step rewards */
    double *step_advantages;         /* [start[B]] undiscounted suffix sums */
    struct rl_adca_metrics *metrics; /* or NULL */
};

/*
 * Computes advantages [B*T] from token-level rewards [B*T]. Each token gets the advantage of its
 * step, or 0 if its step id is -1.
 *
 * Step rewards become z-scores within the prompt group, without the rows that have no steps: z = (r
 * - mean) / (s + 1e-12). With equal_trajectory_weight the mean is that of the row means, and s =
 * sqrt(mean over rows of the mean squared distance + eps). Otherwise mean and biased std are taken
 * over all steps, with s at least eps. Outcomes are normalised over all rows of the group with
 * biased s: (O - mean) / (s + 1e-12), or O - mean if s <= eps.
 */
RL_API RL_NODISCARD enum rl_status rl_adca_advantage(const struct rl_adca_input *in, const struct rl_adca_options *options,
                                                     const double *rewards, double *advantages, const struct rl_adca_output *out,
                                                     struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_adca_advantagef(const struct rl_adca_input *in, const struct rl_adca_options *options,
                                                      const float *rewards, float *advantages, const struct rl_adca_output *out,
                                                      struct rl_workspace *ws, struct rl_error *err);

/*
 * rl_adca_advantage for a batch of any layout. The rows, groups and turns of the batch replace
 * n_rows, n_tokens, group and step_id of the input, which are not read. It needs no mask. bf16:
 * rewards.
 */
RL_API RL_NODISCARD enum rl_status rl_adca_batch_advantage(const struct rl_batch *batch, const struct rl_adca_input *in,
                                                           const struct rl_adca_options *options, const double *rewards,
                                                           double *advantages, const struct rl_adca_output *out,
                                                           struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_adca_batch_advantagef(const struct rl_batch *batch, const struct rl_adca_input *in,
                                                            const struct rl_adca_options *options, const float *rewards,
                                                            float *advantages, const struct rl_adca_output *out,
                                                            struct rl_workspace *ws, struct rl_error *err);

/*
 * sums [start[n_rows]] receives the suffix sums of the step values within each row; may be the same
 * array as values.
 */
RL_API RL_NODISCARD enum rl_status rl_adca_suffix_sums(size_t n_rows, const size_t *start, const double *values, double *sums,
                                                       struct rl_error *err);

/*
 * out [n_rows*n_tokens] receives the value of each token's step; 0 at id -1 and in rows without
 * values.
 */
RL_API RL_NODISCARD enum rl_status rl_adca_spread(size_t n_rows, size_t n_tokens, const int32_t *step_id, const size_t *start,
                                                  const double *values, double *out, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_adca_spreadf(size_t n_rows, size_t n_tokens, const int32_t *step_id, const size_t *start,
                                                   const double *values, float *out, struct rl_error *err);

/* rl_adca_spread for a batch of any layout, whose turns are the steps. It needs no mask. */
RL_API RL_NODISCARD enum rl_status rl_adca_batch_spread(const struct rl_batch *batch, const size_t *start, const double *values,
                                                        double *out, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_adca_batch_spreadf(const struct rl_batch *batch, const size_t *start, const double *values,
                                                         float *out, struct rl_error *err);

/* When the attribution applies. */
struct rl_adca_schedule {
    bool enable;
    int64_t global_step, prm_steps; /* applies while global_step < prm_steps */
    double alpha;
    bool cosine_decay; /* alpha_min + (alpha - alpha_min)/2 (1 + cos(pi p)) */
    double alpha_min;
    double progress; /* p, limited to [0, 1]; NaN: global_step / total_steps, or 0 if total_steps is
                        0 */
    int64_t total_steps;
};

/* Sets *applied, and *alpha for rl_adca_options. */
RL_API RL_NODISCARD enum rl_status rl_adca_schedule_at(const struct rl_adca_schedule *schedule, bool *applied, double *alpha,
                                                       struct rl_error *err);

/*
 * The share of each flag in rows with O > 0 (pos) and in the other rows (neg), or 0 if they have no
 * flags; and the total number of each flag. RL_ADCA_UNJUDGED is not counted.
 */
struct rl_adca_flag_rates {
    double pos_bad, pos_good, neg_good, neg_bad;
    double good_total, bad_total;
};
RL_API RL_NODISCARD enum rl_status rl_adca_count_flags(size_t n_rows, const double *outcomes, const uint8_t *flags,
                                                       const size_t *flag_start, struct rl_adca_flag_rates *rates,
                                                       struct rl_error *err);

/* Which rows need not be sent to the judge. */
enum rl_adca_skip {
    RL_ADCA_SKIP_NONE,
    RL_ADCA_SKIP_SMALL_ADV, /* |overall advantage| < 1e-8 */
    RL_ADCA_SKIP_ALL_NEG    /* outcome <= 0 */
};

/*
 * Sets skipped [B] and flag [B]. flag is what the reference gives to all steps of a skipped row:
 * GOOD (1) if its outcome is above 0.5, else BAD. If the caller stores RL_ADCA_UNJUDGED instead,
 * only the outcome of the row counts. overall [B] holds the advantage of the first response token
 * of each row, or 0 for an empty row. It is read for SMALL_ADV only.
 */
RL_API RL_NODISCARD enum rl_status rl_adca_skip_rows(enum rl_adca_skip kind, size_t n_rows, const double *overall,
                                                     const double *outcomes, bool *skipped, uint8_t *flag, struct rl_error *err);

#endif
