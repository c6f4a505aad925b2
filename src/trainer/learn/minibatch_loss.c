/* minibatch_loss.c: see minibatch_loss.h. */
#include "learn/minibatch_loss.h"

#include <math.h>
#include <string.h>

#include <rlcore/algorithm.h>

#include "learn/policy_loss.h"
#include "learn/reference_kl.h"
#include "learn/stream_losses.h"
#include "learn/teacher_distance.h"
#include "support/error.h"

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
