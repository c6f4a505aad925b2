/*
 * replay.h: routes of a mixture of experts in a run: those of the sampler, those of the learner, and
 * which of them an update replays.
 */
#ifndef TRAINER_ROUTE_REPLAY_H
#define TRAINER_ROUTE_REPLAY_H

#include "learn/learner.h"
#include "learn/minibatch.h"
#include "rollout/rollouts.h"
#include "support/workspace.h"

/* All NULL for a dense policy. Arrays [rows * width][layers][experts_per_token]. */
struct routing {
    uint16_t *sampled; /* of the rollouts, by the sampler: trainer_rollouts.routes */
    uint16_t *trained; /* of the rollouts, by the learner before the updates */
    uint16_t *replay;  /* of a minibatch */
    double *common;    /* [rows * width] share of experts in common */
};

double routing_bytes(const struct trainer_recipe *recipe, size_t rows);
enum trainer_status routing_open(struct routing *routing, const struct trainer_recipe *recipe,
                                 struct trainer_rollouts *rollouts, struct trainer_error *err);
void routing_close(struct routing *routing);

/*
 * The learner's log-probs of the rollouts into r->old: with its own routes, which are kept, and for
 * R3 once more with the sampler's. metrics: how far both are from the sampler.
 */
enum trainer_status routing_score(struct routing *routing, struct learner *learner,
                                  const struct trainer_recipe *recipe,
                                  const struct trainer_rollouts *r, struct workspace *workspace,
                                  struct trainer_routing *metrics, struct trainer_error *err);

/* What the next passes over that minibatch replay: NULL without replay. */
const uint16_t *routing_of(struct routing *routing, const struct trainer_recipe *recipe,
                           const struct minibatch *b);

/* Most that any expert got of the sampler's choices, over an even share; 1 at best. */
double routing_load(const struct trainer_recipe *recipe, const struct trainer_rollouts *r);

#endif
