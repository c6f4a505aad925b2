/*
 * case_turn_statistics.c: `lineage core turn_statistics`.
 *
 * The information gain of the k-th turn over a batch, as the lineage stores it. Rewards at the last
 * token of a turn are gains, except for the outcome at the last turn of a row, which does not
 * count.
 */
#include <rlcore/a2tgpo.h>

#include "case_real.h"

enum { MAX_TURNS = 4096 };

static void run(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t), .turn = case_ids(call, "turn_id", &b, &t)};
    const double *rewards = case_reals(call, "token_level_rewards", &b, &t);
    if (case_present(call, "group_index"))
        batch.group = case_integers(call, "group_index", &b);
    size_t *start = case_alloc(call, b.n + 1, sizeof *start);
    struct rl_turn_stat *stats = case_alloc(call, MAX_TURNS, sizeof *stats);
    size_t n = 0;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, rewards);
    CASE_RUN(call, rl_turn_starts(laid, start, &call->err));
    if (call->failed)
        return;
    struct rl_turns turns = {b.n, start, batch.group};
    double *values = case_alloc(call, start[b.n], sizeof *values);
    double *out[3];
    for (int i = 0; i < 3; i++)
        out[i] = case_alloc(call, MAX_TURNS, sizeof *out[i]);
    CASE_RUN(call, rl_turn_rewards(laid, start, rewards, values, NULL, &call->err));
    CASE_RUN(call, rl_turn_statistics(&turns, values, stats, MAX_TURNS, &n, &call->err));
    if (call->failed)
        return;
    if (n > MAX_TURNS) {
        case_fail(call, "%zu turns in a row, more than %d", n, MAX_TURNS);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        out[0][i] = stats[i].mean;
        out[1][i] = stats[i].std;
        out[2][i] = (double)stats[i].count;
    }
    case_put_numbers(call, "mean", out[0], n);
    case_put_numbers(call, "std", out[1], n);
    case_put_numbers(call, "count", out[2], n);
}

const struct case_kernel case_turn_statistics = {
    .family = "turn_statistics",
    .summary = "information gain of each turn index over a batch: mean, std, count",
    .inputs = "response_mask, turn_id, token_level_rewards, group_index?",
    .outputs = "mean [K], std [K], count [K]",
    .layouts = true,
    .run = run,
};
