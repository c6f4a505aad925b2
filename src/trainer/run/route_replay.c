/*
 * route_replay.c: see route_replay.h. A sampler with other weights or precision sends some tokens to other experts
 * than the learner would. Each of these tokens gets a different log-prob, however close the weights are. That part of
 * the mismatch disappears if the learner replays the sampler's routes (rlcore/routing.h).
 */
#include "run/route_replay.h"

#include <rlcore/diagnostics.h>
#include <rlcore/routing.h>

#include "support/carve.h"
#include "support/error.h"

/* All arrays are in one block, which begins with `sampled`. */
static void carve_routing(struct routing *routing, const struct trainer_recipe *recipe, size_t rows, struct carve *block)
{
    size_t width = (size_t)recipe->model.max_tokens, places = trainer_model_routes(&recipe->model);
    size_t row = width * places, minibatch = (size_t)recipe->training.minibatch;
    routing->sampled = carve(block, rows * row, sizeof(uint16_t));
    routing->trained = carve(block, rows * row, sizeof(uint16_t));
    routing->replay = carve(block, minibatch * row, sizeof(uint16_t));
    routing->common = carve(block, rows * width, sizeof(double));
}

double routing_bytes(const struct trainer_recipe *recipe, size_t rows)
{
    struct routing routing;
    struct carve block = {NULL, 0};
    if (recipe->model.experts > 0)
        carve_routing(&routing, recipe, rows, &block);
    return (double)block.used;
}

enum trainer_status routing_open(struct routing *routing, const struct trainer_recipe *recipe, struct trainer_rollouts *rollouts,
                                 struct trainer_error *err)
{
    size_t bytes = (size_t)routing_bytes(recipe, rollouts->capacity);
    if (bytes == 0)
        return TRAINER_OK;
    struct carve block = {carve_block(bytes), 0};
    if (!block.base)
        return trainer_no_memory(err, bytes);
    carve_routing(routing, recipe, rollouts->capacity, &block);
    rollouts->routes = routing->sampled;
    rollouts->places = trainer_model_routes(&recipe->model);
    return TRAINER_OK;
}

void routing_close(struct routing *routing)
{
    free(routing->sampled);
}

static struct rl_routes routes_of(const struct trainer_model *model, const uint16_t *experts)
{
    return (struct rl_routes){.n_layers = (size_t)model->layers,
                              .top_k = (size_t)model->experts_per_token,
                              .n_experts = (size_t)model->experts,
                              .experts = experts};
}

static enum rl_status compare(struct routing *routing, const struct trainer_model *model, const struct rl_batch *batch,
                              struct workspace *workspace, struct trainer_routing *metrics, struct rl_error *core)
{
    const struct rl_routes sampled = routes_of(model, routing->sampled), trained = routes_of(model, routing->trained);
    struct rl_route_agreement agreement;
    enum rl_status status;
    CORE_CALL(status, workspace,
              rl_routes_compare(batch, &sampled, &trained, NULL, routing->common, &agreement, &workspace->ws, core));
    if (status != RL_OK)
        return status;
    for (size_t i = 0; i < batch->n_rows * batch->n_tokens; i++)
        if (batch->mask[i]) {
            metrics->tokens++;
            metrics->differ += routing->common[i] < 1;
        }
    metrics->differ /= fmax(1, (double)metrics->tokens);
    metrics->common = agreement.share;
    return RL_OK;
}

static enum rl_status distance(const struct rl_batch *batch, const struct trainer_rollouts *r, struct workspace *workspace,
                               double *k3, struct rl_error *core)
{
    struct rl_diagnostics out;
    enum rl_status status;
    CORE_CALL(status, workspace, rl_diagnosef(batch, r->old, r->log_prob, 0.2, 0.2, &out, &workspace->ws, core));
    *k3 = status == RL_OK ? out.k3 : 0;
    return status;
}

enum trainer_status routing_score(struct routing *routing, struct learner *learner, const struct trainer_recipe *recipe,
                                  const struct trainer_rollouts *r, struct workspace *workspace, struct trainer_routing *metrics,
                                  struct trainer_error *err)
{
    struct learner_rows rows = {r->n, r->width, r->tokens, r->length, r->mask};
    struct rl_batch batch = {r->n, r->width, r->mask, r->turn, r->group};
    struct rl_error core;
    enum rl_status measured = RL_OK;
    learner->record = routing->trained;
    enum trainer_status status = learner_score(learner, learner->params, &rows, r->old, err);
    learner->record = NULL;
    if (status != TRAINER_OK || !routing->trained)
        return status;
    measured = compare(routing, &recipe->model, &batch, workspace, metrics, &core);
    if (measured == RL_OK)
        measured = distance(&batch, r, workspace, &metrics->kl, &core);
    if (measured == RL_OK && recipe->replay == TRAINER_REPLAY_R3) {
        learner->replay = routing->sampled;
        status = learner_score(learner, learner->params, &rows, r->old, err);
        learner->replay = NULL;
        if (status == TRAINER_OK)
            measured = distance(&batch, r, workspace, &metrics->kl_replayed, &core);
    }
    return measured == RL_OK ? status : trainer_core_failed(err, "routes of the rollouts", measured, &core);
}

const uint16_t *routing_of(struct routing *routing, const struct trainer_recipe *recipe, const struct minibatch *b)
{
    const uint16_t *from = recipe->replay == TRAINER_REPLAY_R3 ? routing->sampled : routing->trained;
    size_t row = b->width * trainer_model_routes(&recipe->model);
    if (recipe->replay == TRAINER_REPLAY_NONE)
        return NULL;
    for (size_t i = 0; i < b->n; i++)
        memcpy(routing->replay + i * row, from + b->row[i] * row, row * sizeof *from);
    return routing->replay;
}

/* Counts all tokens that were fed, because tokens of prompts and tools use experts too. */
static double load_of_layer(const struct trainer_model *model, const struct trainer_rollouts *r, size_t layer)
{
    size_t k = (size_t)model->experts_per_token, n = 0, most = 0;
    size_t count[1024] = {0};
    for (size_t i = 0; i < r->n * r->width; i++)
        for (size_t j = 0; j < k; j++) {
            uint16_t expert = r->routes[i * r->places + layer * k + j];
            if (expert == TRAINER_NO_EXPERT)
                continue;
            n++;
            count[expert]++;
        }
    for (size_t e = 0; e < (size_t)model->experts; e++)
        most = count[e] > most ? count[e] : most;
    return n > 0 ? (double)most * model->experts / (double)n : 1;
}

double routing_load(const struct trainer_recipe *recipe, const struct trainer_rollouts *r)
{
    double most = 0;
    for (size_t l = 0; r->routes && l < (size_t)recipe->model.layers; l++)
        most = fmax(most, load_of_layer(&recipe->model, r, l));
    return most;
}
