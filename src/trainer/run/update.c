/*
 * update.c: epochs of minibatches. Rows are shuffled anew each epoch, from a seed that names the
 * iteration and the epoch, and cut into minibatches that mix questions: a minibatch of one group
 * would push one answer against its siblings and nothing else. Old log-probs are those from before
 * the first update of the iteration, which is what the clip range is about.
 */
#include <math.h>

#include "support/clock.h"
#include "support/error.h"
#include "support/rng.h"
#include "run/run.h"

/* Fisher and Yates, from the end. */
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
 * Linear warm-up, then a cosine from the whole rate to final_rate of it. Warm-up counts from 1, or
 * the first update would do nothing. The cosine runs over all updates of the run, not of an
 * iteration: its end is the run's.
 */
static double rate_at(const struct trainer_training *training, double peak, double update,
                      double updates)
{
    double begin = training->warmup > 0 ? fmin(1, (update + 1) / training->warmup) : 1;
    double cosine = 0.5 * (1 + cos(3.141592653589793 * update / updates));
    return peak * begin *
           (training->final_rate + (1 - training->final_rate) * cosine);
}

/* The value head follows the same curve from a height of its own, or goes with the rest. */
static struct learner_rates rates_at(const struct trainer_recipe *recipe, double update,
                                     double updates)
{
    const struct trainer_training *training = &recipe->training;
    return (struct learner_rates){
        .rate = rate_at(training, training->learning_rate, update, updates),
        .value_rate = rate_at(training, recipe->value.learning_rate, update, updates),
        .clip_norm = training->clip_norm};
}

/* Values of the minibatch as they are now, and their loss. */
static enum trainer_status value_loss(struct run *run, const struct learner_rows *view,
                                      struct objective_result *result, struct trainer_error *err)
{
    struct minibatch *b = run->minibatch;
    enum trainer_status status = learner_values(&run->learner, view, b->value, err);
    return status == TRAINER_OK
               ? objective_values(b, run->recipe, &run->workspace, result, err)
               : status;
}

/*
 * The loss is looked at before the backward pass, whose gradient of a NaN would say the same
 * without naming the loss.
 */
static enum trainer_status update(struct run *run, const size_t *rows, size_t n,
                                  const struct learner_rates *rates,
                                  struct objective_result *result, double *norm,
                                  struct trainer_error *err)
{
    struct minibatch *b = run->minibatch;
    minibatch_gather(b, run->rollouts, rows, n);
    struct learner_rows view = {b->n, b->width, b->tokens, b->length, b->wanted};
    run->learner.replay = routing_of(&run->routing, run->recipe, b);
    enum trainer_status status =
        learner_forward(&run->learner, run->learner.params, &view, b->log_prob, b->entropy, err);
    run->learner.replay = NULL;
    if (status == TRAINER_OK)
        status = objective(b, &run->recipe->loss, &run->workspace, result, err);
    if (status == TRAINER_OK && b->value)
        status = value_loss(run, &view, result, err);
    if (status == TRAINER_OK && !isfinite(result->loss))
        status = trainer_fail(err, TRAINER_ENUMERIC, "the loss is not finite");
    if (status == TRAINER_OK)
        status = learner_update(&run->learner, b->d_log_prob, b->d_value, rates, norm, err);
    return status;
}

static void add_options(struct trainer_offpolicy *to, const struct objective_result *result)
{
    to->opsm_dropped += result->dropped;
    to->after_tool += result->told.share;
    to->after_tool_clip_fraction += result->told.clip_fraction;
    to->after_tool_ratio += result->told.ratio;
    to->after_tool_kl += result->told.kl;
    to->backend += result->composed.backend;
    to->staleness += result->composed.staleness;
    to->backend_capped += result->composed.backend_capped;
    to->staleness_capped += result->composed.staleness_capped;
    to->compose_ess += result->composed.ess;
}

static void mean_options(struct trainer_offpolicy *x, double n)
{
    double *const sums[] = {&x->opsm_dropped,
                            &x->after_tool,
                            &x->after_tool_clip_fraction,
                            &x->after_tool_ratio,
                            &x->after_tool_kl,
                            &x->backend,
                            &x->staleness,
                            &x->backend_capped,
                            &x->staleness_capped,
                            &x->compose_ess};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        *sums[i] /= n;
}

static void add(struct trainer_iteration *metrics, const struct objective_result *result,
                double norm)
{
    metrics->loss += result->loss;
    metrics->grad_norm += norm;
    metrics->entropy += result->entropy;
    metrics->clip_fraction += result->clip_fraction;
    metrics->kl += result->kl;
    metrics->values.loss += result->value_loss;
    metrics->values.clip_fraction += result->value_clip_fraction;
    metrics->n_valued += result->n_valued;
    add_options(&metrics->offpolicy, result);
    metrics->distillation.loss += result->distilled;
    metrics->distillation.clipped += result->distill_clipped;
}

/* Of updates, not of rollouts: each update saw another policy. */
static void take_means(struct trainer_iteration *metrics, double n)
{
    metrics->loss /= n;
    metrics->grad_norm /= n;
    metrics->entropy /= n;
    metrics->clip_fraction /= n;
    metrics->kl /= n;
    metrics->values.loss /= n;
    metrics->values.clip_fraction /= n;
    mean_options(&metrics->offpolicy, n);
    metrics->distillation.loss /= n;
    metrics->distillation.clipped /= n;
}

/* Prompts and observations are fed as well: speed counts what goes through the network. */
static uint64_t fed_tokens(const struct minibatch *b)
{
    uint64_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += (uint64_t)b->length[i];
    return n;
}

/*
 * The last minibatch of an epoch may be smaller: leaving its rows out would waste rollouts, which
 * cost more than updates. After a failure epochs are run through without work, and means are taken
 * over what was done.
 */
enum trainer_status run_update(struct run *run, int32_t iteration,
                               struct trainer_iteration *metrics, struct trainer_error *err)
{
    const struct trainer_training *training = &run->recipe->training;
    size_t n = run->rollouts->n, size = (size_t)training->minibatch, done = 0;
    size_t per_epoch = (n + size - 1) / size, per_iteration = per_epoch * (size_t)training->epochs;
    double begin = clock_now(), norm = 0;
    enum trainer_status status = TRAINER_OK;
    for (int32_t epoch = 0; epoch < training->epochs; epoch++) {
        struct trainer_rng rng = {
            trainer_seed(run->recipe->seed, 'u', (uint64_t)iteration << 16 | (uint64_t)epoch)};
        shuffle(n, &rng, run->order);
        for (size_t first = 0; first < n && status == TRAINER_OK; first += size, done++) {
            struct objective_result result;
            double at = (double)((size_t)iteration * per_iteration + done);
            struct learner_rates rates = rates_at(
                run->recipe, at, (double)training->iterations * (double)per_iteration);
            metrics->learning_rate = rates.rate;
            status = update(run, run->order + first, first + size < n ? size : n - first, &rates,
                            &result, &norm, err);
            if (status == TRAINER_OK) {
                add(metrics, &result, norm);
                metrics->trained_tokens += fed_tokens(run->minibatch);
            }
        }
    }
    take_means(metrics, fmax(1, (double)done));
    metrics->update_s = clock_now() - begin;
    return status;
}
