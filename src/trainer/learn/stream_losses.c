/* stream_losses.c: see stream_losses.h. */
#include "learn/stream_losses.h"

#include <math.h>

#include <rlcore/stream_loss.h>

#include "learn/policy_loss.h"

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

/*
 * The rl component is computed here only for stream losses, with its weights multiplied by the importance weights;
 * otherwise a policy loss has already handled it. Scales are counts of this minibatch, but at least 1: an empty stream
 * has loss 0, and 0 / 0 would spread through the sum. Gradients are added at wanted tokens only, because the other
 * log-probs are left over from an earlier minibatch.
 */
enum rl_status stream_losses(struct minibatch *b, const struct trainer_loss *loss, struct loss_result *total,
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
