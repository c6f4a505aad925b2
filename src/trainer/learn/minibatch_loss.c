#include "learn/minibatch_loss.h"

#include <math.h>
#include <string.h>

#include <rlcore/algorithm.h>
#include <rlcore/loss.h>
#include <rlcore/status.h>
#include <rlcore/stream_loss.h>

#include "learn/loss_result.h"
#include "learn/minibatch.h"
#include "learn/policy_loss.h"
#include "support/error.h"

/* ---- k2, the squared distance to a teacher on rollouts that failed (rlcore/distill.h) ---- */

/*
 * Whether updates have already moved the policy to the edge of the clip range in the teacher's direction. Rollouts
 * are used several times, and this loss has no ratio that would limit how far the policy goes.
 */
static bool is_at_the_edge(const struct minibatch *b, size_t i, const struct trainer_distill *distill)
{
    double ratio = exp((double)b->log_prob[i] - (double)b->old[i]);
    return b->reference[i] > b->log_prob[i] ? ratio > 1 + distill->clip_high : ratio < 1 - distill->clip_low;
}

static double limited(double gap, double most)
{
    return most > 0 ? fmin(most, fmax(-most, gap)) : gap;
}

/* Computes the mean of (s - t)^2 / 2 over the taught tokens of the minibatch, each with its weight kd, where s is the
 * policy's and t the teacher's log-prob, at most the task's clip_gap away from s. The gradient s - t is 0 where the policy
 * has reached the edge of the task's clip range. Adds to batch->d_log_prob and result->loss; does nothing if no token is
 * taught. */
static void teacher_distance(struct minibatch *b, struct loss_result *result)
{
    double n = 0, sum = 0, clipped = 0;
    for (size_t i = 0; i < b->n * b->width; i++)
        n += b->kd[i] > 0 && b->written[i];
    for (size_t i = 0; i < b->n * b->width; i++) {
        double weight = (double)b->kd[i];
        if (!(weight > 0) || !b->written[i])
            continue;
        const struct trainer_distill *distill = &b->tasks[b->task[i / b->width]].algorithm.distill;
        double gap = limited((double)b->log_prob[i] - (double)b->reference[i], distill->clip_gap);
        bool edge = is_at_the_edge(b, i, distill);
        sum += weight * gap * gap / 2;
        clipped += edge;
        b->d_log_prob[i] += edge ? 0 : (float)(weight * gap / n);
    }
    if (n <= 0)
        return;
    result->distilled = sum / n;
    result->distill_clipped = clipped / n;
    result->loss += result->distilled;
}

/* ---- losses with a weight per token: cross-entropy (ce), distance to a teacher (ref_kl), DPPO and IPO ---- */

static bool has_weights(const struct minibatch *b, const float *weight)
{
    for (size_t i = 0; i < b->n * b->width; i++)
        if (weight[i] > 0)
            return true;
    return false;
}

static void add_row(struct trainer_streams *sums, const struct rl_stream_metrics *row)
{
    sums->n_rl += row->rl_ran;
    sums->n_ce += row->ce_ran;
    sums->n_ref_kl += row->ref_kl_ran;
    sums->is_masked += row->is_masked;
    sums->masked_mismatch_kl += row->masked_mismatch_kl;
    sums->unmasked_mismatch_kl += row->unmasked_mismatch_kl;
    sums->nll += row->nll;
    sums->ref_kl += row->ref_kl;
    sums->ref_is_masked += row->ref_is_masked;
    sums->ref_masked_mismatch_kl += row->ref_masked_mismatch_kl;
    sums->ref_unmasked_mismatch_kl += row->ref_unmasked_mismatch_kl;
}

/* Adds to batch->d_log_prob, to total->loss and to its components. Each component is divided by its own number of tokens, so that the length of
 * one environment's answers does not affect another environment's learning rate. Does nothing if no token has a weight.
 * The rl component is computed here only for stream losses, with its weights multiplied by the importance weights;
 * otherwise a policy loss has already handled it. Scales are counts of this minibatch, but at least 1: an empty stream
 * has loss 0, and 0 / 0 would spread through the sum. Gradients are added at wanted tokens only, because the other
 * log-probs are left over from an earlier minibatch. */
static enum rl_status stream_losses(struct minibatch *b, const struct trainer_loss *loss, struct loss_result *total,
                                    struct rl_error *core)
{
    bool rl_is_stream = loss_is_stream(loss);
    for (size_t i = 0; i < b->n * b->width; i++)
        b->rl[i] = rl_is_stream && b->mask[i] ? b->rl[i] * b->weight[i] : 0;
    if (!rl_is_stream && !has_weights(b, b->ce) && !has_weights(b, b->ref_kl))
        return RL_OK;
    struct rl_sequences sequences = {b->n, b->first, b->written};
    struct rl_streamsf streams = {.trainer = b->log_prob,
                                  .inference = b->sampled,
                                  .advantages = b->advantage,
                                  .ref = b->reference,
                                  .rl_weights = b->rl,
                                  .ce_weights = b->ce,
                                  .ref_kl_weights = b->ref_kl};
    struct rl_stream_options options;
    struct rl_stream_counts counts = {0};
    struct rl_stream_result result;
    rl_stream_options_init(&options);
    rl_stream_countf(&sequences, &streams, &counts);
    options.kind = loss->name == TRAINER_LOSS_IPO ? RL_STREAM_IPO : RL_STREAM_DPPO;
    options.rl_scale = fmax(1, (double)counts.rl);
    options.ce_scale = fmax(1, (double)counts.ce);
    options.ref_kl_scale = fmax(1, (double)counts.ref_kl);
    enum rl_status status = rl_stream_lossf(&sequences, &streams, &options, b->d_part, b->streams, &result, core);
    for (size_t i = 0; i < b->n * b->width && status == RL_OK; i++)
        b->d_log_prob[i] += b->wanted[i] ? b->d_part[i] : 0;
    if (status != RL_OK)
        return status;
    for (size_t i = 0; i < b->n; i++)
        add_row(&total->streams, &b->streams[i]);
    const double losses[] = {result.rl, result.ce, result.ref_kl};
    for (size_t i = 0; i < 3; i++)
        total->component[i].loss += losses[i];
    total->loss += result.loss;
    return RL_OK;
}

/* ---- the KL penalty in the loss: the distance to the policy that training started from ---- */

/*
 * Replaces k and its gradient, token by token, by those of min(r k, clip(r) k). r is the ratio to the old policy;
 * weighting by r turns a mean over samples of the old policy into a mean over samples of the current policy. Where the
 * clipped product is the smaller one, r has no gradient.
 */
static void weigh_kl(const struct minibatch *b, const struct trainer_loss *loss, float *kl, float *d_kl)
{
    for (size_t i = 0, at = 0; i < b->n * b->width; i++) {
        if (!b->written[i])
            continue;
        double l = fmin(fmax((double)b->log_prob[i] - (double)b->old[i], -20), 20);
        double ratio = exp(l), k = (double)kl[at], d = (double)d_kl[at];
        double clipped = fmin(fmax(ratio, 1 - loss->clip_low), 1 + loss->clip_high);
        bool free = ratio * k <= clipped * k;
        kl[at] = (float)((free ? ratio : clipped) * k);
        d_kl[at++] = (float)(free ? ratio * (k + d) : clipped * d);
    }
}

/* The mean of rl_unbiased_kl over the policy's tokens, whose ratio is to the sampler. */
static enum rl_status unbiased_kl(struct minibatch *b, const struct trainer_loss *loss, double *value, struct rl_error *core)
{
    const struct rl_batch batch = {b->n, b->width, b->written, NULL, NULL};
    float *kl = b->entropy, *slope = b->d_part;
    size_t n = 0, cells = b->n * b->width;
    enum rl_status status =
        rl_unbiased_klf(&batch, (enum rl_kl)loss->kl_estimator, b->log_prob, b->start, b->sampled, kl, slope, core);
    for (size_t i = 0; i < cells; i++)
        n += b->written[i];
    for (size_t i = 0; i < cells && status == RL_OK; i++)
        if (b->written[i]) {
            *value += loss->kl_coef * (double)kl[i] / (double)n;
            b->d_log_prob[i] += (float)(loss->kl_coef * (double)slope[i] / (double)n);
        }
    return status;
}

/* Adds kl_coef times the mean of the KL estimator over the policy's tokens to *value, and its gradient to
 * batch->d_log_prob. Overwrites batch->entropy.
 * The default estimator is k3 (Schulman, "Approximating KL divergence", 2020): it has low variance and is never
 * negative, so that a mean over few tokens cannot reward moving away. Packs the policy's tokens together first. */
static enum rl_status reference_kl(struct minibatch *b, const struct trainer_loss *loss, double *value, struct rl_error *core)
{
    double coef = loss->kl_coef;
    if (loss->kl_place == TRAINER_KL_UNBIASED)
        return unbiased_kl(b, loss, value, core);
    size_t n = 0;
    float *now = b->d_part, *then = b->entropy; /* measure() has already read entropy, so it serves as scratch memory */
    for (size_t i = 0; i < b->n * b->width; i++)
        if (b->written[i]) {
            now[n] = b->log_prob[i];
            then[n++] = b->start[i];
        }
    enum rl_status status =
        rl_kl_penaltyf((enum rl_kl)loss->kl_estimator, loss->kl_straight_through, n, now, then, then, now, core);
    if (status == RL_OK && loss->kl_place == TRAINER_KL_WEIGHTED)
        weigh_kl(b, loss, then, now);
    for (size_t i = 0, at = 0; i < b->n * b->width && status == RL_OK; i++)
        if (b->written[i]) {
            *value += coef * (double)then[at] / (double)n;
            b->d_log_prob[i] += (float)(coef * (double)now[at++] / (double)n);
        }
    return status;
}

void minibatch_leave_out_likely(struct minibatch *b)
{
    for (size_t i = 0; i < b->n * b->width; i++) {
        double below = b->tasks[b->task[i / b->width]].algorithm.echo_below;
        if (below < 1 && !b->written[i] && b->ce[i] > 0 && !(exp((double)b->log_prob[i]) < below))
            b->ce[i] = 0;
    }
}

/* ---- the loss of one minibatch and its gradient with respect to log-probs ---- */

/*
 * Counts the tokens of each component, and the mean distance to the policy that sampled over those of them that the policy
 * wrote. A tool's tokens have no log-prob at sampling.
 */
static void measure_components(const struct minibatch *b, struct loss_result *result)
{
    const float *const weights[] = {b->rl, b->ce, b->ref_kl};
    for (size_t k = 0; k < 3; k++) {
        struct loss_component *component = &result->component[k];
        double n = 0;
        for (size_t i = 0; i < b->n * b->width; i++) {
            if (!(weights[k][i] > 0))
                continue;
            component->tokens++;
            component->kl += b->written[i] ? (double)b->old[i] - (double)b->log_prob[i] : 0;
            n += b->written[i];
        }
        component->kl /= fmax(1, n);
    }
}

/*
 * Computes means over the policy's tokens: the entropy, and how far log-probs have moved since sampling. kl is the
 * plain difference (k1), which is unbiased. It can be negative, so noise is visible as noise in a curve.
 */
static void measure(const struct minibatch *b, struct loss_result *result)
{
    double entropy = 0, kl = 0;
    for (size_t i = 0; i < b->n * b->width; i++)
        if (b->written[i]) {
            entropy += (double)b->entropy[i];
            kl += (double)b->old[i] - (double)b->log_prob[i];
            result->n_tokens++;
        }
    measure_components(b, result);
    double n = fmax(1, (double)result->n_tokens);
    result->entropy = entropy / n;
    result->kl = kl / n;
}

/*
 * The order matters: measure() reads the entropies, which the KL penalty overwrites, and the policy loss writes the
 * gradient to which the other losses add.
 */
enum trainer_status minibatch_loss(struct minibatch *b, const struct trainer_loss *loss, struct workspace *workspace,
                                   struct loss_result *result, struct trainer_error *err)
{
    struct rl_error core = {RL_OK, ""};
    struct rl_loss_result out = {0};
    enum rl_status status = RL_OK;
    *result = (struct loss_result){0};
    memset(b->d_log_prob, 0, b->n * b->width * sizeof *b->d_log_prob);
    measure(b, result);
    if (b->n_rl > 0 && !loss_is_stream(loss))
        status = policy_loss(b, loss, workspace, result, &out, &core);
    result->loss = result->component[RL_COMPONENT_RL].loss = out.loss;
    result->clip_fraction = out.pg_clipfrac;
    if (status == RL_OK)
        status = stream_losses(b, loss, result, &core);
    if (status == RL_OK)
        teacher_distance(b, result);
    if (status == RL_OK && loss->kl_coef > 0 && loss->kl_place != TRAINER_KL_REWARD)
        status = reference_kl(b, loss, &result->loss, &core);
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "loss", status, &core);
}
