/*
 * route_replay.h: routes of a mixture of experts: the routes that the sampler and the learner recorded, and the routes
 * that an update replays.
 */
#pragma once

#include "learn/learner.h"
#include "learn/minibatch.h"
#include "rollout/rollouts.h"
#include "support/workspace.h"

/* Arrays [rows * width][layers][experts_per_token]; all NULL if the policy is not a mixture of experts. */
struct routing {
    uint16_t *sampled; /* the sampler's routes; trainer_rollouts.routes points here */
    uint16_t *trained; /* the learner's routes in the rollouts, from before the updates */
    uint16_t *replay;  /* the routes that a minibatch replays */
    double *common;    /* [rows * width] share of experts that sampler and learner both chose */
};

double routing_bytes(const struct trainer_recipe *recipe, size_t rows);
enum trainer_status routing_open(struct routing *routing, const struct trainer_recipe *recipe, struct trainer_rollouts *rollouts,
                                 struct trainer_error *err);
void routing_close(struct routing *routing);

/*
 * Computes the learner's log-probs of the rollouts into r->old, and records the learner's routes; with R3, computes
 * them once more with the sampler's routes. *metrics receives the distance of both to the sampler.
 */
enum trainer_status routing_score(struct routing *routing, struct learner *learner, const struct trainer_recipe *recipe,
                                  const struct trainer_rollouts *r, struct workspace *workspace, struct trainer_routing *metrics,
                                  struct trainer_error *err);

/*
 * Returns the routes that passes over this minibatch replay, or NULL without replay. They are valid until the next
 * call.
 */
const uint16_t *routing_of(struct routing *routing, const struct trainer_recipe *recipe, const struct minibatch *b);

/*
 * Returns the choices of the sampler's busiest expert divided by an even share, in the worst layer; 1 is perfectly
 * even.
 */
double routing_load(const struct trainer_recipe *recipe, const struct trainer_rollouts *r);
