/*
 * process_advantage_real.c: token advantages from outcomes and process rewards, each normalised
 * over its own set.
 *
 * Outcomes and process rewards have different scales, and rows differ in their number of process
 * rewards. In one set, a row with many steps would determine the mean that its own outcome is
 * compared with.
 */
#include <rlcore/process.h>

#include "support/groups.h"
#include "support/real.h"

struct task {
    struct rl_grid batch;
    const uint8_t *event;
    const real *rewards;
};

/* One set: the rewards of one kind in one prompt group. */
struct set {
    double count, sum, mean, squares, least, most;
};

/*
 * Equal rewards are found by comparing them, not by a deviation of 0, because rounding gives equal
 * numbers a deviation of 1e-17, and dividing by it would create an advantage.
 */
static double normalised(const struct set *set, double reward)
{
    if (set->count < 2 || !(set->most > set->least))
        return 0;
    return (reward - set->mean) / (sqrt(set->squares / set->count) + 1e-8);
}

/* The reward at a token; 0 without an event. */
static double reward_at(const struct task *task, size_t i)
{
    return task->event[i] ? (double)rl_real_at(&task->batch, 0, task->rewards, i) : 0;
}

/*
 * Sum the rewards of both kinds over a group; in the second pass sum the squared distances from the
 * mean.
 */
static void gather(const struct task *task, const size_t *rows, size_t n, bool second_pass, struct set sets[3])
{
    const struct rl_grid *batch = &task->batch;
    for (size_t j = 0; j < n; j++)
        for (size_t i = rl_row_at(batch, rows[j]), end = rl_row_end(batch, rows[j]); i < end; i++) {
            struct set *set = &sets[task->event[i]];
            double reward = reward_at(task, i);
            if (second_pass) {
                set->squares += (reward - set->mean) * (reward - set->mean);
                continue;
            }
            set->count++;
            set->sum += reward;
            set->least = fmin(set->least, reward);
            set->most = fmax(set->most, reward);
        }
}

static void run_group(const struct task *task, const size_t *rows, size_t n, real *advantages)
{
    struct set sets[3];
    const struct rl_grid *batch = &task->batch;
    for (int kind = 0; kind < 3; kind++)
        sets[kind] = (struct set){.least = INFINITY, .most = -INFINITY};
    gather(task, rows, n, false, sets);
    for (int kind = 0; kind < 3; kind++)
        sets[kind].mean = sets[kind].count > 0 ? sets[kind].sum / sets[kind].count : 0;
    gather(task, rows, n, true, sets);
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        /*
         * Rewards stay at their tokens: each token gets the sum of the rewards from its position
         * on, so that a step is credited for its own reward and for what it led to.
         */
        for (size_t i = rl_row_end(batch, rows[j]); i-- > rl_row_at(batch, rows[j]);) {
            if (task->event[i])
                sum += normalised(&sets[task->event[i]], reward_at(task, i));
            advantages[i] = rl_on(batch, i) ? (real)sum : 0;
        }
    }
}

static enum rl_status check_row(const struct task *task, size_t row, struct rl_error *err)
{
    for (size_t i = rl_row_at(&task->batch, row), t = 0; t < rl_row_length(&task->batch, row); t++) {
        if (task->event[i + t] > RL_EVENT_OUTCOME)
            return rl_fail(err, RL_EVALUE, "event[%zu][%zu] is %u, not 0, 1 or 2", row, t, task->event[i + t]);
        double raw = (double)rl_real_at(&task->batch, 0, task->rewards, i + t);
        if (!task->event[i + t] && (raw < 0 || raw > 0))
            return rl_fail(err, RL_EVALUE, "token_level_rewards[%zu][%zu] is %g, but event[%zu][%zu] is 0 and it would be lost",
                           row, t, raw, row, t);
        if (!isfinite(raw) && (task->event[i + t] || rl_on(&task->batch, i + t))) /* padding may hold NaN */
            return rl_fail(err, RL_EVALUE, "token_level_rewards[%zu][%zu] is %g, not a finite number", row, t, raw);
    }
    return RL_OK;
}

static enum rl_status check(const struct task *task, const real *advantages, struct rl_error *err)
{
    if (task->batch.n_rows && task->batch.n_tokens && (!task->event || !task->rewards || !advantages))
        return rl_fail(err, RL_EINVAL, "event, token_level_rewards or advantages is missing");
    for (size_t row = 0; row < task->batch.n_rows; row++)
        RL_TRY(check_row(task, row, err));
    return RL_OK;
}

enum rl_status rl_process_advantage(const struct rl_batch *batch, const uint8_t *event, const real *rewards, real *advantages,
                                    struct rl_workspace *ws, struct rl_error *err)
{
    struct task task = {.event = event, .rewards = rewards};
    RL_TRY(rl_grid_of(&task.batch, batch, RL_NEEDS_GROUPS, err));
    RL_TRY(check(&task, advantages, err));
    struct rl_scratch s = rl_scratch_begin(ws);
    struct rl_groups groups = rl_groups_take(&s, task.batch.n_rows);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    rl_groups_build(&groups, task.batch.group);
    for (size_t g = 0; g < groups.n; g++)
        run_group(&task, groups.order + groups.start[g], rl_group_size(&groups, g), advantages);
    task.batch.bf16 = 0;
    return rl_grid_check_reals("advantages", &task.batch, 0, advantages, false, err);
}
