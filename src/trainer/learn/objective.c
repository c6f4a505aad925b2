/*
 * objective.c: see objective.h.
 *
 * Rows with tokens of the rl component come first in a minibatch, because the core's policy losses
 * take whole rows and their means run over the rows given: a row of opd or sft among them would
 * change the mean of the others. ce and ref_kl come from the stream loss, whose weights are per
 * token, and each component is divided by its own number of tokens, so that one environment's
 * length does not set another's learning rate.
 */
#include "learn/objective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/a2tgpo.h>
#include <rlcore/compose.h>
#include <rlcore/loss.h>
#include <rlcore/offpolicy.h>
#include <rlcore/stream_loss.h>

#include "support/carve.h"
#include "support/error.h"

static void carve_minibatch(struct minibatch *b, struct carve *block)
{
    size_t n = b->capacity * b->width;
    float **const reals[] = {&b->old,        &b->sampled,    &b->log_prob,  &b->entropy,
                             &b->advantage,  &b->clip_scale, &b->weight,    &b->rl,
                             &b->ce,         &b->ref_kl,     &b->reference, &b->start,
                             &b->d_log_prob, &b->d_part,     &b->kd,         &b->behaviour};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        *reals[i] = carve(block, n, sizeof(float));
    b->tokens = carve(block, n, sizeof(int32_t));
    b->turn = carve(block, n, sizeof(int32_t));
    b->mask = carve(block, n, 1);
    b->written = carve(block, n, 1);
    b->wanted = carve(block, n, 1);
    b->told = carve(block, n, 1);
    b->part = carve(block, n, 1);
    b->length = carve(block, b->capacity, sizeof(int32_t));
    b->first = carve(block, b->capacity + 1, sizeof(size_t));
    b->row = carve(block, b->capacity, sizeof(size_t));
}

size_t minibatch_bytes(size_t rows, size_t width)
{
    struct minibatch b = {.capacity = rows, .width = width};
    struct carve block = {NULL, 0};
    carve(&block, 1, sizeof b);
    carve_minibatch(&b, &block);
    return block.used;
}

struct minibatch *minibatch_new(size_t rows, size_t width)
{
    struct carve block = {carve_block(minibatch_bytes(rows, width)), 0};
    if (!block.base)
        return NULL;
    struct minibatch *b = carve(&block, 1, sizeof *b);
    *b = (struct minibatch){.capacity = rows, .width = width};
    carve_minibatch(b, &block);
    return b;
}

/* ---- gathering ---------------------------------------------------------------------------- */

/*
 * A minibatch is a copy: rows are picked in shuffled order, and the core's kernels want them side
 * by side. What is read in place instead would be read through an index by every loop of every
 * loss. Whole rows, padding too: the core's kernels take rows of one width.
 */
static void gather_reals(struct minibatch *b, const struct trainer_rollouts *r, size_t to,
                         size_t from)
{
    const struct {
        float *to;
        const float *from;
    } pairs[] = {
        {b->old, r->old},       {b->sampled, r->log_prob},      {b->advantage, r->advantage},
        {b->weight, r->weight}, {b->clip_scale, r->clip_scale}, {b->rl, r->rl},
        {b->ce, r->ce},         {b->ref_kl, r->ref_kl},         {b->reference, r->reference},
        {b->start, r->start},   {b->kd, r->kd},         {b->behaviour, r->behaviour}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        memcpy(pairs[i].to + to, pairs[i].from + from, b->width * sizeof(float));
}

/*
 * Turns of the rl component count on without a gap where a rejection has emptied one. The tool has
 * spoken where a token that is not the policy's stands behind one that is.
 */
static void gather_marks(struct minibatch *b, const struct trainer_rollouts *r, size_t to,
                         size_t from)
{
    int32_t turn = -1, before = -1;
    bool begun = false, told = false;
    for (size_t t = 0; t < b->width; t++) {
        begun = begun || r->mask[from + t];
        told = told || (begun && !r->mask[from + t]);
        b->written[to + t] = r->mask[from + t];
        b->told[to + t] = r->mask[from + t] && told;
        b->mask[to + t] = r->mask[from + t] && r->kept[from + t] && b->rl[to + t] > 0;
        b->wanted[to + t] = r->mask[from + t] || b->ce[to + t] > 0;
        if (b->mask[to + t] && r->turn[from + t] != before) {
            before = r->turn[from + t];
            turn++;
        }
        b->turn[to + t] = b->mask[to + t] ? turn : -1;
    }
}

/* Behind gather_marks, whose mask decides. What is not valued is 0, as it is added up. */
static void gather_values(struct minibatch *b, const struct trainer_rollouts *r, size_t to,
                          size_t from)
{
    for (size_t t = 0; t < b->width; t++) {
        bool valued = b->mask[to + t] && !isnan(r->returns[from + t]);
        b->valued[to + t] = valued;
        b->expected[to + t] = valued ? (float)r->expected[from + t] : 0;
        b->returns[to + t] = valued ? (float)r->returns[from + t] : 0;
        b->value[to + t] = 0;
    }
}

/*
 * Whether the row has tokens of the rl component decides which end of the minibatch it goes to. A
 * row is copied to the place where rl rows go, and once more if it is none: most rows are.
 */
static bool gather_row(struct minibatch *b, const struct trainer_rollouts *r, size_t i, size_t row)
{
    size_t to = i * b->width, from = row * r->width;
    gather_reals(b, r, to, from);
    gather_marks(b, r, to, from);
    if (b->value)
        gather_values(b, r, to, from);
    memcpy(b->tokens + to, r->tokens + from, b->width * sizeof *b->tokens);
    b->length[i] = r->length[row];
    b->row[i] = row;
    for (size_t t = 0; t < b->width; t++)
        if (b->mask[to + t])
            return true;
    return false;
}

void minibatch_gather(struct minibatch *b, const struct trainer_rollouts *r, const size_t *row,
                      size_t n)
{
    size_t others = n;
    b->n = n;
    b->n_rl = 0;
    for (size_t i = 0; i < n; i++) {
        if (gather_row(b, r, b->n_rl, row[i]))
            b->n_rl++;
        else
            (void)gather_row(b, r, --others, row[i]);
    }
    for (size_t i = 0; i <= n; i++)
        b->first[i] = i * b->width;
}

/* ---- the rl component by a policy loss ---------------------------------------------------- */

typedef enum rl_status policy_loss_fn(const struct rl_batch *batch, const struct rl_loss_inputf *in,
                                      const struct rl_loss_options *options, float *d_log_prob,
                                      struct rl_loss_result *out, struct rl_workspace *ws,
                                      struct rl_error *err);

/*
 * TURN and the stream losses have shapes of their own and are handled apart: there is no entry for
 * them, and none is asked for.
 */
static policy_loss_fn *const policy_losses[TRAINER_N_LOSSES] = {
    [TRAINER_LOSS_PPO] = rl_ppo_lossf,
    [TRAINER_LOSS_GSPO] = rl_gspo_lossf,
    [TRAINER_LOSS_CISPO] = rl_cispo_lossf,
    [TRAINER_LOSS_SAPO] = rl_sapo_lossf,
    [TRAINER_LOSS_GPG] = rl_gpg_lossf,
    [TRAINER_LOSS_GEO_MEAN] = rl_geo_mean_lossf,
    [TRAINER_LOSS_REINFORCE] = rl_reinforce_lossf,
};

/* A2TGPO's: one ratio per turn, a clip range per token, and an older form of aggregation. */
static enum rl_status turn_loss(struct minibatch *b, const struct trainer_loss *loss,
                                const struct rl_batch *batch, const struct rl_loss_inputf *in,
                                struct workspace *workspace, struct rl_loss_result *out,
                                struct rl_error *core)
{
    struct rl_turn_loss_options options;
    enum rl_status status;
    rl_turn_loss_options_init(&options);
    options.mode = (enum rl_agg_mode)loss->aggregation;
    options.clip_low = loss->clip_low;
    options.clip_high = loss->clip_high;
    CORE_CALL(status, workspace,
              rl_a2tgpo_turn_lossf(batch, in, b->clip_scale, &options, b->d_log_prob, NULL, out,
                                   &workspace->ws, core));
    return status;
}

/*
 * The four factors of an asynchronous run of experts, kept apart (rlcore/compose.h). Routes were
 * replayed in the forward pass already, and are compared where log-probs are (run/replay.c).
 */
static enum rl_status composed_loss(struct minibatch *b, const struct trainer_loss *loss,
                                    const struct rl_batch *batch, struct workspace *workspace,
                                    struct objective_result *result, struct rl_loss_result *out,
                                    struct rl_error *core)
{
    const struct rl_compose_inputf in = {.log_prob = b->log_prob,
                                         .proximal = b->old,
                                         .behaviour = b->behaviour,
                                         .sampler = b->sampled,
                                         .advantages = b->advantage};
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
    CORE_CALL(status, workspace,
              rl_compose_lossf(batch, &in, &options, &to, &composed, &workspace->ws, core));
    if (status != RL_OK)
        return status;
    *out = composed.loss;
    result->composed = (struct objective_composed){composed.backend.mean, composed.staleness.mean,
                                                   composed.backend.capped,
                                                   composed.staleness.capped, composed.weight_ess};
    return RL_OK;
}

static size_t count(const uint8_t *mask, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += mask[i];
    return sum;
}

/* One of the two parts of the tokens; their number is that of both. The gradient is added. */
static enum rl_status part_loss(struct minibatch *b, const struct trainer_loss *loss,
                                struct rl_loss_options options, bool told,
                                struct workspace *workspace, struct rl_loss_result *out,
                                struct rl_error *core)
{
    struct rl_batch batch = {b->n_rl, b->width, b->part, b->turn, NULL};
    struct rl_loss_inputf in = {b->log_prob, b->old, b->advantage, b->weight, b->entropy};
    size_t cells = b->n_rl * b->width;
    enum rl_status status = RL_OK;
    *out = (struct rl_loss_result){0};
    options.agg.batch_num_tokens = (double)count(b->mask, cells);
    for (size_t i = 0; i < cells; i++)
        b->part[i] = b->mask[i] && b->told[i] == told;
    if (count(b->part, cells) == 0)
        return RL_OK;
    CORE_CALL(status, workspace,
              policy_losses[loss->name](&batch, &in, &options, b->d_part, out, &workspace->ws,
                                        core));
    for (size_t i = 0; i < cells && status == RL_OK; i++)
        b->d_log_prob[i] += b->part[i] ? b->d_part[i] : 0;
    return status;
}

/*
 * What stands after the tool's words depends on what they were, and drifts further than what stands
 * before them: it may have a range of its own. Both parts share one mean over all tokens.
 */
static enum rl_status split_loss(struct minibatch *b, const struct trainer_loss *loss,
                                 const struct rl_loss_options *options,
                                 struct workspace *workspace, struct objective_result *result,
                                 struct rl_loss_result *out, struct rl_error *core)
{
    struct rl_loss_options own = *options;
    struct rl_loss_result told;
    own.clip_low = loss->after_tool.clip_low;
    own.clip_high = loss->after_tool.clip_high;
    enum rl_status status = part_loss(b, loss, *options, false, workspace, out, core);
    if (status == RL_OK)
        status = part_loss(b, loss, own, true, workspace, &told, core);
    if (status != RL_OK)
        return status;
    double n = (double)(out->n_tokens + told.n_tokens), share = (double)told.n_tokens / fmax(1, n);
    result->told =
        (struct objective_told){share, told.pg_clipfrac, told.ratio_mean, told.ppo_kl};
    out->loss += told.loss;
    out->pg_clipfrac = (1 - share) * out->pg_clipfrac + share * told.pg_clipfrac;
    return RL_OK;
}

/* Turns count on without a gap where one was dropped. */
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
 * By the policy as it is now, so that what an update of this iteration has pushed too far from the
 * sampler is left alone by the next.
 */
static enum rl_status mask_units(struct minibatch *b, const struct trainer_opsm *opsm,
                                 struct objective_result *result, struct rl_error *core)
{
    struct rl_batch batch = {b->n_rl, b->width, b->mask, b->turn, NULL};
    const struct rl_opsm_options options = {
        .unit = opsm->unit == TRAINER_OPSM_TURN ? RL_OPSM_TURN : RL_OPSM_ROW,
        .per_token = opsm->per_token,
        .lower = opsm->lower,
        .upper = opsm->upper,
        .negative_only = opsm->negative_only};
    struct rl_opsm_result out;
    double n = (double)count(b->mask, b->n_rl * b->width);
    enum rl_status status =
        rl_opsmf(&batch, &options, b->log_prob, b->sampled,
                 opsm->negative_only ? b->advantage : NULL, b->part, NULL, &out, core);
    if (status != RL_OK)
        return status;
    memcpy(b->mask, b->part, b->n_rl * b->width);
    number_turns(b);
    result->dropped = (double)out.n_tokens_dropped / fmax(1, n);
    return RL_OK;
}

/*
 * Clip ranges are the recipe's (0.2 and 0.28: the upper one wider, DAPO, arXiv 2503.14476); clip_c
 * is PPO's dual clip (arXiv 1912.09729).
 */
static enum rl_status policy_loss(struct minibatch *b, const struct trainer_loss *loss,
                                  struct workspace *workspace, struct objective_result *result,
                                  struct rl_loss_result *out, struct rl_error *core)
{
    struct rl_batch batch = {b->n_rl, b->width, b->mask, b->turn, NULL};
    struct rl_loss_inputf in = {b->log_prob, b->old, b->advantage, b->weight, b->entropy};
    struct rl_loss_options options;
    enum rl_status status;
    if (loss->opsm.unit != TRAINER_OPSM_NONE) {
        status = mask_units(b, &loss->opsm, result, core);
        if (status != RL_OK || count(b->mask, b->n_rl * b->width) == 0)
            return status;
    }
    if (loss->name == TRAINER_LOSS_TURN)
        return turn_loss(b, loss, &batch, &in, workspace, out, core);
    if (loss->name == TRAINER_LOSS_COMPOSE)
        return composed_loss(b, loss, &batch, workspace, result, out, core);
    rl_loss_options_init(&options);
    options.agg.mode = (enum rl_agg_mode)loss->aggregation;
    options.clip_low = loss->clip_low;
    options.clip_high = loss->clip_high;
    options.clip_c = loss->clip_c;
    if (loss->after_tool.own_clip)
        return split_loss(b, loss, &options, workspace, result, out, core);
    CORE_CALL(
        status, workspace,
        policy_losses[loss->name](&batch, &in, &options, b->d_log_prob, out, &workspace->ws, core));
    return status;
}

/* ---- streams ------------------------------------------------------------------------------ */

/* A component nobody is in costs nothing: most recipes have one of the three. */
static bool has_members(const struct minibatch *b, const float *weight)
{
    for (size_t i = 0; i < b->n * b->width; i++)
        if (weight[i] > 0)
            return true;
    return false;
}

static bool rl_is_stream(const struct trainer_loss *loss)
{
    return loss->name == TRAINER_LOSS_DPPO || loss->name == TRAINER_LOSS_IPO;
}

/*
 * What a policy loss has already taken is absent from the rl stream; importance weights multiply
 * it.
 */
static void weigh_rl_stream(struct minibatch *b, const struct trainer_loss *loss)
{
    for (size_t i = 0; i < b->n * b->width; i++)
        b->rl[i] = rl_is_stream(loss) && b->mask[i] ? b->rl[i] * b->weight[i] : 0;
}

/*
 * Scales are counts of this minibatch, at least 1: a stream nobody is in has loss 0, and 0 / 0
 * would spread through the sum. The gradient is added to that of the policy loss at wanted tokens
 * only: elsewhere log-probs are those of an earlier minibatch.
 */
static enum rl_status stream_loss(struct minibatch *b, const struct trainer_loss *loss,
                                  double *value, struct rl_error *core)
{
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
    enum rl_status status =
        rl_stream_lossf(&sequences, &streams, &options, b->d_part, NULL, &result, core);
    for (size_t i = 0; i < b->n * b->width && status == RL_OK; i++)
        b->d_log_prob[i] += b->wanted[i] ? b->d_part[i] : 0;
    *value += result.loss;
    return status;
}

/* ---- distance to a teacher ---------------------------------------------------------------- */

/*
 * Whether an update has already moved the policy to the edge of the clip range in the direction in
 * which the teacher pulls: rollouts are used several times, and the loss has no ratio of its own.
 */
static bool is_at_the_edge(const struct minibatch *b, size_t i, const struct trainer_loss *loss)
{
    double ratio = exp((double)b->log_prob[i] - (double)b->old[i]);
    return b->reference[i] > b->log_prob[i] ? ratio > 1 + loss->clip_high
                                            : ratio < 1 - loss->clip_low;
}

/*
 * K2 of rlcore/distill.h over the taught tokens of the minibatch, each with its weight: mean of
 * (s - t)^2 / 2, gradient s - t but at the edge of the clip range.
 */
static void teach(struct minibatch *b, const struct trainer_loss *loss,
                  struct objective_result *result)
{
    double n = 0, sum = 0, clipped = 0;
    for (size_t i = 0; i < b->n * b->width; i++)
        n += b->kd[i] > 0 && b->written[i];
    for (size_t i = 0; i < b->n * b->width; i++) {
        double gap = (double)b->log_prob[i] - (double)b->reference[i], weight = (double)b->kd[i];
        if (!(weight > 0) || !b->written[i])
            continue;
        bool edge = is_at_the_edge(b, i, loss);
        sum += weight * gap * gap / 2;
        clipped += edge;
        b->d_log_prob[i] += edge ? 0 : (float)(weight * gap / n);
    }
    result->distilled = n > 0 ? sum / n : 0;
    result->distill_clipped = n > 0 ? clipped / n : 0;
    result->loss += result->distilled;
}

/* ---- distance to the start ---------------------------------------------------------------- */

/*
 * k and its gradient, token by token, become those of min(r k, clip(r) k): r the ratio to the old
 * policy, which makes of a mean over old samples one over the policy's own. Where the clip is the
 * smaller one, r has no gradient.
 */
static void weigh_kl(const struct minibatch *b, const struct trainer_loss *loss, float *kl,
                     float *d_kl)
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

/*
 * Mean of k3 over the policy's tokens, which are first moved together. k3 (Schulman,
 * "Approximating KL divergence", 2020) has low variance and is never negative, so that a mean of
 * few tokens cannot reward moving away.
 */
static enum rl_status kl_penalty(struct minibatch *b, const struct trainer_loss *loss,
                                 double *value, struct rl_error *core)
{
    double coef = loss->kl_coef;
    size_t n = 0;
    float *now = b->d_part, *then = b->entropy; /* entropy has been read */
    for (size_t i = 0; i < b->n * b->width; i++)
        if (b->written[i]) {
            now[n] = b->log_prob[i];
            then[n++] = b->start[i];
        }
    enum rl_status status = rl_kl_penaltyf((enum rl_kl)loss->kl_estimator, false, n, now, then,
                                           then, now, core);
    if (status == RL_OK && loss->kl_place == TRAINER_KL_WEIGHTED)
        weigh_kl(b, loss, then, now);
    for (size_t i = 0, at = 0; i < b->n * b->width && status == RL_OK; i++)
        if (b->written[i]) {
            *value += coef * (double)then[at] / (double)n;
            b->d_log_prob[i] += (float)(coef * (double)now[at++] / (double)n);
        }
    return status;
}

/*
 * Over the policy's tokens: mean entropy, and how far log-probs have moved. kl is the plain
 * difference (k1), without bias; that it can be negative shows noise in a curve for what it is.
 */
static void measure(const struct minibatch *b, struct objective_result *result)
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
 * measure() comes first because the penalty uses the room of the entropies. The policy loss writes
 * its gradient, the others add to it: hence the order, and the zeros before.
 */
enum trainer_status objective(struct minibatch *b, const struct trainer_loss *loss,
                              struct workspace *workspace, struct objective_result *result,
                              struct trainer_error *err)
{
    struct rl_error core = {RL_OK, ""};
    struct rl_loss_result out = {0};
    enum rl_status status = RL_OK;
    *result = (struct objective_result){0};
    memset(b->d_log_prob, 0, b->n * b->width * sizeof *b->d_log_prob);
    measure(b, result);
    if (b->n_rl > 0 && !rl_is_stream(loss))
        status = policy_loss(b, loss, workspace, result, &out, &core);
    result->loss = out.loss;
    result->clip_fraction = out.pg_clipfrac;
    weigh_rl_stream(b, loss);
    if (status == RL_OK &&
        (rl_is_stream(loss) || has_members(b, b->ce) || has_members(b, b->ref_kl)))
        status = stream_loss(b, loss, &result->loss, &core);
    if (status == RL_OK && has_members(b, b->kd))
        teach(b, loss, result);
    if (status == RL_OK && loss->kl_coef > 0 && loss->kl_place != TRAINER_KL_REWARD)
        status = kl_penalty(b, loss, &result->loss, &core);
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "loss", status, &core);
}

/* ---- values ------------------------------------------------------------------------------- */

/*
 * PPO's clipped loss, averaged as the policy's is. The policy's gradient and this one go through the
 * same layers; the weight says how much of them the values may claim.
 */
enum trainer_status objective_values(struct minibatch *b, const struct trainer_recipe *recipe,
                                     struct workspace *workspace, struct objective_result *result,
                                     struct trainer_error *err)
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
              rl_value_lossf(&batch, &agg, recipe->value.clip, b->value, b->expected, b->returns,
                             b->d_value, &out, &workspace->ws, &core));
    for (size_t i = 0; i < n; i++)
        b->d_value[i] *= (float)recipe->value.coef;
    result->value_loss = out.loss;
    result->value_clip_fraction = out.vf_clipfrac;
    result->loss += recipe->value.coef * out.loss;
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "value loss", status, &core);
}
