/*
 * aside.c: see aside.h.
 *
 * What is played aside goes through the sampler like every rollout, by the same weights and dealt out
 * to the same threads and ranks, and counts in what an iteration cost.
 */
#include "run/aside.h"

#include <math.h>
#include <string.h>

#include "support/rng.h"

static size_t episodes_of(const struct trainer_recipe *recipe, int32_t task)
{
    return (size_t)(recipe->training.group_size / recipe->tasks[task].algorithm.hierarchy.branches);
}

static bool continues(const struct trainer_recipe *recipe, int32_t task)
{
    return recipe->tasks[task].algorithm.prefix.value == TRAINER_PREFIX_CONTINUATIONS;
}

/* Continuations are played as many at a time as there are rows. */
size_t aside_rows(const struct trainer_recipe *recipe)
{
    size_t most = 0;
    for (int32_t task = 0; task < recipe->n_tasks; task++) {
        unsigned needs = recipe_needs(recipe, task);
        if (continues(recipe, task))
            most = run_rows(recipe) > most ? run_rows(recipe) : most;
        size_t each = needs & RL_NEED_AGENTS   ? episodes_of(recipe, task)
                      : needs & RL_NEED_GREEDY ? 1
                                               : 0;
        size_t rows = each * (size_t)recipe->tasks[task].questions;
        most = rows > most ? rows : most;
    }
    return most;
}

double aside_bytes(const struct trainer_recipe *recipe)
{
    size_t rows = aside_rows(recipe);
    return rows > 0 ? (double)rollouts_bytes(rows, (size_t)recipe->model.max_tokens) : 0;
}

/* Values of the true answer are of what is trained on. */
static enum trainer_status play(struct run *run, const struct rollouts_plan *plan,
                                struct sampler_job job, struct trainer_iteration *metrics,
                                struct trainer_error *err)
{
    job.rollouts = run->aside;
    job.values = false;
    rollouts_add(run->aside, plan, 0);
    enum trainer_status status = sampler_play(&run->sampler, &job, err);
    metrics->generation_s += job.generation_s;
    metrics->sampled_tokens += job.sampled;
    metrics->fed_tokens += job.fed;
    return status;
}

/* ---- greedy ------------------------------------------------------------------------------- */

/* The tool's luck is a row's own, as it is in an evaluation: no answer of the group had the same. */
enum trainer_status aside_greedy(struct run *run, const struct rollouts_plan *plan, size_t first,
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
    enum trainer_status status = play(run, &one, greedy, metrics, err);
    if (status != TRAINER_OK)
        return status;
    for (size_t i = first; i < r->n; i++)
        r->baseline[i] = run->aside->reward[rollouts_question(r, i)];
    for (size_t q = 0; q < run->aside->n; q++)
        sum += run->aside->reward[q];
    metrics->n_greedy += run->aside->n;
    metrics->greedy_reward = (before + sum) / (double)metrics->n_greedy;
    return TRAINER_OK;
}

/* ---- branches ----------------------------------------------------------------------------- */

/*
 * A beginning that is over before its turns are is a whole rollout: its branches are itself, and the
 * comparison with the other episodes of its group is all that it is judged by.
 */
static void add_branches(struct run *run, size_t trunk, size_t branches, uint64_t noise_seed)
{
    struct trainer_rollouts *r = run->rollouts;
    const struct trainer_env *env = &run->recipe->tasks[run->aside->task[trunk]].env;
    int64_t episode = (int64_t)r->n;
    for (size_t k = 0; k < branches; k++) {
        size_t row = r->n;
        rollouts_add_continued(r, env, run->aside, trunk, (size_t)run->aside->length[trunk],
                               trainer_seed(noise_seed, 'b', row));
        r->branch_of[row] = episode;
        r->n_shared[row] = r->n_turns[row] + r->episode[row].done;
    }
}

enum trainer_status aside_branch(struct run *run, const struct rollouts_plan *plan, size_t first,
                                 const struct sampler_job *job, struct trainer_iteration *metrics,
                                 struct trainer_error *err)
{
    const struct trainer_hierarchy *hierarchy =
        &run->recipe->tasks[plan->task].algorithm.hierarchy;
    struct rollouts_plan trunks = *plan;
    struct sampler_job beginning = *job;
    trunks.group_size = episodes_of(run->recipe, plan->task);
    beginning.turns = hierarchy->turns;
    enum trainer_status status = play(run, &trunks, beginning, metrics, err);
    run->rollouts->n = first;
    for (size_t i = 0; i < run->aside->n && status == TRAINER_OK; i++)
        add_branches(run, i, (size_t)hierarchy->branches, plan->noise_seed);
    metrics->n_episodes += run->aside->n;
    return status;
}

/* ---- the value of a prefix ---------------------------------------------------------------- */

/* Continuation k from boundary b of a row; they are numbered row by row and stand in that order. */
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

/* Adds continuations from *at on until there is no more room, or no more row. */
static void add_continuations(struct run *run, int32_t continuations, uint64_t seed, size_t end,
                              struct prefix *at)
{
    const struct trainer_rollouts *r = run->rollouts;
    run->aside->n = 0;
    while (run->aside->n < run->aside->capacity && at->row < end) {
        uint64_t place = at->row * ROLLOUT_VALUES + (uint64_t)at->b;
        rollouts_add_continued(run->aside, &run->recipe->tasks[r->task[at->row]].env, r, at->row,
                               (size_t)r->boundary[place],
                               trainer_seed(seed, 'c', place * (uint64_t)continuations +
                                                           (uint64_t)at->k));
        step_on(r, continuations, at);
    }
}

/* All prefixes of a task's rows, in as many rounds as it takes. */
static enum trainer_status continue_rows(struct run *run, size_t first, size_t n,
                                         int32_t continuations, uint64_t seed,
                                         struct sampler_job job,
                                         struct trainer_iteration *metrics,
                                         struct trainer_error *err)
{
    struct trainer_rollouts *r = run->rollouts;
    struct prefix next = {first, 0, 0}, at = next;
    enum trainer_status status = TRAINER_OK;
    memset(r->value + first * ROLLOUT_VALUES, 0, n * ROLLOUT_VALUES * sizeof *r->value);
    job.rollouts = run->aside;
    job.values = false;
    while (next.row < first + n && status == TRAINER_OK) {
        add_continuations(run, continuations, seed, first + n, &next);
        status = sampler_play(&run->sampler, &job, err);
        metrics->gain_s += job.generation_s;
        metrics->gain_tokens += job.fed;
        for (size_t i = 0; i < run->aside->n && status == TRAINER_OK; i++) {
            r->value[at.row * ROLLOUT_VALUES + (size_t)at.b] +=
                (run->aside->reward[i] > 0 ? 1.0 : 0.0) / continuations;
            step_on(r, continuations, &at);
        }
    }
    return status;
}

enum trainer_status aside_values(struct run *run, int32_t iteration, const struct sampler_job *job,
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
        if (continues(recipe, task))
            status = continue_rows(run, first, end - first,
                                   recipe->tasks[task].algorithm.prefix.continuations, seed, *job,
                                   metrics, err);
    }
    return status;
}

struct spread {
    double sum, square;
    size_t n;
};

static void add_to(struct spread *spread, double x)
{
    spread->sum += x;
    spread->square += x * x;
    spread->n++;
}

/* Sum of squares about the mean. */
static double about_mean(const struct spread *spread)
{
    return spread->n > 0 ? fmax(0, spread->square - spread->sum * spread->sum / (double)spread->n)
                         : 0;
}

/* Rows of an episode stand beside each other, and episodes of a group. */
void aside_measure(const struct trainer_rollouts *r, struct trainer_iteration *metrics)
{
    double within = 0, between = 0, rows = 0, episodes = 0;
    struct spread group = {0};
    for (size_t i = 0, end; i < r->n && metrics->n_episodes > 0; i = end) {
        struct spread episode = {0};
        for (end = i; end < r->n && r->branch_of[end] == r->branch_of[i]; end++)
            add_to(&episode, r->reward[end]);
        if (r->n_shared[i] == 0)
            continue; /* a row of another algorithm */
        within += about_mean(&episode);
        rows += (double)episode.n;
        episodes++;
        add_to(&group, episode.sum / (double)episode.n);
        if (end == r->n || r->group[end] != r->group[i]) {
            between += about_mean(&group);
            group = (struct spread){0};
        }
    }
    metrics->within_std = sqrt(within / fmax(1, rows));
    metrics->between_std = sqrt(between / fmax(1, episodes));
}
