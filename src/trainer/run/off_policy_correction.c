/*
 * off_policy_correction.c: see run_correct in run.h. The learner's log-probs are computed only if they can
 * differ from the sampler's (other weights, another temperature) or if a correction needs them. On-policy both
 * log-probs agree, and a pass over all rollouts is saved.
 */
#include "run/run.h"

#include <rlcore/diagnostics.h>
#include <rlcore/offpolicy.h>

#include "recipe/recipe_needs.h"
#include "support/clock.h"
#include "support/error.h"

/* Without a correction every weight is 1 and every token is kept. */
static void clear_weights(struct trainer_rollouts *r)
{
    size_t n = r->n * r->width;
    memcpy(r->kept, r->mask, n);
    for (size_t i = 0; i < n; i++)
        r->weight[i] = 1;
}

/*
 * Measures how far the sampler is from the learner, whose log-probs are in `old`. The clip range is used to count the
 * share of ratios that a loss would clip without a correction.
 */
static enum rl_status diagnose(struct run *run, const struct rl_batch *batch, struct trainer_iteration *metrics,
                               struct rl_error *core)
{
    const struct trainer_loss *loss = &run->recipe->loss;
    struct rl_diagnostics out;
    enum rl_status status;
    CORE_CALL(status, &run->workspace,
              rl_diagnosef(batch, run->rollouts->old, run->rollouts->log_prob, loss->clip_low, loss->clip_high, &out,
                           &run->workspace.ws, core));
    if (status == RL_OK) {
        metrics->mismatch_kl = out.k3;
        metrics->mismatch_ess = out.ess;
    }
    return status;
}

/* Measures over the policy's tokens only, because the tool's tokens were not sampled. */
static void measure(const struct trainer_rollouts *r, struct trainer_iteration *metrics)
{
    double n = 0, kept = 0, weight = 0;
    for (size_t i = 0; i < r->n * r->width; i++)
        if (r->mask[i]) {
            n++;
            kept += r->kept[i];
            weight += (double)r->weight[i];
        }
    metrics->weight_mean = n > 0 ? weight / n : 1;
    metrics->rejected = n > 0 ? 1 - kept / n : 0;
}

static bool weighs(const struct trainer_recipe *recipe)
{
    return recipe->correction.name == TRAINER_CORRECTION_TIS || recipe->correction.name == TRAINER_CORRECTION_DECOUPLED;
}

/*
 * Truncated importance sampling is the decoupled correction without a rejection, so the same call does both. The core
 * writes more metrics than telemetry shows, and the array must have room for all of them (RL_METRICS_ENOUGH).
 */
enum trainer_status correction_weigh(const struct trainer_recipe *recipe, struct trainer_rollouts *r, struct workspace *workspace,
                                     struct trainer_error *err)
{
    const struct trainer_correction *correction = &recipe->correction;
    const struct rl_batch batch = {r->n, r->width, r->mask, r->turn, r->group};
    struct rl_metric items[RL_METRICS_ENOUGH];
    struct rl_metrics metrics = {items, 0, RL_METRICS_ENOUGH};
    bool rejects = correction->name == TRAINER_CORRECTION_DECOUPLED && correction->reject[0];
    struct rl_correction_options options = {
        .is = correction->sequence_level ? RL_IS_SEQUENCE : RL_IS_TOKEN,
        .is_threshold = correction->cap,
        .is_lower = correction->floor,
        .rs = rejects ? correction->reject : NULL,
        .rs_threshold = rejects ? correction->reject_threshold : NULL,
    };
    struct rl_error core;
    enum rl_status status = RL_OK;
    clear_weights(r);
    if (weighs(recipe))
        CORE_CALL(
            status, workspace,
            rl_rollout_correctionf(&batch, &options, r->old, r->log_prob, r->weight, r->kept, &metrics, &workspace->ws, &core));
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "off-policy correction", status, &core);
}

/*
 * Computes log-probs of the weights that sampled with the learner's engine. Their distance to the sampler's log-probs
 * shows the effect of the engine; their distance to the learner's log-probs shows the effect of staleness. Routes are
 * replayed here too.
 */
static enum trainer_status score_behaviour(struct run *run, struct trainer_error *err)
{
    struct trainer_rollouts *r = run->rollouts;
    struct learner_rows rows = {r->n, r->width, r->tokens, r->length, r->mask};
    if (!run->sampled_by.behaviour) {
        memcpy(r->behaviour, r->old, r->n * r->width * sizeof *r->old);
        return TRAINER_OK;
    }
    run->learner.replay = run->recipe->replay == TRAINER_REPLAY_R3 ? run->routing.sampled : NULL;
    enum trainer_status status = learner_score(&run->learner, run->sampled_by.behaviour, &rows, r->behaviour, err);
    run->learner.replay = NULL;
    return status;
}

/*
 * At another temperature, which bypass refuses, the sampler's log-probs belong to a sharper or flatter policy than the learner's, so the
 * learner's own log-probs remain the old ones. Off-policy without a correction, the sampler's log-probs are restored,
 * because plain PPO's ratio is to the policy that sampled; the learner's log-probs were computed only to measure the
 * mismatch.
 */
enum trainer_status run_correct(struct run *run, struct trainer_iteration *metrics, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    struct trainer_rollouts *r = run->rollouts;
    bool composes = recipe->loss.name == TRAINER_LOSS_COMPOSE;
    bool corrects = composes || recipe->correction.name != TRAINER_CORRECTION_NONE;
    bool tempered = fabs(recipe->training.temperature - 1) > 0;
    struct rl_batch batch = {r->n, r->width, r->mask, r->turn, r->group};
    struct rl_error core;
    enum rl_status status = RL_OK;
    memcpy(r->old, r->log_prob, r->n * r->width * sizeof *r->old);
    clear_weights(r);
    if (corrects || tempered || recipe_is_off_policy(recipe) || recipe->replay) {
        double began = clock_now();
        enum trainer_status scored =
            routing_score(&run->routing, &run->learner, recipe, r, &run->workspace, &metrics->routing, err);
        metrics->scoring_s += clock_now() - began;
        if (scored != TRAINER_OK)
            return scored;
        status = diagnose(run, &batch, metrics, &core);
        began = clock_now();
        if (composes && (scored = score_behaviour(run, err)) != TRAINER_OK)
            return scored;
        metrics->scoring_s += clock_now() - began;
        if (status == RL_OK && weighs(recipe) && (scored = correction_weigh(recipe, r, &run->workspace, err)) != TRAINER_OK)
            return scored;
        if (!tempered && (!corrects || recipe_bypass(recipe)))
            memcpy(r->old, r->log_prob, r->n * r->width * sizeof *r->old);
    }
    measure(r, metrics);
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "off-policy correction", status, &core);
}
