#include "learn/policy_loss.h"

#include <math.h>
#include <string.h>

#include <rlcore/a2tgpo.h>
#include <rlcore/compose.h>
#include <rlcore/offpolicy.h>

typedef enum rl_status policy_loss_fn(const struct rl_batch *batch, const struct rl_loss_inputf *in,
                                      const struct rl_loss_options *options, float *d_log_prob, struct rl_loss_result *out,
                                      struct rl_workspace *ws, struct rl_error *err);

/*
 * The losses that share one function type. TURN, COMPOSE and the stream losses have other parameters and are never
 * looked up here.
 */
static policy_loss_fn *const policy_losses[TRAINER_N_LOSSES] = {
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
    result->composed = (struct loss_composed){composed.backend.mean, composed.staleness.mean, composed.backend.capped,
                                              composed.staleness.capped, composed.weight_ess};
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
    result->after_tool = (struct loss_after_tool){share, after.pg_clipfrac, after.ratio_mean, after.ppo_kl};
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
    result->dropped = (double)out.n_tokens_dropped / fmax(1, n);
    return RL_OK;
}

/*
 * Clip ranges come from the recipe; by default the upper range is wider (0.2 and 0.28: DAPO, arXiv 2503.14476). clip_c
 * is the dual clip of PPO (arXiv 1912.09729).
 */
enum rl_status policy_loss(struct minibatch *b, const struct trainer_loss *loss, struct workspace *workspace,
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
