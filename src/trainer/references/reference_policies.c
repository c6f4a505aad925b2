#include "references/reference_policies.h"

#include "recipe/recipe_needs.h"
#include "support/error.h"

/*
 * Hinted rows are longer than their rollouts and need their own memory, which only recipes with opsd allocate. This
 * memory suffices for the rows of all tasks, so that the same size works for every task.
 */
static double hinted_rows_bytes(const struct trainer_recipe *recipe)
{
    double tokens = (double)recipe_rows(recipe) * recipe->model.max_tokens;
    return recipe_has_hints(recipe) ? 13 * tokens : 0;
}

/* Returns false when out of memory; hinted_rows_close also works after a failure. */
static bool hinted_rows_open(struct hinted_rows *hinted, const struct trainer_recipe *recipe)
{
    size_t rows = recipe_rows(recipe), tokens = rows * (size_t)recipe->model.max_tokens;
    if (!recipe_has_hints(recipe))
        return true;
    hinted->tokens = malloc(tokens * sizeof *hinted->tokens);
    hinted->wanted = malloc(tokens);
    hinted->log_prob = malloc(tokens * sizeof *hinted->log_prob);
    hinted->length = malloc(rows * sizeof *hinted->length);
    return hinted->tokens && hinted->wanted && hinted->log_prob && hinted->length;
}

static void hinted_rows_close(struct hinted_rows *hinted)
{
    free(hinted->tokens);
    free(hinted->wanted);
    free(hinted->log_prob);
    free(hinted->length);
}

/* Tokens that are inserted into a row, after its first `before` tokens. */
struct hint {
    size_t n, before;
    int32_t tokens[4];
};

/*
 * Inserts the last hop's fact after the prompt, in the form in which the tool shows facts, because the policy knows how
 * to read that form. Only hopworld has such a fact; in other environments the hint is empty.
 */
static struct hint fact_for(const struct trainer_recipe *recipe, const struct trainer_rollouts *r, size_t row)
{
    const struct trainer_env *env = &recipe->tasks[r->task[row]].env;
    size_t prompt = (size_t)r->prompt[row];
    struct hint hint = {.before = prompt};
    if (env->kind != TRAINER_HOPWORLD)
        return hint;
    hint.n = 4;
    hint.tokens[0] = TRAINER_OBS;
    hint.tokens[1] = r->tokens[row * r->width + prompt - 2];
    (void)trainer_env_answer(env, &r->episode[row], hint.tokens + 2);
    hint.tokens[3] = TRAINER_END_OBS;
    return hint;
}

/*
 * Writes row i of the hinted rows. A worked solution goes in front of the whole rollout (as in prime-rl's opsd, where
 * the demonstration is a message before the first one); it is written directly into the hinted row, which is long
 * enough for any solution. A row without room for its hint is left unchanged and not cut: its teacher is then the
 * policy without a hint, whose distance to itself is zero.
 */
static void hint_row(struct hinted_rows *hinted, const struct trainer_recipe *recipe, const struct trainer_rollouts *r,
                     size_t row, size_t i)
{
    const struct trainer_task *task = &recipe->tasks[r->task[row]];
    size_t length = (size_t)r->length[row], at = row * r->width, to = i * r->width;
    int32_t *tokens = hinted->tokens + to;
    struct hint hint = {0};
    if (task->algorithm.distill.shown == TRAINER_SHOWN_DEMONSTRATION) {
        hint.n = trainer_env_solve(&task->env, r->episode[row].question, tokens);
    } else {
        hint = fact_for(recipe, r, row);
        memcpy(tokens, r->tokens + at, hint.before * sizeof *tokens);
        memcpy(tokens + hint.before, hint.tokens, hint.n * sizeof *tokens);
    }
    if (length + hint.n > r->width) {
        hint.n = 0;
        memcpy(tokens, r->tokens + at, hint.before * sizeof *tokens);
    }
    size_t rest = length - hint.before, begin = hint.before + hint.n;
    memcpy(tokens + begin, r->tokens + at + hint.before, rest * sizeof *tokens);
    memset(hinted->wanted + to, 0, r->width);
    memcpy(hinted->wanted + to + begin, r->mask + at + hint.before, rest);
    hinted->length[i] = (int32_t)(begin + rest);
}

/*
 * The teacher uses the learner's own parameters: the teacher is the live policy with more information, so it needs no
 * second set of weights, and no gradient goes through this pass. Log-probs after the hint are moved back to their
 * places in the row.
 */
static enum trainer_status hinted_teacher_score(struct hinted_rows *hinted, struct learner *learner,
                                                const struct trainer_recipe *recipe, struct trainer_rollouts *r, size_t first,
                                                size_t n, struct trainer_error *err)
{
    for (size_t i = 0; i < n; i++)
        hint_row(hinted, recipe, r, first + i, i);
    struct learner_rows rows = {n, r->width, hinted->tokens, hinted->length, hinted->wanted};
    TRY(learner_score(learner, learner->params, &rows, hinted->log_prob, err));
    for (size_t i = 0; i < n; i++) {
        size_t row = first + i, prompt = (size_t)r->prompt[row];
        size_t inserted = (size_t)hinted->length[i] - (size_t)r->length[row];
        memcpy(r->reference + row * r->width + prompt, hinted->log_prob + i * r->width + prompt + inserted,
               ((size_t)r->length[row] - prompt) * sizeof(float));
    }
    return TRAINER_OK;
}

double reference_policies_sets(const struct trainer_recipe *recipe)
{
    double sets = recipe->loss.kl_coef > 0 ? 1 : 0;
    for (int32_t task = 0; task < recipe->n_tasks; task++)
        sets += recipe_has_teacher(recipe, task);
    return sets;
}

double reference_policies_bytes(const struct trainer_recipe *recipe)
{
    return hinted_rows_bytes(recipe);
}

enum trainer_status reference_policies_open(struct reference_policies *policies, const struct trainer_recipe *recipe,
                                            struct trainer_error *err)
{
    size_t bytes = trainer_model_parameters(&recipe->model) * sizeof(float);
    if (recipe->loss.kl_coef > 0 && !(policies->start = malloc(bytes)))
        return trainer_no_memory(err, bytes);
    for (int32_t task = 0; task < recipe->n_tasks; task++) {
        if (!recipe_has_teacher(recipe, task))
            continue;
        if (!(policies->teacher[task] = malloc(bytes)))
            return trainer_no_memory(err, bytes);
        enum trainer_status status =
            trainer_checkpoint_load_as(recipe->tasks[task].algorithm.teacher, &recipe->model, policies->teacher[task], NULL, err);
        if (status != TRAINER_OK)
            return status;
    }
    return hinted_rows_open(&policies->hinted, recipe) ? TRAINER_OK : trainer_no_memory(err, (size_t)hinted_rows_bytes(recipe));
}

void reference_policies_close(struct reference_policies *policies)
{
    free(policies->start);
    for (int32_t task = 0; task < TRAINER_ENVS_MAX; task++)
        free(policies->teacher[task]);
    hinted_rows_close(&policies->hinted);
}

/* Returns rows [first, first+n) in the form that the learner takes; the policy's own tokens are wanted. */
static struct learner_rows rows_of(const struct trainer_rollouts *r, size_t first, size_t n)
{
    size_t at = first * r->width;
    return (struct learner_rows){n, r->width, r->tokens + at, r->length + first, r->mask + at};
}

/*
 * A server's rounding may put the log-prob of a certain token a little above 0, which is taken as 0; more than that is not
 * a log-prob.
 */
static enum trainer_status ask_remote(const struct remote_teacher *remote, const struct trainer_recipe *recipe,
                                      struct trainer_rollouts *r, int32_t task, int32_t iteration, size_t first, size_t n,
                                      struct trainer_error *err)
{
    size_t cells = n * r->width;
    struct trainer_teacher_batch batch = {.recipe = recipe,
                                          .rollouts = r,
                                          .first = first,
                                          .n = n,
                                          .task = task,
                                          .iteration = iteration,
                                          .width = r->width,
                                          .log_prob = r->reference + first * r->width};
    memset(batch.log_prob, 0, cells * sizeof *batch.log_prob);
    const enum trainer_status status = remote->ask(remote->context, &batch, err);
    for (size_t i = 0; i < cells && status == TRAINER_OK; i++) {
        float *log_prob = &batch.log_prob[i];
        if (!(isfinite(*log_prob) && *log_prob <= 1e-3f))
            return trainer_fail(err, TRAINER_ENUMERIC, "a log-prob of algorithm.endpoint is %g, not a number up to 0",
                                (double)*log_prob);
        *log_prob = r->mask[first * r->width + i] && *log_prob < 0 ? *log_prob : 0;
    }
    return status;
}

/* sft needs no reference log-probs: its teacher has sampled the rollouts, and cross-entropy only needs the tokens. */
enum trainer_status reference_policies_score_task(struct reference_policies *policies, struct learner *learner,
                                                  const struct trainer_recipe *recipe, struct trainer_rollouts *r, int32_t task,
                                                  int32_t iteration, size_t first, size_t n, struct trainer_error *err)
{
    struct learner_rows rows = rows_of(r, first, n);
    unsigned needs = recipe_needs(recipe, task);
    if (needs & RL_NEED_POLICY_REFERENCE)
        return hinted_teacher_score(&policies->hinted, learner, recipe, r, first, n, err);
    if (recipe_has_remote_teacher(recipe, task))
        return ask_remote(&policies->remote, recipe, r, task, iteration, first, n, err);
    if (needs & RL_NEED_FROZEN_REFERENCE)
        return learner_score(learner, policies->teacher[task], &rows, r->reference + first * r->width, err);
    return TRAINER_OK;
}

/* A lagged reference is the average with no weight on the old one. */
void reference_policies_follow(struct reference_policies *policies, const struct trainer_recipe *recipe, const float *params,
                               int32_t iteration)
{
    const struct trainer_reference *reference = &recipe->reference;
    float kept = reference->kind == TRAINER_REFERENCE_EMA ? (float)reference->decay : 0;
    size_t n = trainer_model_parameters(&recipe->model);
    if (!policies->start || reference->kind == TRAINER_REFERENCE_START || (iteration + 1) % reference->every != 0)
        return;
    for (size_t i = 0; i < n; i++)
        policies->start[i] = kept * policies->start[i] + (1 - kept) * params[i];
}

enum trainer_status reference_policies_score_start(const struct reference_policies *policies, struct learner *learner,
                                                   struct trainer_rollouts *r, struct trainer_error *err)
{
    struct learner_rows rows = rows_of(r, 0, r->n);
    return policies->start ? learner_score(learner, policies->start, &rows, r->start, err) : TRAINER_OK;
}
