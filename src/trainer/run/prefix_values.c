/* prefix_values.c: see prefix_values.h. */
#include "run/prefix_values.h"

#include <string.h>

#include "run/side_rows.h"
#include "support/rng.h"

/* Continuation k from boundary b of a row. Continuations are numbered and played in this order. */
struct prefix {
    size_t row;
    int32_t b, k;
};

static void step_on(const struct trainer_rollouts *r, int32_t continuations, struct prefix *at)
{
    if (++at->k < continuations)
        return;
    at->k = 0;
    if (++at->b > r->n_turns[at->row]) {
        at->b = 0;
        at->row++;
    }
}

/* Fills the side rollouts with continuations, starting at *at and up to row `end`, and moves *at past the last one. */
static void add_continuations(struct run *run, int32_t continuations, uint64_t seed, size_t end, struct prefix *at)
{
    const struct trainer_rollouts *r = run->rollouts;
    run->side->n = 0;
    while (run->side->n < run->side->capacity && at->row < end) {
        uint64_t place = at->row * ROLLOUT_VALUES + (uint64_t)at->b;
        rollouts_add_continued(run->side, &run->recipe->tasks[r->task[at->row]].env, r, at->row, (size_t)r->boundary[place],
                               trainer_seed(seed, 'c', place * (uint64_t)continuations + (uint64_t)at->k));
        step_on(r, continuations, at);
    }
}

/*
 * Plays the continuations of all prefixes of rows [first, first+n), the rows of one task, in as many rounds as
 * necessary.
 */
static enum trainer_status continue_rows(struct run *run, size_t first, size_t n, int32_t continuations, uint64_t seed,
                                         struct sampler_job job, struct trainer_iteration *metrics, struct trainer_error *err)
{
    struct trainer_rollouts *r = run->rollouts;
    struct prefix next = {first, 0, 0}, at = next;
    enum trainer_status status = TRAINER_OK;
    memset(r->value + first * ROLLOUT_VALUES, 0, n * ROLLOUT_VALUES * sizeof *r->value);
    job.rollouts = run->side;
    job.values = false;
    while (next.row < first + n && status == TRAINER_OK) {
        add_continuations(run, continuations, seed, first + n, &next);
        status = sampler_play(&run->sampler, &job, err);
        metrics->gain_s += job.generation_s;
        metrics->gain_tokens += job.fed;
        for (size_t i = 0; i < run->side->n && status == TRAINER_OK; i++) {
            r->value[at.row * ROLLOUT_VALUES + (size_t)at.b] += (run->side->reward[i] > 0 ? 1.0 : 0.0) / continuations;
            step_on(r, continuations, &at);
        }
    }
    return status;
}

enum trainer_status prefix_values(struct run *run, int32_t iteration, const struct sampler_job *job,
                                  struct trainer_iteration *metrics, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    const struct trainer_rollouts *r = run->rollouts;
    uint64_t seed = trainer_seed(recipe->seed, 'v', (uint64_t)iteration);
    enum trainer_status status = TRAINER_OK;
    for (size_t first = 0, end; first < r->n && status == TRAINER_OK; first = end) {
        int32_t task = r->task[first];
        for (end = first; end < r->n && r->task[end] == task; end++)
            continue;
        if (side_continues(recipe, task))
            status = continue_rows(run, first, end - first, recipe->tasks[task].algorithm.prefix.continuations, seed, *job,
                                   metrics, err);
    }
    return status;
}
