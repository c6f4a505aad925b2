/*
 * case_turns.c: `lineage core information_gain`, `turn_normalize`, `turn_accumulate` and
 * `turn_clip_scale`: the parts of A2TGPO on values of turns.
 *
 * Each part reads what the part before it returned, so that a trainer can replace one of them and
 * keep the others.
 */
#include <rlcore/a2tgpo.h>
#include <rlcore/compose.h>

#include "case_options.h"
#include "case_real.h"

void case_mask_tools(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const uint8_t *tool = case_mask(call, "tool_mask", &b, &t);
    if (case_present(call, "turn_id"))
        batch.turn = case_ids(call, "turn_id", &b, &t);
    uint8_t *mask = case_alloc_batch(call, b.n, t.n, sizeof *mask);
    int32_t *turn = batch.turn ? case_alloc_batch(call, b.n, t.n, sizeof *turn) : NULL;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, NULL);
    CASE_RUN(call, rl_mask_tools(laid, tool, mask, turn, &call->err));
    if (call->failed)
        return;
    case_put_mask(call, "response_mask", mask, b.n, t.n);
    if (turn)
        case_put_matrix(call, "turn_id", RL_CASE_INT32, turn, b.n, t.n);
}

/* `lineage core turn_statistics`.
 *
 * The information gain of the k-th turn over a batch, as the lineage stores it. Rewards at the last
 * token of a turn are gains, except for the outcome at the last turn of a row, which does not
 * count.
 */

enum { MAX_TURNS = 4096 };

void case_turn_statistics(struct case_call *call)
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

void case_information_gain(struct case_call *call)
{
    static const char *const kinds[] = {"mean_log_prob", "mean_prob", "prob", NULL};
    struct case_dim prefixes = {0}, answer = {0};
    enum rl_gain kind = case_present(call, "gain") ? (enum rl_gain)case_choice(call, "gain", kinds) : RL_GAIN_MEAN_LOG_PROB;
    const double *log_prob = case_reals(call, "answer_log_prob", &prefixes, &answer);
    if (!call->failed && !prefixes.n)
        case_fail(call, "inputs.answer_log_prob has no row; the first one is before the first turn");
    if (call->failed)
        return;
    double *values = case_alloc(call, prefixes.n, sizeof *values);
    double *gain = case_alloc(call, prefixes.n, sizeof *gain);
    CASE_RUN(call, rl_information_gain(kind, prefixes.n - 1, answer.n, log_prob, gain, &call->err));
    if (call->failed)
        return;
    for (size_t i = 0; i < prefixes.n; i++)
        values[i] = rl_prefix_value(kind, answer.n, log_prob + i * case_stride(call, answer.n));
    case_put_numbers(call, "information_gain", gain, prefixes.n - 1);
    case_put_numbers(call, "prefix_values", values, prefixes.n);
}

/*
 * A kernel on turn values: its input and its result. Results get their own memory, because the values may be an array of the caller.
 */
struct turn_call {
    struct rl_turns turns;
    const double *values;
    double *out;
};

static struct turn_call read_turns(struct case_call *call, struct case_dim *b)
{
    size_t *start = NULL;
    struct turn_call p = {.values = case_ragged(call, "turn_values", RL_CASE_FLOAT64, b, &start)};
    p.turns = (struct rl_turns){.n_rows = b->n, .start = start};
    p.out = start ? case_alloc(call, start[b->n], sizeof *p.out) : NULL;
    return p;
}

static void put_turns(struct case_call *call, const struct turn_call *p)
{
    case_put_ragged(call, "turn_values", RL_CASE_FLOAT64, p->out, p->turns.start, p->turns.n_rows);
}

void case_turn_normalize(struct case_call *call)
{
    static const char *const names[] = {"joint", "separate", "cells", NULL};
    struct case_dim b = {0};
    struct turn_call p = read_turns(call, &b);
    p.turns.group = case_integers(call, "group_index", &b);
    enum rl_turn_sets sets =
        case_present(call, "turn_sets") ? (enum rl_turn_sets)case_choice(call, "turn_sets", names) : RL_TURN_SETS_CELLS;
    bool by_std = case_bool_or(call, "norm_adv_by_std", true);
    double epsilon = case_number_or(call, "epsilon", 1e-6);
    CASE_RUN(call, rl_turn_normalize(&p.turns, sets, by_std, epsilon, p.values, p.out, &call->ws, &call->err));
    put_turns(call, &p);
}

void case_turn_accumulate(struct case_call *call)
{
    struct case_dim b = {0};
    struct turn_call p = read_turns(call, &b);
    double gamma = case_number_or(call, "gamma", 1);
    CASE_RUN(call, rl_turn_accumulate(&p.turns, gamma, p.values, p.out, &call->err));
    put_turns(call, &p);
}

void case_turn_clip_scale(struct case_call *call)
{
    struct case_dim b = {0};
    struct turn_call p = read_turns(call, &b);
    double beta = case_number_or(call, "clip_beta", 0.3);
    CASE_RUN(call, rl_turn_clip_scale(&p.turns, beta, p.values, p.out, &call->err));
    put_turns(call, &p);
}
