#include "run/side_rollouts.h"

#include <math.h>

#include "run/side_rows.h"
#include "support/rng.h"

/* Values of the true answer are measured only on rollouts that are trained on. */
enum trainer_status side_play(struct run *run, const struct rollouts_plan *plan, struct sampler_job job,
                              struct trainer_iteration *metrics, struct trainer_error *err)
{
    job.rollouts = run->side;
    job.values = false;
    rollouts_add(run->side, plan, 0);
    enum trainer_status status = sampler_play(&run->sampler, &job, err);
    metrics->generation_s += job.generation_s;
    metrics->sampled_tokens += job.sampled;
    metrics->fed_tokens += job.fed;
    return status;
}

/*
 * Starts the rows of the episode whose beginning is row `trunk` of the side rollouts. A beginning in which the episode
 * has ended is a complete rollout: its rows are copies of it, and only the comparison with other episodes of the group
 * gives them credit.
 */
static void add_branches(struct run *run, size_t trunk, size_t branches, uint64_t noise_seed)
{
    struct trainer_rollouts *r = run->rollouts;
    const struct trainer_env *env = &run->recipe->tasks[run->side->task[trunk]].env;
    int64_t episode = (int64_t)r->n;
    for (size_t k = 0; k < branches; k++) {
        size_t row = r->n;
        rollouts_add_continued(r, env, run->side, trunk, (size_t)run->side->length[trunk], trainer_seed(noise_seed, 'b', row));
        r->branch_of[row] = episode;
        r->n_shared[row] = r->n_turns[row] + r->episode[row].done;
    }
}

enum trainer_status shared_beginnings_play(struct run *run, const struct rollouts_plan *plan, size_t first,
                                           const struct sampler_job *job, struct trainer_iteration *metrics,
                                           struct trainer_error *err)
{
    const struct trainer_hierarchy *hierarchy = &run->recipe->tasks[plan->task].algorithm.hierarchy;
    struct rollouts_plan trunks = *plan;
    struct sampler_job beginning = *job;
    trunks.group_size = side_episodes(run->recipe, plan->task);
    beginning.turns = hierarchy->turns;
    enum trainer_status status = side_play(run, &trunks, beginning, metrics, err);
    run->rollouts->n = first;
    for (size_t i = 0; i < run->side->n && status == TRAINER_OK; i++)
        add_branches(run, i, (size_t)hierarchy->branches, plan->noise_seed);
    metrics->n_episodes += run->side->n;
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

/* Returns the sum of squared distances to the mean. */
static double about_mean(const struct spread *spread)
{
    return spread->n > 0 ? fmax(0, spread->square - spread->sum * spread->sum / (double)spread->n) : 0;
}

/* The rows of an episode are adjacent, and so are the episodes of a group. */
void shared_beginnings_measure(const struct trainer_rollouts *r, struct trainer_iteration *metrics)
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
