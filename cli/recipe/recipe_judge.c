/*
 * recipe_judge.c: see recipe_judge.h.
 *
 * A rollout is sent as the trajectory that `lineage rollout --format jsonl` prints, so that a question asked by hand
 * and the same question of a trial share one answer in the cache.
 */
#include "recipe/recipe_judge.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "judge/judge.h"
#include "judge/trajectory.h"
#include "recipe/rollout_print.h"

struct recipe_judge {
    struct judge *judge;
};

static enum trainer_status fail(struct trainer_error *err, enum trainer_status status, const char *why)
{
    err->status = status;
    snprintf(err->text, sizeof err->text, "%s", why);
    return status;
}

enum trainer_status recipe_judge_open(struct recipe_judge **judge, const struct trainer_recipe *recipe, const char *cache,
                                      struct trainer_error *err)
{
    char why[JUDGE_WHY_MAX];
    const char *own = recipe->judge.cache;
    *judge = calloc(1, sizeof **judge);
    if (!*judge)
        return fail(err, TRAINER_ENOMEM, "out of memory");
    (*judge)->judge = judge_open(&recipe->judge, own[0] ? own : cache, recipe->seed, why);
    return (*judge)->judge ? TRAINER_OK : fail(err, TRAINER_EINVAL, why);
}

void recipe_judge_close(struct recipe_judge *judge)
{
    if (judge)
        judge_close(judge->judge);
    free(judge);
}

/*
 * A judge needs one flag for each turn that the trainer counted, so a rollout with another number of steps is not
 * judged.
 */
static bool make_case(struct judge_case *about, const struct trainer_judge_batch *batch, size_t i)
{
    struct trainer_rollout r = trainer_rollouts_get(batch->rollouts, batch->first + i);
    json_t *trajectory = rollout_trajectory(batch->recipe, &r);
    *about = (struct judge_case){.trajectory = trajectory, .flags = batch->flags + batch->start[i], .mark = batch->mark[i]};
    return trajectory && trajectory_steps(trajectory) == batch->start[i + 1] - batch->start[i];
}

static void take_case(struct trainer_judge_batch *batch, size_t i, const struct judge_case *about)
{
    bool has_flags = about->mark == TRAINER_JUDGED || about->mark == TRAINER_JUDGE_CACHED;
    batch->mark[i] = about->mark;
    batch->prompt_tokens += about->prompt_tokens;
    batch->completion_tokens += about->completion_tokens;
    if (!has_flags && about->mark != TRAINER_JUDGE_SKIPPED && !batch->why[0])
        snprintf(batch->why, sizeof batch->why, "%s", about->why);
}

enum trainer_status recipe_judge_ask(void *context, struct trainer_judge_batch *batch, struct trainer_error *err)
{
    struct recipe_judge *judge = context;
    struct judge_case *cases = calloc(batch->n, sizeof *cases);
    bool good = cases != NULL;
    for (size_t i = 0; i < batch->n && good; i++)
        good = make_case(&cases[i], batch, i);
    good = good && judge_ask(judge->judge, cases, batch->n, NULL, NULL);
    for (size_t i = 0; i < batch->n && cases; i++) {
        if (good)
            take_case(batch, i, &cases[i]);
        json_decref((json_t *)(uintptr_t)cases[i].trajectory);
        json_decref(cases[i].analysis);
    }
    free(cases);
    return good
               ? TRAINER_OK
               : fail(err, TRAINER_ENOMEM, "the judge cannot be asked: out of memory, libcurl failed, or turns and steps differ");
}
