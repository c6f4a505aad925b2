/*
 * rlcore/compose.h: all off-policy corrections of an asynchronous, disaggregated MoE agent in one
 * policy loss.
 *
 * Four policies are involved in every token:
 *     sampler    the inference engine with its weights theta_k, as it reported the log-prob
 *     behaviour  the same weights theta_k, with log-probs recomputed by the learner's engine
 *     proximal   the learner at the start of the step
 *     log_prob   the learner now, theta: the only one with a gradient
 * The ratio theta / sampler is the product of three factors. They must not be merged. Above all
 * they must not be clipped as one ratio, because a clipped ratio that does not start at 1 cuts
 * tokens at random.
 *     backend    = min(exp(behaviour - sampler), C)   differences between engines; held constant
 *     staleness  = exp(proximal - behaviour)          weights moved since sampling; held constant, cap optional
 *     ratio      = exp(log_prob - proximal)           the updates of this step; clipped as in PPO, dual clip included
 *     token loss = backend * staleness * clip_loss(ratio, advantage)
 * Expert routing is replayed in the forward pass of the caller. Here the routes are only data,
 * which are compared and checked. Log-ratios are limited to +-20 (gradient 0 outside), as in
 * rlcore/loss.h.
 *
 * A factor that does not apply is left out: with behaviour NULL (one engine) backend is 1, with
 * proximal NULL (in step) staleness is 1, and a dense model has no routes. The gradient of each
 * token is exact, also with one ratio per turn.
 *
 *     struct rl_compose_options options;
 *     rl_compose_options_of(&options, &plan);   a plan of rlcore/correction_plan.h, or NULL
 *     struct rl_compose_input in = {.log_prob = p, .proximal = prox, .behaviour = b, .sampler = s,
 *                                   .advantages = a, .data = {.tool = tool}};
 *     struct rl_compose_output out = {.mask = mask, .d_log_prob = d};
 *     status = rl_compose_loss(&batch, &in, &options, &out, &result, &ws, &err);
 *
 * Errors: those of rlcore/loss.h; routes that rlcore/routing.h refuses; a pass that did not replay
 * the routes it had to. Results are the same for every number of threads. Source: definitions in
 * fixtures/golden/README.md, "composing the corrections"; decoupled PPO (arXiv 2505.24298).
 */
#ifndef RLCORE_COMPOSE_H
#define RLCORE_COMPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/correction_plan.h>
#include <rlcore/loss.h>
#include <rlcore/offpolicy.h>
#include <rlcore/routing.h>
#include <rlcore/status.h>

struct rl_compose_options {
    struct rl_loss_options loss; /* aggregation, clip range, dual clip */
    double backend_cap;          /* C > 0: usually 2 to 10, or 100 for a loose cap */
    double staleness_cap;        /* > 0; INFINITY for none */
    bool per_turn;               /* each log-ratio is the mean over its turn; needs turn ids */
    bool use_opsm;               /* first drop rows or turns whose ratio log_prob / sampler is out
                                    of bounds, see rl_opsm */
    struct rl_opsm_options opsm;
    enum rl_replay replay; /* the routes that the forward pass had to replay */
};

/*
 * Sets the defaults with C = 2. Unless plan is NULL, the replay and the ratios per turn are those
 * that the plan asks for.
 */
RL_API void rl_compose_options_of(struct rl_compose_options *options, const struct rl_correction_plan *plan);

/*
 * The inputs that do not depend on the precision: which tokens tools wrote, and which experts the
 * tokens went to.
 */
struct rl_compose_data {
    const uint8_t *tool; /* [B*T] 1: written by a tool, therefore removed from the mask; NULL if the
                            mask excludes tools already */
    const struct rl_routes *sampler_routes;  /* routes of the inference engine; R3 replays them */
    const struct rl_routes *training_routes; /* routes of the pass that computed behaviour; R2
                                                replays them */
    const struct rl_routes *used_routes;     /* routes of the pass that computed log_prob */
};

/*
 * Arrays [B*T]. At least one of sampler and behaviour is required; a missing one makes its factor
 * 1.
 */
struct rl_compose_input {
    const double *log_prob, *proximal, *behaviour, *sampler, *advantages;
    struct rl_compose_data data;
    const double *clip_scale; /* factor >= 0 of the clip range at each token, or NULL for 1 */
};
struct rl_compose_inputf {
    const float *log_prob, *proximal, *behaviour, *sampler, *advantages;
    struct rl_compose_data data;
    const float *clip_scale;
};

/* Arrays [B*T]. All except mask may be NULL. The values at mask 0 are 0. */
struct rl_compose_output {
    uint8_t *mask;      /* the mask that is left after tools and OPSM */
    double *d_log_prob; /* d loss / d log_prob */
    double *backend, *staleness, *ratio; /* the factors after their caps; ratio before its clip */
};
struct rl_compose_outputf {
    uint8_t *mask;
    float *d_log_prob, *backend, *staleness, *ratio;
};

/* Statistics of a factor over the tokens of the remaining mask, before its cap. */
struct rl_factor {
    double mean, min, max; /* 1, 1, 1 without tokens */
    double capped;         /* share above the cap */
    uint64_t n_clamped;    /* tokens whose log-ratio was limited to +-20 */
};

struct rl_compose_result {
    struct rl_loss_result loss; /* result of the clipped loss; ratio_mean etc. describe the third
                                   factor, ratio */
    struct rl_factor backend, staleness;
    double weight_mean;               /* mean of backend * staleness after their caps */
    double weight_ess;                /* (sum w)^2 / (N sum w^2), 0..1 */
    struct rl_opsm_result opsm;       /* zeros without it */
    struct rl_route_agreement routes; /* agreement of sampler_routes and used_routes; 1 without them */
};

RL_API RL_NODISCARD enum rl_status rl_compose_loss(const struct rl_batch *batch, const struct rl_compose_input *in,
                                                   const struct rl_compose_options *options, const struct rl_compose_output *out,
                                                   struct rl_compose_result *result, struct rl_workspace *ws,
                                                   struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_compose_lossf(const struct rl_batch *batch, const struct rl_compose_inputf *in,
                                                    const struct rl_compose_options *options,
                                                    const struct rl_compose_outputf *out, struct rl_compose_result *result,
                                                    struct rl_workspace *ws, struct rl_error *err);

/*
 * Remove the tokens of tools from a batch. mask [B*T] becomes batch->mask without tool. turn [B*T],
 * unless NULL, receives the turn ids of the remaining tokens, renumbered if a turn consisted of
 * tool tokens only. batch->turn may or may not assign tool tokens to turns.
 */
RL_API RL_NODISCARD enum rl_status rl_mask_tools(const struct rl_batch *batch, const uint8_t *tool, uint8_t *mask, int32_t *turn,
                                                 struct rl_error *err);

#endif
