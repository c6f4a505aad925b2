#include "learn/value_loss.h"

#include <string.h>

#include <rlcore/loss.h>

#include "support/error.h"

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
