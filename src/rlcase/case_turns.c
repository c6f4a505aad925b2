/*
 * case_turns.c: `lineage core information_gain`, `turn_normalize`, `turn_accumulate` and
 * `turn_clip_scale`: the parts of A2TGPO on values of turns.
 *
 * Each part reads what the part before it returned, so that a trainer can replace one of them and
 * keep the others.
 */
#include <rlcore/a2tgpo.h>

#include "case_ragged.h"
#include "case_real.h"

static void run_gain(struct case_call *call)
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

/* Results get their own memory, because the values may be an array of the caller. */
static double *new_values(struct case_call *call, const struct case_ragged *values, size_t b)
{
    return values->start ? case_alloc(call, values->start[b], sizeof(double)) : NULL;
}

static void run_normalize(struct case_call *call)
{
    static const char *const names[] = {"joint", "separate", "cells", NULL};
    struct case_dim b = {0};
    struct case_ragged values = case_ragged_read(call, "turn_values", &b);
    struct rl_turns turns = {.n_rows = b.n, .start = values.start, .group = case_integers(call, "group_index", &b)};
    enum rl_turn_sets sets =
        case_present(call, "turn_sets") ? (enum rl_turn_sets)case_choice(call, "turn_sets", names) : RL_TURN_SETS_CELLS;
    bool by_std = case_bool_or(call, "norm_adv_by_std", true);
    double epsilon = case_number_or(call, "epsilon", 1e-6);
    double *out = new_values(call, &values, b.n);
    CASE_RUN(call, rl_turn_normalize(&turns, sets, by_std, epsilon, values.values, out, &call->ws, &call->err));
    if (!call->failed)
        case_ragged_put(call, "turn_values", out, values.start, b.n);
}

static void run_accumulate(struct case_call *call)
{
    struct case_dim b = {0};
    struct case_ragged values = case_ragged_read(call, "turn_values", &b);
    struct rl_turns turns = {.n_rows = b.n, .start = values.start};
    double gamma = case_number_or(call, "gamma", 1);
    double *out = new_values(call, &values, b.n);
    CASE_RUN(call, rl_turn_accumulate(&turns, gamma, values.values, out, &call->err));
    if (!call->failed)
        case_ragged_put(call, "turn_values", out, values.start, b.n);
}

static void run_clip_scale(struct case_call *call)
{
    struct case_dim b = {0};
    struct case_ragged values = case_ragged_read(call, "turn_values", &b);
    struct rl_turns turns = {.n_rows = b.n, .start = values.start};
    double beta = case_number_or(call, "clip_beta", 0.3);
    double *out = new_values(call, &values, b.n);
    CASE_RUN(call, rl_turn_clip_scale(&turns, beta, values.values, out, &call->err));
    if (!call->failed)
        case_ragged_put(call, "turn_values", out, values.start, b.n);
}

const struct case_kernel case_information_gain = {
    .family = "information_gain",
    .summary = "information gain of each turn of a rollout, from the log-probs of the true answer",
    .inputs = "gain?, answer_log_prob",
    .outputs = "information_gain [K], prefix_values [K+1]",
    .run = run_gain,
};

const struct case_kernel case_turn_normalize = {
    .family = "turn_normalize",
    .summary = "A2TGPO's TurnGroupNormalizer: values of turns, normalised within their prompt group",
    .inputs = "turn_values, group_index, turn_sets?, norm_adv_by_std?, epsilon?",
    .outputs = "turn_values (ragged)",
    .run = run_normalize,
};

const struct case_kernel case_turn_accumulate = {
    .family = "turn_accumulate",
    .summary = "A2TGPO's variance-rescaled discounted sums over the turns of each row",
    .inputs = "turn_values, gamma?",
    .outputs = "turn_values (ragged)",
    .run = run_accumulate,
};

const struct case_kernel case_turn_clip_scale = {
    .family = "turn_clip_scale",
    .summary = "A2TGPO's AdaptiveTurnClipper: factor of the clip range of each turn, from normalised gains",
    .inputs = "turn_values, clip_beta?",
    .outputs = "turn_values (ragged)",
    .run = run_clip_scale,
};
