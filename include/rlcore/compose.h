/*
 * rlcore/compose.h: all off-policy corrections of an asynchronous, disaggregated MoE agent in one
 * policy loss.
 *
 * Four policies stand behind a token:
 *     sampler    what the inference engine reported at its weights theta_k
 *     behaviour  the same weights theta_k, log-probs recomputed by the learner's engine
 *     proximal   the learner at the start of the step
 *     log_prob   the learner now: theta, the only one with a gradient
 * and the ratio theta / sampler comes apart into factors that must not be mixed, least of all
 * clipped as one (a clipped ratio that does not start at 1 cuts at random): backend    =
 * min(exp(behaviour - sampler), C)     engines; detached staleness  = exp(proximal - behaviour)
 * weights moved since; detached, cap optional ratio      = exp(log_prob - proximal) this step's
 * updates; clipped as PPO, dual routing    replayed in the forward pass; its routes are data here,
 * compared and checked token loss = backend * staleness * clip_loss(ratio, advantage) Log-ratios
 * are limited to +-20 (gradient 0 outside), as in rlcore/loss.h.
 *
 * What does not apply is left out: behaviour NULL, one engine, backend 1; proximal NULL, in step,
 * staleness 1; no routes, a dense model. The gradient at each token is exact, also per turn.
 *
 *     struct rl_compose_options options;
 *     rl_compose_options_of(&options, &plan);   the needs of rlcore/correction_plan.h, or NULL
 *     struct rl_compose_input in = {.log_prob = p, .proximal = prox, .behaviour = b, .sampler = s,
 *                                   .advantages = a, .tool = tool};
 *     struct rl_compose_output out = {.mask = mask, .d_log_prob = d};
 *     status = rl_compose_loss(&batch, &in, &options, &out, &result, &ws, &err);
 *
 * Errors: those of rlcore/loss.h; routes that rlcore/routing.h refuses, and a replay that was none.
 * Results are the same for every number of threads. Source: definitions in
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

#ifdef __cplusplus
extern "C" {
#endif

struct rl_compose_options {
    struct rl_loss_options loss; /* aggregation, clip range, dual clip */
    double backend_cap;          /* C > 0: 2 to 10, up to 100 when loose */
    double staleness_cap;        /* > 0; INFINITY for none */
    bool per_turn;               /* each log-ratio is the mean over its turn; turn ids needed */
    bool use_opsm;               /* drop rows or turns by log_prob / sampler first: rl_opsm */
    struct rl_opsm_options opsm;
    enum rl_replay replay; /* which routes the pass had to replay */
};

/* Defaults, C = 2, with the replay and the turns that plan (or NULL) asks for. */
RL_API void rl_compose_options_of(struct rl_compose_options *options,
                                  const struct rl_correction_plan *plan);

/* What both precisions share: who wrote the tokens and which experts they saw. */
struct rl_compose_data {
    const uint8_t *tool; /* [B*T] 1 = written by a tool: leaves the mask; NULL if the mask knows */
    const struct rl_routes *sampler_routes;  /* of the inference engine; R3 replays them */
    const struct rl_routes *training_routes; /* of the pass that gave behaviour; R2 replays them */
    const struct rl_routes *used_routes;     /* of the pass that gave log_prob */
};

/* Arrays [B*T]. At least one of sampler and behaviour; NULL makes its factor 1. */
struct rl_compose_input {
    const double *log_prob, *proximal, *behaviour, *sampler, *advantages;
    struct rl_compose_data data;
};
struct rl_compose_inputf {
    const float *log_prob, *proximal, *behaviour, *sampler, *advantages;
    struct rl_compose_data data;
};

/* Arrays [B*T]; all but mask may be NULL. 0 at mask 0. */
struct rl_compose_output {
    uint8_t *mask;      /* what is left after tools and OPSM */
    double *d_log_prob; /* d loss / d log_prob */
    double *backend, *staleness,
        *ratio; /* the factors, capped as they were used; ratio unclipped */
};
struct rl_compose_outputf {
    uint8_t *mask;
    float *d_log_prob, *backend, *staleness, *ratio;
};

/* A factor over the tokens that are left, before its cap. */
struct rl_factor {
    double mean, min, max; /* 1, 1, 1 without tokens */
    double capped;         /* share above the cap */
    uint64_t n_clamped;    /* tokens whose log-ratio was limited to +-20 */
};

struct rl_compose_result {
    struct rl_loss_result loss; /* of the clipped ratio; ratio_mean.. are the third factor's */
    struct rl_factor backend, staleness;
    double weight_mean;               /* of backend * staleness as used */
    double weight_ess;                /* (sum w)^2 / (N sum w^2), 0..1 */
    struct rl_opsm_result opsm;       /* zeros without it */
    struct rl_route_agreement routes; /* sampler_routes against used_routes; 1 without them */
};

RL_API RL_NODISCARD enum rl_status
rl_compose_loss(const struct rl_batch *batch, const struct rl_compose_input *in,
                const struct rl_compose_options *options, const struct rl_compose_output *out,
                struct rl_compose_result *result, struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status
rl_compose_lossf(const struct rl_batch *batch, const struct rl_compose_inputf *in,
                 const struct rl_compose_options *options, const struct rl_compose_outputf *out,
                 struct rl_compose_result *result, struct rl_workspace *ws, struct rl_error *err);

/*
 * Take a tool's tokens out of a batch: mask [B*T] becomes batch->mask without tool, and turn [B*T],
 * unless NULL, the turns of what is left, numbered anew where a turn held nothing else. batch->turn
 * may count tool tokens to a turn or not.
 */
RL_API RL_NODISCARD enum rl_status rl_mask_tools(const struct rl_batch *batch, const uint8_t *tool,
                                                 uint8_t *mask, int32_t *turn,
                                                 struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
