/*
 * refer.c: log-probs of those whom the rollouts are compared with: a frozen teacher, the live policy
 * that is shown more, the policy that training started from.
 */
#include <string.h>

#include "run/run.h"

/* The rows of a task as the learner takes them, wanting the policy's tokens. */
static struct learner_rows task_rows(const struct trainer_rollouts *r, size_t first, size_t n)
{
    size_t at = first * r->width;
    return (struct learner_rows){n, r->width, r->tokens + at, r->length + first, r->mask + at};
}

/* ---- a teacher that is shown more --------------------------------------------------------- */

/* Tokens that are put into a row, and how many of its own stand in front of them. */
struct hint {
    size_t n, before;
    int32_t tokens[4];
};

/*
 * The last hop's fact behind the prompt, in the form in which the tool would have said it: words
 * that the policy knows how to read. Environments without such a fact have none.
 */
static struct hint fact_for(const struct run *run, size_t row)
{
    const struct trainer_rollouts *r = run->rollouts;
    const struct trainer_env *env = &run->recipe->tasks[r->task[row]].env;
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
 * A worked solution of this question in front of the whole rollout, which is scored as it is: as
 * prime-rl has opsd, where the demonstration is a message before the first. Written into the room of
 * the shown row, which is long enough for any.
 */
static size_t solution_for(struct run *run, size_t row, int32_t *to)
{
    const struct trainer_rollouts *r = run->rollouts;
    return trainer_env_solve(&run->recipe->tasks[r->task[row]].env, r->episode[row].question, to);
}

static bool shows_solution(const struct run *run, size_t row)
{
    const struct trainer_rollouts *r = run->rollouts;
    return run->recipe->tasks[r->task[row]].algorithm.distill.shown == TRAINER_SHOWN_DEMONSTRATION;
}

/*
 * Row i of what is shown: the hint, and the row around it. A row without room for it is left as it
 * was and not cut: its teacher is the policy as it sampled, and pulls nowhere.
 */
static void show_row(struct run *run, size_t row, size_t i)
{
    const struct trainer_rollouts *r = run->rollouts;
    size_t length = (size_t)r->length[row], at = row * r->width, to = i * r->width;
    int32_t *shown = run->shown + to;
    struct hint hint = {0};
    if (shows_solution(run, row)) {
        hint.n = solution_for(run, row, shown);
    } else {
        hint = fact_for(run, row);
        memcpy(shown, r->tokens + at, hint.before * sizeof *shown);
        memcpy(shown + hint.before, hint.tokens, hint.n * sizeof *shown);
    }
    if (length + hint.n > r->width) {
        hint.n = 0;
        memcpy(shown, r->tokens + at, hint.before * sizeof *shown);
    }
    size_t rest = length - hint.before, begin = hint.before + hint.n;
    memcpy(shown + begin, r->tokens + at + hint.before, rest * sizeof *shown);
    memset(run->shown_wanted + to, 0, r->width);
    memcpy(run->shown_wanted + to + begin, r->mask + at + hint.before, rest);
    run->shown_length[i] = (int32_t)(begin + rest);
}

/*
 * By the learner's own parameters: opsd's teacher is the live policy that knows more, so there is
 * no second set of weights and no gradient through this pass. Log-probs of the prompt's tokens are
 * not wanted: what stands after the hint is moved to where it stands in the row.
 */
static enum trainer_status refer_to_shown(struct run *run, size_t first, size_t n,
                                          struct trainer_error *err)
{
    struct trainer_rollouts *r = run->rollouts;
    for (size_t i = 0; i < n; i++)
        show_row(run, first + i, i);
    struct learner_rows rows = {n, r->width, run->shown, run->shown_length, run->shown_wanted};
    enum trainer_status status =
        learner_score(&run->learner, run->learner.params, &rows, run->shown_log_prob, err);
    for (size_t i = 0; i < n && status == TRAINER_OK; i++) {
        size_t row = first + i, prompt = (size_t)r->prompt[row];
        size_t shown = (size_t)run->shown_length[i] - (size_t)r->length[row];
        memcpy(r->reference + row * r->width + prompt,
               run->shown_log_prob + i * r->width + prompt + shown,
               ((size_t)r->length[row] - prompt) * sizeof(float));
    }
    return status;
}

/* ---- all ---------------------------------------------------------------------------------- */

/* sft needs no reference: its teacher has sampled, and cross-entropy asks only which tokens. */
enum trainer_status run_refer(struct run *run, int32_t task, size_t first, size_t n,
                              struct trainer_error *err)
{
    struct trainer_rollouts *r = run->rollouts;
    struct learner_rows rows = task_rows(r, first, n);
    unsigned needs = recipe_needs(run->recipe, task);
    if (needs & RL_NEED_POLICY_REFERENCE)
        return refer_to_shown(run, first, n, err);
    if (needs & RL_NEED_FROZEN_REFERENCE)
        return learner_score(&run->learner, run->teacher[task], &rows,
                             r->reference + first * r->width, err);
    return TRAINER_OK;
}

/* The policy that training started from, frozen: distance to it is what kl_coef weighs. */
enum trainer_status run_refer_to_start(struct run *run, struct trainer_error *err)
{
    struct learner_rows rows = task_rows(run->rollouts, 0, run->rollouts->n);
    return run->start ? learner_score(&run->learner, run->start, &rows, run->rollouts->start, err)
                      : TRAINER_OK;
}
