#include "learn/minibatch_loss.h"

#include <rlcore/a2tgpo.h>
#include <rlcore/algorithm.h>
#include <rlcore/compose.h>
#include <rlcore/loss.h>
#include <rlcore/offpolicy.h>
#include <rlcore/status.h>
#include <rlcore/stream_loss.h>

#include "support/error.h"
#include "support/workspace.h"

/*
 * PPO's clipped value loss (arXiv 1707.06347), averaged as the policy's loss is. The gradients of both losses go
 * through the same layers, where value.coef is the weight of the value loss.
 */
enum trainer_status minibatch_value_loss(struct minibatch *b, const struct trainer_recipe *recipe, struct workspace *workspace,
                                         struct loss_result *result, struct trainer_error *err)
{
    const struct rl_batch batch = {b->n_rl, b->width, b->valued, NULL, NULL};
    const struct rl_agg agg = {.mode = (enum rl_agg_mode)recipe->loss.aggregation};
    struct rl_error core = {RL_OK, ""};
    struct rl_value_result out = {0};
    enum rl_status status = RL_OK;
    size_t n = b->n * b->width;
    memset(b->d_value, 0, n * sizeof *b->d_value);
    for (size_t i = 0; i < b->n_rl * b->width; i++)
        result->n_valued += b->valued[i];
    if (result->n_valued == 0)
        return TRAINER_OK;
    CORE_CALL(status, workspace,
              rl_value_lossf(&batch, &agg, recipe->value.clip, b->value, b->expected, b->returns, b->d_value, &out,
                             &workspace->ws, &core));
    for (size_t i = 0; i < n; i++)
        b->d_value[i] *= (float)recipe->value.coef;
    result->value_loss = out.loss;
    result->value_clip_fraction = out.vf_clipfrac;
    result->loss += recipe->value.coef * out.loss;
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "value loss", status, &core);
}

/* ---- computes the loss of the rl component with one of the core's policy losses (rlcore/loss.h) ---- */

/* Whether a loss is a stream loss (minibatch_loss.c), which is computed per token and not by policy_loss. */
static inline bool loss_is_stream(const struct trainer_loss *loss)
{
    return loss->name == TRAINER_LOSS_DPPO || loss->name == TRAINER_LOSS_IPO;
}

/*
 * The losses that share one function type. TURN, COMPOSE and the stream losses have other parameters and are never
 * looked up here.
 */
static rl_policy_lossf *const policy_losses[TRAINER_N_LOSSES] = {
    [TRAINER_LOSS_PPO] = rl_ppo_lossf,
    [TRAINER_LOSS_GSPO] = rl_gspo_lossf,
    [TRAINER_LOSS_CISPO] = rl_cispo_lossf,
    [TRAINER_LOSS_SAPO] = rl_sapo_lossf,
    [TRAINER_LOSS_GPG] = rl_gpg_lossf,
    [TRAINER_LOSS_GEO_MEAN] = rl_geo_mean_lossf,
    [TRAINER_LOSS_REINFORCE] = rl_reinforce_lossf,
    [TRAINER_LOSS_DPPO_TV] = rl_dppo_tv_lossf,
    [TRAINER_LOSS_DPPO_KL] = rl_dppo_kl_lossf,
    [TRAINER_LOSS_DRO] = rl_dro_lossf,
    [TRAINER_LOSS_VESPO] = rl_vespo_lossf,
    [TRAINER_LOSS_LUSPO] = rl_gspo_lossf,
};

/*
 * The inputs that the losses share. Clip scales are left out if no algorithm computes any, because a range times 1 may
 * differ from the range in its last bit.
 */
static struct rl_loss_inputf loss_input(const struct minibatch *b)
{
    return (struct rl_loss_inputf){.log_prob = b->log_prob,
                                   .old_log_prob = b->old,
                                   .advantages = b->advantage,
                                   .weights = b->weight,
                                   .entropy = b->entropy,
                                   .clip_scale = b->clip_scaled ? b->clip_scale : NULL};
}

/* A2TGPO's loss: one ratio per turn, a clip range per token, and an older form of aggregation. */
static enum rl_status turn_loss(struct minibatch *b, const struct trainer_loss *loss, const struct rl_batch *batch,
                                const struct rl_loss_inputf *in, struct workspace *workspace, struct rl_loss_result *out,
                                struct rl_error *core)
{
    struct rl_turn_loss_options options;
    enum rl_status status;
    rl_turn_loss_options_init(&options);
    options.mode = (enum rl_agg_mode)loss->aggregation;
    options.clip_low = loss->clip_low;
    options.clip_high = loss->clip_high;
    CORE_CALL(status, workspace, rl_a2tgpo_turn_lossf(batch, in, NULL, &options, b->d_log_prob, NULL, out, &workspace->ws, core));
    return status;
}

/*
 * Computes the loss with the four separate factors of an asynchronous run with a mixture of experts (rlcore/compose.h).
 * Routes were already replayed in the forward pass; run/route_replay.c compares them.
 */
static enum rl_status composed_loss(struct minibatch *b, const struct trainer_loss *loss, const struct rl_batch *batch,
                                    struct workspace *workspace, struct loss_result *result, struct rl_loss_result *out,
                                    struct rl_error *core)
{
    const struct rl_compose_inputf in = {.log_prob = b->log_prob,
                                         .proximal = b->old,
                                         .behaviour = b->behaviour,
                                         .sampler = b->sampled,
                                         .advantages = b->advantage,
                                         .clip_scale = b->clip_scaled ? b->clip_scale : NULL};
    const struct rl_compose_outputf to = {.mask = b->part, .d_log_prob = b->d_log_prob};
    double cap = loss->compose.staleness_cap;
    struct rl_compose_options options;
    struct rl_compose_result composed;
    enum rl_status status;
    rl_compose_options_of(&options, NULL);
    options.loss.agg.mode = (enum rl_agg_mode)loss->aggregation;
    options.loss.clip_low = loss->clip_low;
    options.loss.clip_high = loss->clip_high;
    options.loss.clip_c = loss->clip_c;
    options.backend_cap = loss->compose.backend_cap;
    options.staleness_cap = cap > 0 ? cap : INFINITY;
    options.per_turn = loss->compose.per_turn;
    CORE_CALL(status, workspace, rl_compose_lossf(batch, &in, &options, &to, &composed, &workspace->ws, core));
    if (status != RL_OK)
        return status;
    *out = composed.loss;
    result->offpolicy.backend = composed.backend.mean;
    result->offpolicy.staleness = composed.staleness.mean;
    result->offpolicy.backend_capped = composed.backend.capped;
    result->offpolicy.staleness_capped = composed.staleness.capped;
    result->offpolicy.compose_ess = composed.weight_ess;
    return RL_OK;
}

/*
 * verl's bypass mode: the sampler's log-probs are the old ones, and the current policy decides in every update which tokens
 * are rejected. ppo clips the ratio to the sampler; reinforce multiplies by the truncated ratio.
 */
static enum rl_status bypass_loss(struct minibatch *b, const struct trainer_loss *loss, const struct rl_batch *batch,
                                  const struct rl_loss_options *options, struct workspace *workspace, struct rl_loss_result *out,
                                  struct rl_error *core)
{
    const struct trainer_correction *c = b->bypass;
    enum rl_bypass_kind kind = loss->name == TRAINER_LOSS_REINFORCE ? RL_BYPASS_REINFORCE : RL_BYPASS_PPO_CLIP;
    const struct rl_correction_options correction = {.is = c->sequence_level ? RL_IS_SEQUENCE : RL_IS_TOKEN,
                                                     .is_threshold = c->cap,
                                                     .is_lower = c->floor,
                                                     .rs = c->reject[0] ? c->reject : NULL,
                                                     .rs_threshold = c->reject[0] ? c->reject_threshold : NULL};
    struct rl_metric items[RL_METRICS_ENOUGH];
    struct rl_metrics metrics = {items, 0, RL_METRICS_ENOUGH};
    enum rl_status status;
    CORE_CALL(status, workspace,
              rl_bypass_lossf(batch, kind, &correction, options, b->log_prob, b->sampled, b->advantage, b->d_log_prob, out,
                              &metrics, &workspace->ws, core));
    return status;
}

static size_t count(const uint8_t *mask, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += mask[i];
    return sum;
}

/*
 * Computes the loss of the tokens before (after_tool false) or after the tool's first answer, and adds its gradient.
 * Both parts are divided by the number of tokens of both parts together.
 */
static enum rl_status part_loss(struct minibatch *b, const struct trainer_loss *loss, struct rl_loss_options options,
                                bool after_tool, struct workspace *workspace, struct rl_loss_result *out, struct rl_error *core)
{
    struct rl_batch batch = {b->n_rl, b->width, b->part, b->turn, NULL};
    struct rl_loss_inputf in = loss_input(b);
    size_t cells = b->n_rl * b->width;
    enum rl_status status = RL_OK;
    *out = (struct rl_loss_result){0};
    options.agg.batch_num_tokens = (double)count(b->mask, cells);
    for (size_t i = 0; i < cells; i++)
        b->part[i] = b->mask[i] && b->after_tool[i] == after_tool;
    if (count(b->part, cells) == 0)
        return RL_OK;
    CORE_CALL(status, workspace, policy_losses[loss->name](&batch, &in, &options, b->d_part, out, &workspace->ws, core));
    for (size_t i = 0; i < cells && status == RL_OK; i++)
        b->d_log_prob[i] += b->part[i] ? b->d_part[i] : 0;
    return status;
}

/*
 * Tokens after the tool's first answer depend on that answer and drift further than earlier tokens, so they may have
 * their own clip range. Both parts share one mean over all tokens.
 */
static enum rl_status split_loss(struct minibatch *b, const struct trainer_loss *loss, const struct rl_loss_options *options,
                                 struct workspace *workspace, struct loss_result *result, struct rl_loss_result *out,
                                 struct rl_error *core)
{
    struct rl_loss_options own = *options;
    struct rl_loss_result after;
    own.clip_low = loss->after_tool.clip_low;
    own.clip_high = loss->after_tool.clip_high;
    enum rl_status status = part_loss(b, loss, *options, false, workspace, out, core);
    if (status == RL_OK)
        status = part_loss(b, loss, own, true, workspace, &after, core);
    if (status != RL_OK)
        return status;
    double n = (double)(out->n_tokens + after.n_tokens), share = (double)after.n_tokens / fmax(1, n);
    result->offpolicy.after_tool = share;
    result->offpolicy.after_tool_clip_fraction = after.pg_clipfrac;
    result->offpolicy.after_tool_ratio = after.ratio_mean;
    result->offpolicy.after_tool_kl = after.ppo_kl;
    out->loss += after.loss;
    out->pg_clipfrac = (1 - share) * out->pg_clipfrac + share * after.pg_clipfrac;
    return RL_OK;
}

/* Renumbers the turns without gaps after some turns were dropped. */
static void number_turns(struct minibatch *b)
{
    for (size_t row = 0; row < b->n_rl; row++) {
        int32_t turn = -1, before = -1;
        for (size_t i = row * b->width; i < (row + 1) * b->width; i++) {
            if (b->mask[i] && b->turn[i] != before) {
                before = b->turn[i];
                turn++;
            }
            b->turn[i] = b->mask[i] ? turn : -1;
        }
    }
}

/*
 * OPSM: drops rows or turns in which the current policy is too far from the sampler. Because the distance uses the
 * current policy, an update leaves out the units that an earlier update of the same iteration has pushed too far.
 */
static enum rl_status drop_far_units(struct minibatch *b, const struct trainer_opsm *opsm, struct loss_result *result,
                                     struct rl_error *core)
{
    struct rl_batch batch = {b->n_rl, b->width, b->mask, b->turn, NULL};
    const struct rl_opsm_options options = {.unit = opsm->unit == TRAINER_OPSM_TURN ? RL_OPSM_TURN : RL_OPSM_ROW,
                                            .per_token = opsm->per_token,
                                            .lower = opsm->lower,
                                            .upper = opsm->upper,
                                            .negative_only = opsm->negative_only};
    struct rl_opsm_result out;
    double n = (double)count(b->mask, b->n_rl * b->width);
    enum rl_status status =
        rl_opsmf(&batch, &options, b->log_prob, b->sampled, opsm->negative_only ? b->advantage : NULL, b->part, NULL, &out, core);
    if (status != RL_OK)
        return status;
    memcpy(b->mask, b->part, b->n_rl * b->width);
    number_turns(b);
    result->offpolicy.opsm_dropped = (double)out.n_tokens_dropped / fmax(1, n);
    return RL_OK;
}

/* Writes batch->d_log_prob of the first n_rl rows, and *out. The metrics of optional parts go to *result. OPSM may
 * remove tokens from batch->mask.
 * Clip ranges come from the recipe; by default the upper range is wider (0.2 and 0.28: DAPO, arXiv 2503.14476). clip_c
 * is the dual clip of PPO (arXiv 1912.09729). */
static enum rl_status policy_loss(struct minibatch *b, const struct trainer_loss *loss, struct workspace *workspace,
                                  struct loss_result *result, struct rl_loss_result *out, struct rl_error *core)
{
    struct rl_batch batch = {b->n_rl, b->width, b->mask, b->turn, NULL};
    struct rl_loss_inputf in = loss_input(b);
    struct rl_loss_options options;
    enum rl_status status;
    if (loss->opsm.unit != TRAINER_OPSM_NONE) {
        status = drop_far_units(b, &loss->opsm, result, core);
        if (status != RL_OK || count(b->mask, b->n_rl * b->width) == 0)
            return status;
    }
    if (loss->name == TRAINER_LOSS_TURN)
        return turn_loss(b, loss, &batch, &in, workspace, out, core);
    if (loss->name == TRAINER_LOSS_COMPOSE)
        return composed_loss(b, loss, &batch, workspace, result, out, core);
    rl_loss_options_init(&options);
    /* A recipe cannot choose the aggregation of gspo, whose paper has a mean per row, nor that of luspo, which is gspo with a sum. */
    options.agg.mode = loss->name == TRAINER_LOSS_GSPO    ? RL_AGG_SEQ_MEAN_TOKEN_MEAN
                       : loss->name == TRAINER_LOSS_LUSPO ? RL_AGG_SEQ_MEAN_TOKEN_SUM
                                                          : (enum rl_agg_mode)loss->aggregation;
    options.clip_low = loss->clip_low;
    options.clip_high = loss->clip_high;
    options.clip_c = loss->clip_c;
    options.dro_beta = loss->dro.beta;
    options.vespo_k_pos = loss->vespo.k_pos;
    options.vespo_lambda_pos = loss->vespo.lambda_pos;
    options.vespo_k_neg = loss->vespo.k_neg;
    options.vespo_lambda_neg = loss->vespo.lambda_neg;
    if (b->bypass)
        return bypass_loss(b, loss, &batch, &options, workspace, out, core);
    if (loss->after_tool.own_clip)
        return split_loss(b, loss, &options, workspace, result, out, core);
    CORE_CALL(status, workspace, policy_losses[loss->name](&batch, &in, &options, b->d_log_prob, out, &workspace->ws, core));
    return status;
}

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
    options.dppo_mask_low = loss->dppo.mask_low;
    options.dppo_mask_high = loss->dppo.mask_high;
    options.ipo_threshold = loss->ipo.threshold;
    options.kl_tau = loss->kl_tau;
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
        if (!b->trained[i])
            continue;
        double l = fmin(fmax((double)b->log_prob[i] - (double)b->old[i], -20), 20);
        double ratio = exp(l), k = (double)kl[at], d = (double)d_kl[at];
        double clipped = fmin(fmax(ratio, 1 - loss->clip_low), 1 + loss->clip_high);
        bool free = ratio * k <= clipped * k;
        kl[at] = (float)((free ? ratio : clipped) * k);
        d_kl[at++] = (float)(free ? ratio * (k + d) : clipped * d);
    }
}

/* The mean of rl_unbiased_kl over the trained tokens, whose ratio is to the sampler. */
static enum rl_status unbiased_kl(struct minibatch *b, const struct trainer_loss *loss, double *value, struct rl_error *core)
{
    const struct rl_batch batch = {b->n, b->width, b->trained, NULL, NULL};
    float *kl = b->entropy, *slope = b->d_part;
    size_t n = 0, cells = b->n * b->width;
    enum rl_status status =
        rl_unbiased_klf(&batch, (enum rl_kl)loss->kl_estimator, b->log_prob, b->start, b->sampled, kl, slope, core);
    for (size_t i = 0; i < cells; i++)
        n += b->trained[i];
    for (size_t i = 0; i < cells && status == RL_OK; i++)
        if (b->trained[i]) {
            *value += loss->kl_coef * (double)kl[i] / (double)n;
            b->d_log_prob[i] += (float)(loss->kl_coef * (double)slope[i] / (double)n);
        }
    return status;
}

/* Adds kl_coef times the mean of the KL estimator over the policy's trained tokens to *value, and its gradient to
 * batch->d_log_prob. Overwrites batch->entropy.
 * The default estimator is k3 (Schulman, "Approximating KL divergence", 2020): it has low variance and is never
 * negative, so that a mean over few tokens cannot reward moving away. Packs these tokens together first. */
static enum rl_status reference_kl(struct minibatch *b, const struct trainer_loss *loss, double *value, struct rl_error *core)
{
    double coef = loss->kl_coef;
    if (loss->kl_place == TRAINER_KL_UNBIASED)
        return unbiased_kl(b, loss, value, core);
    size_t n = 0;
    float *now = b->d_part, *then = b->entropy; /* measure() has already read entropy, so it serves as scratch memory */
    for (size_t i = 0; i < b->n * b->width; i++)
        if (b->trained[i]) {
            now[n] = b->log_prob[i];
            then[n++] = b->start[i];
        }
    enum rl_status status =
        rl_kl_penaltyf((enum rl_kl)loss->kl_estimator, loss->kl_straight_through, n, now, then, then, now, core);
    if (status == RL_OK && loss->kl_place == TRAINER_KL_WEIGHTED)
        weigh_kl(b, loss, then, now);
    for (size_t i = 0, at = 0; i < b->n * b->width && status == RL_OK; i++)
        if (b->trained[i]) {
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
        struct trainer_part *component = &result->component[k];
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
