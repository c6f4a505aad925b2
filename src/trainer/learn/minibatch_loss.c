/* minibatch_loss.c: see minibatch_loss.h. */
#include "learn/minibatch_loss.h"

#include <math.h>
#include <string.h>

#include "learn/policy_loss.h"
#include "learn/reference_kl.h"
#include "learn/stream_losses.h"
#include "learn/teacher_distance.h"
#include "support/error.h"

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
    double n = fmax(1, (double)result->n_tokens);
    result->entropy = entropy / n;
    result->kl = kl / n;
}

/*
 * The order matters: measure() reads the entropies, which the KL penalty overwrites, and the policy loss writes the
 * gradient to which the other losses add.
 */
enum trainer_status minibatch_loss(struct minibatch *b, const struct trainer_loss *loss,
                                   struct workspace *workspace, struct loss_result *result,
                                   struct trainer_error *err)
{
    struct rl_error core = {RL_OK, ""};
    struct rl_loss_result out = {0};
    enum rl_status status = RL_OK;
    *result = (struct loss_result){0};
    memset(b->d_log_prob, 0, b->n * b->width * sizeof *b->d_log_prob);
    measure(b, result);
    if (b->n_rl > 0 && !loss_is_stream(loss))
        status = policy_loss(b, loss, workspace, result, &out, &core);
    result->loss = out.loss;
    result->clip_fraction = out.pg_clipfrac;
    if (status == RL_OK)
        status = stream_losses(b, loss, &result->loss, &core);
    if (status == RL_OK)
        teacher_distance(b, loss, result);
    if (status == RL_OK && loss->kl_coef > 0 && loss->kl_place != TRAINER_KL_REWARD)
        status = reference_kl(b, loss, &result->loss, &core);
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "loss", status, &core);
}
