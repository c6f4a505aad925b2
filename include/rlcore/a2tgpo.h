/*
 * rlcore/a2tgpo.h: A2TGPO (arXiv 2605.06200): credit for each turn of an agent from its information
 * gain, and the turn-level policy loss.
 *
 * A response is a sequence of turns. The last turn of a row is the outcome turn; its value is the
 * outcome reward. Every earlier turn k is an information-gain (IG) turn; its value tells how much
 * closer the turn brought the policy to the true answer. A row with one turn has no IG turn, and an
 * empty row has no turn at all.
 *
 * There are two ways to use this header:
 *     rl_a2tgpo_advantage   takes token rewards and returns token advantages and clip scales, which
 *                           rl_a2tgpo_turn_loss reads
 *     the parts, on turn values (double, flat, row after row, one per turn; struct rl_turns says where
 *     rows begin):
 *         rl_information_gain -> rl_turn_starts -> rl_turn_rewards -> rl_turn_normalize
 *             -> rl_turn_accumulate, rl_turn_clip_scale -> rl_turn_spread
 *
 * Turn borders are taken from batch->turn alone. A turn whose gain is exactly 0 counts in its
 * statistics like any other, and neighbouring turns of equal advantage stay two turns.
 *
 * Errors: see rlcore/status.h. A reward is refused, with its row and token, if it is not finite or
 * is not 0 at a response token before the last one of its turn.
 */
#ifndef RLCORE_A2TGPO_H
#define RLCORE_A2TGPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/loss.h>
#include <rlcore/status.h>

/* How the value of a prefix is computed from the log-probs of the answer's tokens after it. */
enum rl_gain {
    RL_GAIN_MEAN_LOG_PROB, /* mean log-prob of the answer, as in A2TGPO */
    RL_GAIN_MEAN_PROB,     /* exp of that mean: the per-token probability, as in IGPO */
    RL_GAIN_PROB           /* exp of the sum: the probability of the whole answer */
};

/* The value of a prefix from the log-probs [n] of the answer's tokens after it; n >= 1. */
RL_API double rl_prefix_value(enum rl_gain kind, size_t n, const double *log_prob);

/*
 * Information gain of each turn of one rollout. answer_log_prob [n_turns+1][n_answer] holds the
 * log-probs of the answer's tokens before the first turn and after each turn. gain [n_turns]
 * receives the prefix value after the turn minus the value before it. RL_EINVAL for n_answer 0;
 * RL_EVALUE for a log-prob that is not finite or is above 0.
 */
RL_API RL_NODISCARD enum rl_status rl_information_gain(enum rl_gain kind, size_t n_turns, size_t n_answer,
                                                       const double *answer_log_prob, double *gain, struct rl_error *err);

/* Turn values of a batch: row i has start[i+1] - start[i] turns, the last one its outcome turn. */
struct rl_turns {
    size_t n_rows;
    const size_t *start;  /* [n_rows+1], ascending from 0 */
    const int64_t *group; /* [n_rows] prompt group labels; only rl_turn_normalize reads them */
};

/*
 * Count the turns of each row of a batch: start [B+1] is set from batch->turn. start[B] is the
 * length of an array of turn values.
 */
RL_API RL_NODISCARD enum rl_status rl_turn_starts(const struct rl_batch *batch, size_t *start, struct rl_error *err);

/*
 * values [start[B]] receives the token-level reward [B*T] at the last token of each turn, and
 * lengths [start[B]], unless NULL, the number of its response tokens.
 */
RL_API RL_NODISCARD enum rl_status rl_turn_rewards(const struct rl_batch *batch, const size_t *start, const double *rewards,
                                                   double *values, size_t *lengths, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_turn_rewardsf(const struct rl_batch *batch, const size_t *start, const float *rewards,
                                                    double *values, size_t *lengths, struct rl_error *err);

/* out [B*T] receives the value of each turn at the turn's tokens, and `fill` at mask 0. */
RL_API RL_NODISCARD enum rl_status rl_turn_spread(const struct rl_batch *batch, const size_t *start, const double *values,
                                                  double fill, double *out, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_turn_spreadf(const struct rl_batch *batch, const size_t *start, const double *values,
                                                   double fill, float *out, struct rl_error *err);

/* Which turns of a prompt group are normalised together as one set. */
enum rl_turn_sets {
    RL_TURN_SETS_JOINT,    /* all turns */
    RL_TURN_SETS_SEPARATE, /* two sets: the outcome turns, and the IG turns */
    RL_TURN_SETS_CELLS /* one set of outcomes, and one set of IG turns per turn index
                          (TurnGroupNormalizer) */
};

/*
 * z = x - mean of its set. by_std also divides by (s + epsilon), with s = sqrt(biased variance +
 * 1e-8). A set of one turn gives 0. values and z [start[n_rows]] may be the same array. epsilon >=
 * 0.
 */
RL_API RL_NODISCARD enum rl_status rl_turn_normalize(const struct rl_turns *turns, enum rl_turn_sets sets, bool by_std,
                                                     double epsilon, const double *values, double *z, struct rl_workspace *ws,
                                                     struct rl_error *err);

/*
 * Variance-rescaled discounted accumulation over the n IG turns of each row:
 *     sums_k = (sum over j = k..n-1 of gamma^(j-k) values_j) / sqrt(n - k).
 * Because of the division, a sum of n - k terms of equal variance has the variance of one term. The
 * outcome turn keeps its value. values and sums may be the same array. gamma >= 0; 0^0 = 1.
 */
RL_API RL_NODISCARD enum rl_status rl_turn_accumulate(const struct rl_turns *turns, double gamma, const double *values,
                                                      double *sums, struct rl_error *err);

/*
 * AdaptiveTurnClipper. For IG turns, scale = 1 + beta (2 sigmoid(z) - 1), which rises with z and
 * lies in (1 - beta, 1 + beta). For outcome turns, scale = 1. z and scale may be the same array. 0
 * <= beta <= 1.
 */
RL_API RL_NODISCARD enum rl_status rl_turn_clip_scale(const struct rl_turns *turns, double beta, const double *z, double *scale,
                                                      struct rl_error *err);

/* Statistics of the IG turns with one turn index, over all rows of a batch. */
struct rl_turn_stat {
    size_t count;
    double mean, std; /* std is unbiased, and 0 for a count of one */
};

/*
 * Statistics by turn index: stats [n_stats] for the indices 0..n_stats-1. *n_indices receives the
 * number of indices that have an IG turn, which may exceed n_stats. stats may be NULL if n_stats is
 * 0.
 */
RL_API RL_NODISCARD enum rl_status rl_turn_statistics(const struct rl_turns *turns, const double *values,
                                                      struct rl_turn_stat *stats, size_t n_stats, size_t *n_indices,
                                                      struct rl_error *err);

/*
 * Merge the statistics of two sets (Chan, Golub and LeVeque 1979): *into becomes the count, mean
 * and unbiased std of the values of both.
 */
RL_API void rl_turn_stat_merge(struct rl_turn_stat *into, const struct rl_turn_stat *from);

/* How gains and outcomes become advantages. x are IG values, o outcomes, z() normalised values. */
enum rl_a2tgpo_mode {
    RL_A2TGPO_JOINT,         /* A_k = z_k + gamma A_k+1 over all turns, normalised as one set */
    RL_A2TGPO_SEPARATE,      /* as joint, but gains and outcomes are separate sets */
    RL_A2TGPO_TURN_GROUP,    /* y = x std(o)/std(x) over the batch; d_k = y_k + gamma d_k+1, with
                                the outcome at the end; A_k = z(d_k) + 1.5 z(o), normalised by turn
                                index */
    RL_A2TGPO_TURN_GROUP_V1D /* A_k = alpha D_k + z(o), with D = rl_turn_accumulate of z; normalised
                                by turn index */
};

struct rl_a2tgpo_options {
    enum rl_a2tgpo_mode mode;     /* turn-group-v1d */
    double gamma;                 /* 1; discount per turn, >= 0 */
    double alpha;                 /* 0.3; weight of the process advantage, turn-group-v1d only */
    double clip_beta;             /* 0.3; how far the clip scale may move from 1, 0..1 */
    bool norm_adv_by_std;         /* true */
    double epsilon;               /* 1e-6; >= 0 */
    bool outcome_discounted_once; /* false: turn-group discounts the outcome twice before the last
                                     IG turn, as the reference code does; true: once, as the paper
                                     defines it */
};

RL_API void rl_a2tgpo_options_init(struct rl_a2tgpo_options *options);

/*
 * Statistics over response tokens. Mean and std are 1 and 0 if there are no response tokens, and in
 * all modes except turn-group-v1d.
 */
struct rl_a2tgpo_stats {
    double ig_clip_scale_mean;
    double ig_clip_scale_std; /* unbiased; 0 for one token */
};

/*
 * rewards [B*T], non-zero only at the last token of a turn, become advantages [B*T] (0 at mask 0)
 * and, unless NULL, clip_scale [B*T] (1 at mask 0, at outcome turns, and in all modes but
 * turn-group-v1d). stats may be NULL. The batch needs turns and groups. Source: A2TGPO's
 * compute_igpo_step_advantage, with explicit turn borders.
 */
RL_API RL_NODISCARD enum rl_status rl_a2tgpo_advantage(const struct rl_batch *batch, const struct rl_a2tgpo_options *options,
                                                       const double *rewards, double *advantages, double *clip_scale,
                                                       struct rl_a2tgpo_stats *stats, struct rl_workspace *ws,
                                                       struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_a2tgpo_advantagef(const struct rl_batch *batch, const struct rl_a2tgpo_options *options,
                                                        const float *rewards, float *advantages, float *clip_scale,
                                                        struct rl_a2tgpo_stats *stats, struct rl_workspace *ws,
                                                        struct rl_error *err);

/*
 * The aggregation is that of the A2TGPO code, which differs from rl_agg: token-mean divides by N +
 * 1e-8; the seq-mean modes divide by B and count empty rows (seq-mean-token-mean refuses empty
 * rows, whose mean is undefined); ..-norm divides by T.
 */
struct rl_turn_loss_options {
    enum rl_agg_mode mode; /* token-mean */
    double clip_low;       /* 0.2 */
    double clip_high;      /* 0.2 */
};

RL_API void rl_turn_loss_options_init(struct rl_turn_loss_options *options);

/*
 * PPO with one importance ratio per turn, r = exp(min(mean of l over the turn, 10)). The gradient
 * goes straight through to the turn's tokens and is 0 beyond the limit. The ratio is clipped to [1
 * - clip_low s, 1 + clip_high s] with s = clip_scale at the token ([B*T], or NULL for 1): L =
 * max(-A r, -A clip(r)).
 *     d_log_prob  [B*T] or NULL
 *     turn_ratio  [B*T] or NULL: r at response tokens, 0 elsewhere
 *     out         pg_clipfrac = mm([clipped]), pg_clipfrac_lower = 0, ppo_kl = mm(-l) per token, without a limit
 * in->weights, unless NULL, multiply the token loss. The batch needs turns. Source: A2TGPO's
 * compute_policy_loss_gspo_turn.
 */
RL_API RL_NODISCARD enum rl_status rl_a2tgpo_turn_loss(const struct rl_batch *batch, const struct rl_loss_input *in,
                                                       const double *clip_scale, const struct rl_turn_loss_options *options,
                                                       double *d_log_prob, double *turn_ratio, struct rl_loss_result *out,
                                                       struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_a2tgpo_turn_lossf(const struct rl_batch *batch, const struct rl_loss_inputf *in,
                                                        const float *clip_scale, const struct rl_turn_loss_options *options,
                                                        float *d_log_prob, float *turn_ratio, struct rl_loss_result *out,
                                                        struct rl_workspace *ws, struct rl_error *err);

#endif
