/* collect_rollouts.c: the first step of an iteration: play its rollouts; see run_collect in run.h. */

#include "recipe/recipe_needs.h"
#include "run/side_rollouts.h"
#include "run/side_rows.h"
#include "support/error.h"
#include "support/rng.h"

/* The value of a rollout's prefixes, estimated by continuations: how often the policy succeeds when it
 * continues from the prefix (VinePPO, arXiv 2410.01679). */

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
    memset(r->value + first * ROLLOUT_VALUES, 0, n * ROLLOUT_VALUES * sizeof *r->value);
    job.rollouts = run->side;
    job.values = false;
    while (next.row < first + n) {
        add_continuations(run, continuations, seed, first + n, &next);
        TRY(sampler_play(&run->sampler, &job, err));
        metrics->gain_s += job.generation_s;
        metrics->gain_tokens += job.fed;
        for (size_t i = 0; i < run->side->n; i++) {
            r->value[at.row * ROLLOUT_VALUES + (size_t)at.b] += (run->side->reward[i] > 0 ? 1.0 : 0.0) / continuations;
            step_on(r, continuations, &at);
        }
    }
    return TRAINER_OK;
}

/* Called after the rows were played. Overwrites run->rollouts->value of the tasks that use continuations. job: the
 * sampler's job for the rows themselves. Adds to the time and tokens of gains in *metrics. */
static enum trainer_status prefix_values(struct run *run, int32_t iteration, const struct sampler_job *job,
                                         struct trainer_iteration *metrics, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    const struct trainer_rollouts *r = run->rollouts;
    uint64_t seed = trainer_seed(recipe->seed, 'v', (uint64_t)iteration);
    for (size_t first = 0, end; first < r->n; first = end) {
        int32_t task = r->task[first];
        for (end = first; end < r->n && r->task[end] == task; end++)
            continue;
        if (side_continues(recipe, task))
            TRY(continue_rows(run, first, end - first, recipe->tasks[task].algorithm.prefix.continuations, seed, *job, metrics,
                              err));
    }
    return TRAINER_OK;
}

/* remax subtracts the outcome of each question's greedy rollout (arXiv 2310.10505). Plays one greedy rollout of each question of the plan, and sets the baseline of the plan's rows, which begin at
 * `first` in run->rollouts. job: the sampler's job for the rows themselves. Adds to *metrics.
 * A greedy rollout has its own random stream for the tool, as in an evaluation, which differs from those of all rows of
 * the group. */
static enum trainer_status greedy_baseline(struct run *run, const struct rollouts_plan *plan, size_t first,
                                           const struct sampler_job *job, struct trainer_iteration *metrics,
                                           struct trainer_error *err)
{
    struct trainer_rollouts *r = run->rollouts;
    struct rollouts_plan one = *plan;
    struct sampler_job greedy = *job;
    double before = metrics->greedy_reward * (double)metrics->n_greedy, sum = 0;
    one.group_size = 1;
    one.sizes = NULL;
    one.noise_seed = trainer_seed(plan->noise_seed, 'g', (uint64_t)plan->task);
    greedy.temperature = 0;
    TRY(side_play(run, &one, greedy, metrics, err));
    for (size_t i = first; i < r->n; i++)
        r->baseline[i] = run->side->reward[rollouts_question(r, i)];
    for (size_t q = 0; q < run->side->n; q++)
        sum += run->side->reward[q];
    metrics->n_greedy += run->side->n;
    metrics->greedy_reward = (before + sum) / (double)metrics->n_greedy;
    return TRAINER_OK;
}

/*
 * Questions and noise are functions of (seed, iteration), never of a generator that keeps its state, so trials that
 * differ in one setting get the same questions in the same iterations. The questions of a pool depend on the seed
 * alone, and iterations cycle through it.
 */
static struct rollouts_plan plan_for(const struct trainer_recipe *recipe, int32_t task, int32_t iteration)
{
    size_t pool = (size_t)recipe->tasks[task].pool;
    return (struct rollouts_plan){.env = &recipe->tasks[task].env,
                                  .task = task,
                                  .questions = (size_t)recipe->tasks[task].questions,
                                  .group_size = (size_t)recipe->training.group_size,
                                  .question_seed = pool > 0 ? trainer_seed(recipe->seed, 'o', 0)
                                                            : trainer_seed(recipe->seed, 'i', (uint64_t)iteration),
                                  .first = (size_t)iteration * (size_t)recipe->tasks[task].questions,
                                  .pool = pool,
                                  .noise_seed = trainer_seed(recipe->seed, 'j', (uint64_t)iteration)};
}

/*
 * Takes questions in order, with group_size rollouts each, unless the recipe asks for more rollouts of hard questions.
 */
static enum trainer_status draw_questions(struct run *run, struct rollouts_plan *plan, int32_t iteration,
                                          struct trainer_iteration *metrics, struct trainer_error *err)
{
    struct allocation *allocation = &run->allocation[plan->task];
    uint64_t seed = trainer_seed(run->recipe->seed, 'h', (uint64_t)iteration);
    const struct allocation_plan wanted = {trainer_seed(seed, 't', (uint64_t)plan->task), plan->first, plan->group_size};
    if (allocation->pool == 0)
        return TRAINER_OK;
    plan->numbers = allocation->chosen;
    plan->sizes = allocation->sizes;
    return allocation_draw(allocation, &run->recipe->tasks[plan->task], &wanted, &metrics->allocation, err);
}

/* Starts the rows of all tasks, and plays the side rollouts that they need (side_rollouts.h). */
static enum trainer_status start_rows(struct run *run, int32_t iteration, const struct sampler_job *job,
                                      struct trainer_iteration *metrics, struct trainer_error *err)
{
    size_t first = 0;
    for (int32_t task = 0; task < run->recipe->n_tasks; task++) {
        struct rollouts_plan plan = plan_for(run->recipe, task, iteration);
        unsigned needs = recipe_needs(run->recipe, task);
        TRY(draw_questions(run, &plan, iteration, metrics, err));
        if (run->data[task].rows) {
            data_set_add(&run->data[task], run->rollouts, &plan, first);
        } else if (needs & RL_NEED_AGENTS) {
            TRY(shared_beginnings_play(run, &plan, first, job, metrics, err));
        } else {
            rollouts_add(run->rollouts, &plan, first);
            if (needs & RL_NEED_GREEDY)
                TRY(greedy_baseline(run, &plan, first, job, metrics, err));
        }
        first = run->rollouts->n;
    }
    return TRAINER_OK;
}

/* sft's rollouts are sampled by the frozen model that it imitates. */
enum trainer_status run_collect(struct run *run, int32_t iteration, struct trainer_iteration *metrics, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    struct sampler_job job = {.rollouts = run->rollouts, .temperature = recipe->training.temperature, .values = true};
    const float *weights;
    enum trainer_status status =
        sampler_weights_choose(&run->sampled_by, recipe, run->learner.params, iteration, &weights, &metrics->staleness, err);
    run->rollouts->age = (int32_t)metrics->staleness;
    for (int32_t task = 0; task < recipe->n_tasks; task++)
        job.params[task] =
            recipe_needs(recipe, task) & RL_NEED_FROZEN_SOURCE && !run->data[task].rows ? run->references.teacher[task] : weights;
    if (status == TRAINER_OK)
        status = start_rows(run, iteration, &job, metrics, err);
    if (status == TRAINER_OK)
        status = sampler_play(&run->sampler, &job, err);
    if (status != TRAINER_OK)
        return status;
    metrics->generation_s += job.generation_s;
    metrics->gain_s = job.gain_s;
    metrics->sampled_tokens += job.sampled;
    metrics->fed_tokens += job.fed;
    metrics->gain_tokens = job.gain_tokens;
    metrics->routing.load = routing_load(recipe, run->rollouts);
    return prefix_values(run, iteration, &job, metrics, err);
}
