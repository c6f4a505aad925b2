/*
 * rlcore/adca.h: ADCA-GRPO: advantages from step flags that a judge gave, GOOD or BAD, beside the
 * outcome.
 *
 *     rl_adca_schedule_at     whether the attribution applies at a training step, with which alpha
 *     rl_adca_skip_rows       which rows are not worth the judge
 *     rl_adca_step_starts     steps of each row, from the step id of each token
 *     rl_adca_advantage       flags and outcomes -> step rewards -> step and token advantages
 *     rl_adca_suffix_sums, rl_adca_spread   the last two stages alone
 *
 * Step values are flat, row after row: row i has start[i+1] - start[i] steps. The outcome O of a
 * row is the sum of its rewards over all positions; O > 0.5 is success. Arrays over tokens are
 * double, or float in the twins with the suffix f. Outcomes and steps are double in both: an
 * outcome's rounding error in float can exceed eps, and every member of a group of equal rewards
 * then gets +-1.
 *
 * Source: AgentEvolver, adv_processor/adca_grpo.py. Errors: as in rlcore/status.h.
 */
#ifndef RLCORE_ADCA_H
#define RLCORE_ADCA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rl_adca_scheme {
    RL_ADCA_DECOUPLE,  /* raw reward of a step: +fix_base for GOOD, -fix_base for BAD */
    RL_ADCA_ALLOCATION /* weights w of both flags share +1 (success) or -1: success has
                         consistent_scale for GOOD, pos_unconsistent_scale for BAD; failure has
                         neg_unconsistent_scale for GOOD, consistent_scale for BAD;
                         reward = sign w / sum of w, 0 if that sum is <= eps */
};

/* Where the outcome goes, and what is combined with it; z is the normalised step reward. */
enum rl_adca_outcome {
    RL_ADCA_LAST_STEP, /* alpha z, plus the outcome at the last step */
    RL_ADCA_ALL_STEPS, /* alpha z plus the outcome at every step */
    RL_ADCA_ONLY       /* z alone; decouple only */
};

struct rl_adca_options {
    enum rl_adca_scheme scheme;    /* decouple */
    enum rl_adca_outcome outcome;  /* last_step */
    double consistent_scale;       /* 1 */
    double pos_unconsistent_scale; /* 0.2 */
    double neg_unconsistent_scale; /* 0.2 */
    double eps;                    /* 1e-8; >= 0 */
    bool do_batch_norm;            /* true: z-score of step rewards within the prompt group */
    bool equal_trajectory_weight;  /* true: every row weighs alike in it; false: every step does */
    double fix_base;               /* 0.2 */
    double alpha;                  /* 1 */
    bool length_normalisation; /* false; true: combined rewards times 1/sqrt(K); decouple only */
    double outcome_weight;     /* 1; beta: the normalised outcome is multiplied by it */
};

RL_API void rl_adca_options_init(struct rl_adca_options *options);

/*
 * start [n_rows+1]: K = largest id + 1 of each row, 0 without steps. step_id [n_rows*n_tokens], -1
 * outside.
 */
RL_API RL_NODISCARD enum rl_status rl_adca_step_starts(size_t n_rows, size_t n_tokens,
                                                       const int32_t *step_id, size_t *start,
                                                       struct rl_error *err);

/* The same of a batch of any layout (struct rl_layout), whose turns are the steps; no mask needed. */
RL_API RL_NODISCARD enum rl_status rl_adca_batch_starts(const struct rl_batch *batch, size_t *start,
                                                        struct rl_error *err);

/*
 * A row whose first flag is this was not judged: its steps have no reward of their own and take no
 * part in the normalisation of the others, so that its outcome alone is left. In the metrics below
 * it counts as a row without steps.
 */
#define RL_ADCA_UNJUDGED 255

struct rl_adca_input {
    size_t n_rows, n_tokens;
    const int64_t *group;   /* [B] prompt group labels */
    const int32_t *step_id; /* [B*T] */
    const size_t *start;    /* [B+1] from rl_adca_step_starts */
    const uint8_t *flags;   /* flat: 1 GOOD, 0 BAD; surplus ones are cut, missing ones filled: GOOD,
                               or with allocation GOOD for success and BAD else */
    const size_t *flag_start; /* [B+1] where the flags of each row begin */
};

/* Means over rows with steps unless said otherwise; 0 over nothing. */
struct rl_adca_metrics {
    double outcome_share_last_mean;     /* |o| / (|o| + sum |alpha z|), o with its weight */
    double alpha_effective;             /* sum |alpha z| / h, h = |o| with last_step, else K |o| */
    double sum_step_reward_sign_agree;  /* rows whose combined sum is > 0 exactly if a success */
    double pos_traj_good_majority_rate; /* successes with more GOOD than BAD */
    double neg_traj_bad_majority_rate;  /* failures with no more GOOD than BAD */
    double attr_mean, attr_std;         /* z of all steps; biased */
    double out_mean, out_std;           /* normalised outcomes; biased */
    /* Allocation only from here. */
    double consistent_weight_share_pos; /* share of the consistent flag's weight */
    double consistent_weight_share_neg;
    double unit_weight_mean, unit_weight_p95;               /* 1 / sum of weights */
    double degenerate_total_w_count;                        /* rows with sum of weights <= eps */
    double r_norm_group_mean_abs_p95, r_norm_group_std_p95; /* of the z of each group */
    double zscore_bad_group_cnt;    /* groups with |mean| > 0.05 or std outside [0.8, 1.2] */
    double good_bad_rnorm_gap_pos;  /* rows of both flags, O > 0: mean z(GOOD) - z(BAD) */
    double good_bad_rnorm_gap_neg;  /* O <= 0: the other way round */
    double rnorm_small_mag_ratio;   /* share of |z| < 0.05 */
    double pre_norm_sum_sign_agree; /* rows whose raw sum has the sign of the outcome */
    double post_norm_sum_mean;      /* sum of z */
};

struct rl_adca_output {
    double *outcomes;                /* [B] O; or NULL */
    double *step_rewards;            /* [start[B]] combined */
    double *step_advantages;         /* [start[B]] undiscounted suffix sums */
    struct rl_adca_metrics *metrics; /* or NULL */
};

/*
 * The whole of it: token-level rewards [B*T] -> advantages [B*T], the value of the token's step, 0
 * at id -1.
 *
 * Group z-score of step rewards, rows without steps left out: z = (r - mean) / (s + 1e-12). Equal
 * weight: mean of row means, s = sqrt(mean over rows of mean squared distance + eps). Flattened:
 * mean and biased std of all steps, s at least eps. Outcomes are normalised over all rows of the
 * group with biased s: (O - mean) / (s + 1e-12), or O - mean if s <= eps.
 */
RL_API RL_NODISCARD enum rl_status rl_adca_advantage(const struct rl_adca_input *in,
                                                     const struct rl_adca_options *options,
                                                     const double *rewards, double *advantages,
                                                     const struct rl_adca_output *out,
                                                     struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status
rl_adca_advantagef(const struct rl_adca_input *in, const struct rl_adca_options *options,
                   const float *rewards, float *advantages, const struct rl_adca_output *out,
                   struct rl_workspace *ws, struct rl_error *err);

/*
 * The same for a batch of any layout: n_rows, n_tokens, group and step_id of the input are not read,
 * batch's rows, groups and turns stand for them; no mask needed. bf16: rewards.
 */
RL_API RL_NODISCARD enum rl_status
rl_adca_batch_advantage(const struct rl_batch *batch, const struct rl_adca_input *in,
                        const struct rl_adca_options *options, const double *rewards,
                        double *advantages, const struct rl_adca_output *out,
                        struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status
rl_adca_batch_advantagef(const struct rl_batch *batch, const struct rl_adca_input *in,
                         const struct rl_adca_options *options, const float *rewards,
                         float *advantages, const struct rl_adca_output *out,
                         struct rl_workspace *ws, struct rl_error *err);

/* sums [start[n_rows]]: suffix sums of step values within each row; may be values. */
RL_API RL_NODISCARD enum rl_status rl_adca_suffix_sums(size_t n_rows, const size_t *start,
                                                       const double *values, double *sums,
                                                       struct rl_error *err);

/* out [n_rows*n_tokens]: the value of each token's step; 0 at id -1 and in rows without values. */
RL_API RL_NODISCARD enum rl_status rl_adca_spread(size_t n_rows, size_t n_tokens,
                                                  const int32_t *step_id, const size_t *start,
                                                  const double *values, double *out,
                                                  struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_adca_spreadf(size_t n_rows, size_t n_tokens,
                                                   const int32_t *step_id, const size_t *start,
                                                   const double *values, float *out,
                                                   struct rl_error *err);

/* The same for a batch of any layout, whose turns are the steps; no mask needed. */
RL_API RL_NODISCARD enum rl_status rl_adca_batch_spread(const struct rl_batch *batch,
                                                        const size_t *start, const double *values,
                                                        double *out, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_adca_batch_spreadf(const struct rl_batch *batch,
                                                         const size_t *start, const double *values,
                                                         float *out, struct rl_error *err);

/* When the attribution applies. */
struct rl_adca_schedule {
    bool enable;
    int64_t global_step, prm_steps; /* applies while global_step < prm_steps */
    double alpha;
    bool cosine_decay; /* alpha_min + (alpha - alpha_min)/2 (1 + cos(pi p)) */
    double alpha_min;
    double progress; /* p, limited to [0, 1]; NaN: global_step / total_steps, 0 without these */
    int64_t total_steps;
};

/* *applied, and if so *alpha for rl_adca_options. */
RL_API RL_NODISCARD enum rl_status rl_adca_schedule_at(const struct rl_adca_schedule *schedule,
                                                       bool *applied, double *alpha,
                                                       struct rl_error *err);

/*
 * Shares of flags in rows with O > 0 (pos) and in the others (neg), 0 over none; their numbers.
 * RL_ADCA_UNJUDGED is no flag.
 */
struct rl_adca_flag_rates {
    double pos_bad, pos_good, neg_good, neg_bad;
    double good_total, bad_total;
};
RL_API RL_NODISCARD enum rl_status rl_adca_count_flags(size_t n_rows, const double *outcomes,
                                                       const uint8_t *flags,
                                                       const size_t *flag_start,
                                                       struct rl_adca_flag_rates *rates,
                                                       struct rl_error *err);

/* Which rows are not sent to the judge. */
enum rl_adca_skip {
    RL_ADCA_SKIP_NONE,
    RL_ADCA_SKIP_SMALL_ADV, /* |overall advantage| < 1e-8 */
    RL_ADCA_SKIP_ALL_NEG    /* outcome <= 0 */
};

/*
 * skipped [B]. flag [B]: what all steps of a skipped row get by the reference, GOOD (1) if its
 * outcome is above 0.5, else BAD; RL_ADCA_UNJUDGED instead leaves its outcome alone. overall [B],
 * for SMALL_ADV only: the advantage of the first response token of each row, 0 without any.
 */
RL_API RL_NODISCARD enum rl_status rl_adca_skip_rows(enum rl_adca_skip kind, size_t n_rows,
                                                     const double *overall, const double *outcomes,
                                                     bool *skipped, uint8_t *flag,
                                                     struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
