/*
 * environment_losses.c: see environment_losses.h. The loss is computed again for the rows of one environment, because a
 * mean over the tokens of several environments cannot be divided among them afterwards. Only kernels run again, no
 * network pass.
 */
#include "run/environment_losses.h"

#include "learn/minibatch_loss.h"
#include "recipe/recipe_needs.h"
#include "support/error.h"

double environment_losses_bytes(const struct trainer_recipe *recipe)
{
    size_t size = (size_t)recipe->training.minibatch, width = (size_t)recipe->model.max_tokens;
    double indices = (double)sizeof(size_t) * ((double)size + (double)recipe_rows(recipe));
    return recipe->n_tasks > 1 ? (double)minibatch_bytes(size, width) + indices : 0;
}

enum trainer_status environment_losses_open(struct environment_losses *losses, const struct trainer_recipe *recipe,
                                            struct trainer_error *err)
{
    size_t size = (size_t)recipe->training.minibatch;
    if (recipe->n_tasks < 2)
        return TRAINER_OK;
    losses->part = minibatch_new(size, (size_t)recipe->model.max_tokens);
    losses->rows = malloc(size * sizeof *losses->rows);
    losses->place = malloc(recipe_rows(recipe) * sizeof *losses->place);
    if (!losses->part || !losses->rows || !losses->place)
        return trainer_no_memory(err, (size_t)environment_losses_bytes(recipe));
    losses->part->clip_scaled = recipe_scales_clips(recipe);
    losses->part->bypass = recipe_bypass(recipe);
    losses->part->tasks = recipe->tasks;
    return TRAINER_OK;
}

void environment_losses_close(struct environment_losses *losses)
{
    free(losses->part);
    free(losses->rows);
    free(losses->place);
}

/* Gathers the rows of a task, with the log-probs that the learner has computed for the whole minibatch. */
static size_t gather(struct environment_losses *losses, const struct trainer_rollouts *r, const struct minibatch *b, int32_t task)
{
    struct minibatch *part = losses->part;
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        if (r->task[b->row[i]] == task) {
            losses->rows[n++] = b->row[i];
            losses->place[b->row[i]] = i;
        }
    minibatch_gather(part, r, losses->rows, n);
    for (size_t i = 0; i < n; i++)
        memcpy(part->log_prob + i * b->width, b->log_prob + losses->place[part->row[i]] * b->width,
               b->width * sizeof *b->log_prob);
    memset(part->entropy, 0, n * b->width * sizeof *part->entropy);
    return n;
}

enum trainer_status environment_losses_add(struct environment_losses *losses, const struct trainer_recipe *recipe,
                                           const struct trainer_rollouts *rollouts, const struct minibatch *minibatch,
                                           struct workspace *workspace, struct trainer_part env[TRAINER_ENVS_MAX],
                                           struct trainer_error *err)
{
    for (int32_t task = 0; losses->part && task < recipe->n_tasks; task++) {
        struct loss_result result;
        if (gather(losses, rollouts, minibatch, task) == 0)
            continue;
        TRY(minibatch_loss(losses->part, &recipe->loss, workspace, &result, err));
        env[task].loss += result.loss;
        env[task].kl += result.kl;
        env[task].tokens += result.n_tokens;
        losses->updates[task]++;
    }
    return TRAINER_OK;
}

void environment_losses_end(struct environment_losses *losses, const struct trainer_recipe *recipe,
                            struct trainer_part env[TRAINER_ENVS_MAX])
{
    for (int32_t task = 0; losses->part && task < recipe->n_tasks; task++) {
        env[task].loss /= fmax(1, losses->updates[task]);
        env[task].kl /= fmax(1, losses->updates[task]);
        losses->updates[task] = 0;
    }
}
