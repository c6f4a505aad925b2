/*
 * Rows are shuffled again in each epoch, with a seed that depends on the iteration and the epoch, and cut into
 * minibatches. Shuffling mixes questions, because a minibatch of a single group would only push one answer against its
 * siblings. Old log-probs are computed before the first update of the iteration, because the clip range limits the
 * distance to the policy of that time.
 */

#include "learn/minibatch_loss.h"
#include "run/gradient_trace.h"
#include "support/clock.h"
#include "support/error.h"
#include "support/rng.h"

/* Fisher-Yates shuffle, from the end. */
static void shuffle(size_t n, struct trainer_rng *rng, size_t *order)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)trainer_rng_below(rng, (int32_t)i), swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

/*
 * The rate has a linear warm-up, then follows a cosine from the full rate down to final_rate times the full rate. The
 * warm-up counts from 1, because otherwise the first update would do nothing. The cosine ends with the last update of
 * the run, not of an iteration.
 */
static double rate_at(const struct trainer_training *training, double peak, double update, double updates)
{
    double begin = training->warmup > 0 ? fmin(1, (update + 1) / training->warmup) : 1;
    double cosine = 0.5 * (1 + cos(3.141592653589793 * update / updates));
    return peak * begin * (training->final_rate + (1 - training->final_rate) * cosine);
}

/* The rate of the value head follows the same curve from its own peak, or equals the rate of the other parameters. */
static struct learner_rates rates_at(const struct trainer_recipe *recipe, double update, double updates)
{
    const struct trainer_training *training = &recipe->training;
    return (struct learner_rates){.rate = rate_at(training, training->learning_rate, update, updates),
                                  .value_rate = rate_at(training, recipe->value.learning_rate, update, updates),
                                  .clip_norm = training->clip_norm};
}

/* Where an update is in the run. */
struct place {
    int32_t iteration, epoch;
};

/*
 * Runs one update: forward pass, loss, backward pass, optimizer step. The loss is checked before the backward pass, so
 * that the error names the loss; the gradient of a NaN would only be reported as a gradient.
 */
static enum trainer_status update(struct run *run, const struct place *at, const size_t *rows, size_t n,
                                  const struct learner_rates *rates, struct loss_result *result, double *norm,
                                  struct trainer_part env[TRAINER_ENVS_MAX], struct trainer_error *err)
{
    struct minibatch *b = run->minibatch;
    minibatch_gather(b, run->rollouts, rows, n);
    struct learner_rows view = {b->n, b->width, b->tokens, b->length, b->wanted};
    run->learner.replay = routing_of(&run->routing, run->recipe, b);
    enum trainer_status status = learner_forward(&run->learner, run->learner.params, &view, b->log_prob, b->entropy, err);
    run->learner.replay = NULL;
    if (status == TRAINER_OK)
        minibatch_leave_out_likely(b);
    if (status == TRAINER_OK)
        status = environment_losses_add(&run->environment_losses, run->recipe, run->rollouts, b, &run->workspace, env, err);
    if (status == TRAINER_OK)
        status = minibatch_loss(b, &run->recipe->loss, &run->workspace, result, err);
    if (status == TRAINER_OK && b->value)
        learner_values(&run->learner, b->value);
    if (status == TRAINER_OK)
        gradient_trace_note(run, at->iteration, at->epoch);
    if (status == TRAINER_OK && b->value)
        status = minibatch_value_loss(b, run->recipe, &run->workspace, result, err);
    if (status == TRAINER_OK && !isfinite(result->loss))
        status = trainer_fail(err, TRAINER_ENUMERIC, "the loss is not finite");
    if (status == TRAINER_OK)
        status = learner_update(&run->learner, b->d_log_prob, b->d_value, rates, norm, err);
    return status;
}

static void add_streams(struct trainer_streams *sums, const struct trainer_streams *part)
{
    sums->n_rl += part->n_rl;
    sums->n_ce += part->n_ce;
    sums->n_ref_kl += part->n_ref_kl;
    sums->is_masked += part->is_masked;
    sums->masked_mismatch_kl += part->masked_mismatch_kl;
    sums->unmasked_mismatch_kl += part->unmasked_mismatch_kl;
    sums->nll += part->nll;
    sums->ref_kl += part->ref_kl;
    sums->ref_is_masked += part->ref_is_masked;
    sums->ref_masked_mismatch_kl += part->ref_masked_mismatch_kl;
    sums->ref_unmasked_mismatch_kl += part->ref_unmasked_mismatch_kl;
}

/* A rollout without tokens of a component does not count for it. */
static void take_stream_means(struct trainer_streams *s)
{
    double rl = fmax(1, s->n_rl), ref_kl = fmax(1, s->n_ref_kl);
    s->is_masked /= rl;
    s->masked_mismatch_kl /= rl;
    s->unmasked_mismatch_kl /= rl;
    s->nll /= fmax(1, s->n_ce);
    s->ref_kl /= ref_kl;
    s->ref_is_masked /= ref_kl;
    s->ref_masked_mismatch_kl /= ref_kl;
    s->ref_unmasked_mismatch_kl /= ref_kl;
}

static void add(struct trainer_iteration *metrics, const struct loss_result *result, double norm)
{
    struct trainer_offpolicy *off = &metrics->offpolicy;
    const struct trainer_offpolicy *part = &result->offpolicy;
    metrics->loss += result->loss;
    for (size_t i = 0; i < TRAINER_N_COMPONENTS; i++) {
        metrics->component[i].loss += result->component[i].loss;
        metrics->component[i].kl += result->component[i].kl;
        metrics->component[i].tokens += result->component[i].tokens;
    }
    metrics->grad_norm += norm;
    metrics->entropy += result->entropy;
    metrics->clip_fraction += result->clip_fraction;
    metrics->kl += result->kl;
    metrics->values.loss += result->value_loss;
    metrics->values.clip_fraction += result->value_clip_fraction;
    metrics->n_valued += result->n_valued;
    off->opsm_dropped += part->opsm_dropped;
    off->after_tool += part->after_tool;
    off->after_tool_clip_fraction += part->after_tool_clip_fraction;
    off->after_tool_ratio += part->after_tool_ratio;
    off->after_tool_kl += part->after_tool_kl;
    off->backend += part->backend;
    off->staleness += part->staleness;
    off->backend_capped += part->backend_capped;
    off->staleness_capped += part->staleness_capped;
    off->compose_ess += part->compose_ess;
    metrics->distillation.loss += result->distilled;
    metrics->distillation.clipped += result->distill_clipped;
    add_streams(&metrics->streams, &result->streams);
}

/* Means are taken over updates and not over rollouts, because the policy differs from update to update. */
static void take_means(struct trainer_iteration *metrics, double n)
{
    struct trainer_offpolicy *off = &metrics->offpolicy;
    double *const sums[] = {&metrics->loss,
                            &metrics->grad_norm,
                            &metrics->entropy,
                            &metrics->clip_fraction,
                            &metrics->kl,
                            &metrics->values.loss,
                            &metrics->values.clip_fraction,
                            &off->opsm_dropped,
                            &off->after_tool,
                            &off->after_tool_clip_fraction,
                            &off->after_tool_ratio,
                            &off->after_tool_kl,
                            &off->backend,
                            &off->staleness,
                            &off->backend_capped,
                            &off->staleness_capped,
                            &off->compose_ess,
                            &metrics->distillation.loss,
                            &metrics->distillation.clipped};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        *sums[i] /= n;
    for (size_t i = 0; i < TRAINER_N_COMPONENTS; i++) {
        metrics->component[i].loss /= n;
        metrics->component[i].kl /= n;
    }
    take_stream_means(&metrics->streams);
}

/*
 * Number of tokens that go through the network, prompts and observations included; speed is measured in these tokens.
 */
static uint64_t fed_tokens(const struct minibatch *b)
{
    uint64_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += (uint64_t)b->length[i];
    return n;
}

/*
 * The last minibatch of an epoch may be smaller, because leaving its rows out would waste rollouts, which cost more
 * than updates. After a failure, means are taken over the updates that were done.
 */
enum trainer_status run_update(struct run *run, int32_t iteration, struct trainer_iteration *metrics, struct trainer_error *err)
{
    const struct trainer_training *training = &run->recipe->training;
    size_t n = run->rollouts->n, size = (size_t)training->minibatch, done = 0;
    size_t per_epoch = (n + size - 1) / size, per_iteration = per_epoch * (size_t)training->epochs;
    double begin = clock_now(), norm = 0;
    enum trainer_status status = TRAINER_OK;
    for (int32_t epoch = 0; epoch < training->epochs && status == TRAINER_OK; epoch++) {
        struct trainer_rng rng = {trainer_seed(run->recipe->seed, 'u', (uint64_t)iteration << 16 | (uint64_t)epoch)};
        const struct place place = {iteration, epoch};
        shuffle(n, &rng, run->order);
        for (size_t first = 0; first < n && status == TRAINER_OK; first += size, done++) {
            struct loss_result result;
            double at = (double)((size_t)iteration * per_iteration + done);
            struct learner_rates rates = rates_at(run->recipe, at, (double)training->iterations * (double)per_iteration);
            metrics->learning_rate = rates.rate;
            status = update(run, &place, run->order + first, first + size < n ? size : n - first, &rates, &result, &norm,
                            metrics->env, err);
            if (status == TRAINER_OK) {
                add(metrics, &result, norm);
                metrics->trained_tokens += fed_tokens(run->minibatch);
            }
        }
    }
    take_means(metrics, fmax(1, (double)done));
    environment_losses_end(&run->environment_losses, run->recipe, metrics->env);
    memcpy(run->last, metrics->env, sizeof run->last);
    metrics->update_s = clock_now() - begin;
    return status;
}
