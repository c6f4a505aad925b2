/*
 * process_advantage_real.c: token advantages from outcomes and process rewards, each over its own
 * set.
 *
 * Outcomes and process rewards live on different scales and differ in number per row; in one set, a
 * row with many steps would set the mean that its own outcome is compared with.
 */
#include <rlcore/process.h>

#include <stdbool.h>

#include "support/groups.h"
#include "support/real.h"

struct task {
    const struct rl_batch *batch;
    const uint8_t *event;
    const real *rewards;
};

/* One set of rewards: those of one kind in one prompt group. */
struct set {
    double count, sum, mean, squares, least, most;
};

/*
 * Equal rewards are found by comparing them, not by a deviation of 0: rounding leaves equal numbers
 * a deviation of 1e-17, and dividing by it makes an advantage out of nothing.
 */
static double normalised(const struct set *set, double reward)
{
    if (set->count < 2 || !(set->most > set->least))
        return 0;
    return (reward - set->mean) / (sqrt(set->squares / set->count) + 1e-8);
}

/* Sums of both kinds over a group; in the second pass, of squared distances from the mean. */
static void gather(const struct task *task, const size_t *rows, size_t n, bool second_pass,
                   struct set sets[3])
{
    size_t n_tokens = task->batch->n_tokens;
    for (size_t j = 0; j < n; j++)
        for (size_t i = rows[j] * n_tokens; i < (rows[j] + 1) * n_tokens; i++) {
            struct set *set = &sets[task->event[i]];
            double reward = task->event[i] ? (double)task->rewards[i] : 0;
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
    size_t n_tokens = task->batch->n_tokens;
    for (int kind = 0; kind < 3; kind++)
        sets[kind] = (struct set){.least = INFINITY, .most = -INFINITY};
    gather(task, rows, n, false, sets);
    for (int kind = 0; kind < 3; kind++)
        sets[kind].mean = sets[kind].count > 0 ? sets[kind].sum / sets[kind].count : 0;
    gather(task, rows, n, true, sets);
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        /*
         * Token rewards are kept where they fall: each token gets the sum of what follows it, so
         * that a step is credited for its own reward and for what it led to.
         */
        for (size_t i = (rows[j] + 1) * n_tokens; i-- > rows[j] * n_tokens;) {
            if (task->event[i])
                sum += normalised(&sets[task->event[i]], (double)task->rewards[i]);
            advantages[i] = task->batch->mask[i] ? (real)sum : 0;
        }
    }
}

static enum rl_status check(const struct task *task, const real *advantages, struct rl_error *err)
{
    enum rl_status status = rl_batch_check(task->batch, RL_NEEDS_GROUPS, err);
    if (status != RL_OK)
        return status;
    size_t n = task->batch->n_tokens, cells = task->batch->n_rows * n;
    if (cells && (!task->event || !task->rewards || !advantages))
        return rl_fail(err, RL_EINVAL, "event, token_level_rewards or advantages is missing");
    for (size_t i = 0; i < cells; i++) {
        if (task->event[i] > RL_EVENT_OUTCOME)
            return rl_fail(err, RL_EVALUE, "event[%zu][%zu] is %u, not 0, 1 or 2", i / n, i % n,
                           task->event[i]);
        if (task->event[i] && !isfinite(task->rewards[i]))
            return rl_fail(err, RL_EVALUE,
                           "token_level_rewards[%zu][%zu] is %g, not a finite number", i / n, i % n,
                           (double)task->rewards[i]);
    }
    return RL_OK;
}

enum rl_status rl_process_advantage(const struct rl_batch *batch, const uint8_t *event,
                                    const real *rewards, real *advantages, struct rl_workspace *ws,
                                    struct rl_error *err)
{
    const struct task task = {batch, event, rewards};
    enum rl_status status = check(&task, advantages, err);
    if (status != RL_OK)
        return status;
    struct rl_scratch s = rl_scratch_begin(ws);
    struct rl_groups groups = rl_groups_take(&s, batch->n_rows);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    rl_groups_build(&groups, batch->group);
    for (size_t g = 0; g < groups.n; g++)
        run_group(&task, groups.order + groups.start[g], rl_group_size(&groups, g), advantages);
    return rl_batch_check_reals("advantages", advantages, batch, err);
}
