/* case_algorithm_rows_real.c: `lineage core algorithm_rows`: any algorithm of the table on the rows of a batch. */
#include <rlcore/algorithm.h>

#include "case_options.h"
#include "case_real.h"

struct rows_case {
    const struct rl_algorithm *algorithm;
    struct rl_algorithm_options options;
    struct rl_algorithm_input in;
    struct rl_batch batch;
    struct rl_baseline baseline;
    size_t n_baselines, b, t;
    real *rewards, *advantages, *clip_scale;
};

/* A setting that the algorithm does not read is refused, because it would have no effect. */
static void read_number(struct case_call *call, const struct rl_algorithm *algorithm, const char *input, const char *setting,
                        double *value)
{
    if (!case_present(call, input))
        return;
    if (!rl_algorithm_reads(algorithm, setting))
        case_fail(call, "inputs.%s has no effect with %s", input, algorithm->name);
    *value = case_number(call, input);
}

static void read_settings(struct case_call *call, struct rows_case *c)
{
    struct rl_algorithm_options *o = &c->options;
    const char *name = case_string(call, "algorithm");
    CASE_RUN(call, rl_algorithm_find(name, &c->algorithm, &call->err));
    if (call->failed)
        return;
    rl_algorithm_options_init(o, c->algorithm);
    read_number(call, c->algorithm, "alpha", "alpha", &o->alpha);
    read_number(call, c->algorithm, "gamma", "gamma", &o->gamma);
    read_number(call, c->algorithm, "clip_beta", "beta", &o->beta);
    read_number(call, c->algorithm, "epsilon", "epsilon", &o->epsilon);
    read_number(call, c->algorithm, "lam", "lam", &o->lam);
    read_number(call, c->algorithm, "decay", "decay", &o->decay);
    if (case_present(call, "norm_adv_by_std")) {
        if (!rl_algorithm_reads(c->algorithm, "norm_by_std"))
            case_fail(call, "inputs.norm_adv_by_std has no effect with %s", c->algorithm->name);
        o->norm_by_std = case_bool(call, "norm_adv_by_std");
    }
    o->baselines = &c->baseline;
    o->n_baselines = &c->n_baselines;
    o->max_baselines = 1;
}

static void check_turns(struct case_call *call, const char *name, const size_t *turns, const size_t *given, size_t b)
{
    for (size_t i = 0; !call->failed && i < b; i++)
        if (turns[i + 1] - turns[i] != given[i + 1] - given[i])
            case_fail(call, "inputs.%s[%zu] has %zu entries for %zu turns", name, i, given[i + 1] - given[i],
                      turns[i + 1] - turns[i]);
}

/* Expected returns are double in both precisions of the core. */
static const double *read_values(struct case_call *call, struct case_dim *b, struct case_dim *t)
{
    const real *given = case_reals(call, "values", b, t);
    double *values = call->failed ? NULL : case_alloc(call, b->n * t->n, sizeof *values);
    for (size_t i = 0; values && i < b->n * t->n; i++)
        values[i] = (double)given[i];
    return values;
}

/* Reads what the algorithm needs and nothing else. */
static void read_needs(struct case_call *call, struct rows_case *c, struct case_dim *b, struct case_dim *t)
{
    unsigned needs = c->algorithm->needs;
    if (needs & RL_NEED_GAINS) {
        size_t *start = NULL;
        c->in.gain = case_ragged(call, "turn_values", RL_CASE_FLOAT64, b, &start);
        if (!call->failed)
            check_turns(call, "turn_values", c->in.turn_start, start, b->n);
    }
    if (needs & RL_NEED_JUDGE) {
        const size_t *start = NULL;
        c->in.flags = case_ragged_flags(call, b, &start);
        if (!call->failed)
            check_turns(call, "step_flags", c->in.turn_start, start, b->n);
    }
    if (needs & RL_NEED_VALUES) {
        c->in.values = read_values(call, b, t);
        c->in.returns = case_alloc(call, b->n * t->n, sizeof *c->in.returns);
    }
    if (needs & RL_NEED_GREEDY)
        c->in.baseline = case_numbers(call, "reward_baselines", b);
    if (needs & RL_NEED_AGENTS) {
        const int64_t *shared = case_integers(call, "shared_turns", b);
        int32_t *narrow = case_alloc(call, b->n, sizeof *narrow);
        c->in.episode = case_integers(call, "episode_index", b);
        for (size_t i = 0; !call->failed && i < b->n; i++) {
            if (shared[i] < 0 || shared[i] > INT32_MAX)
                case_fail(call, "inputs.shared_turns[%zu] is not a number of turns", i);
            narrow[i] = (int32_t)shared[i];
        }
        c->in.n_shared = narrow;
    }
}

static void read_rows(struct case_call *call, struct rows_case *c)
{
    struct case_dim b = {0}, t = {0};
    c->batch.mask = case_mask(call, "response_mask", &b, &t);
    c->batch.turn = case_ids(call, "turn_id", &b, &t);
    c->batch.group = case_integers(call, "group_index", &b);
    c->in.outcome = case_numbers(call, "rewards", &b);
    size_t *start = case_alloc(call, b.n + 1, sizeof *start);
    c->b = c->batch.n_rows = b.n;
    c->t = c->batch.n_tokens = t.n;
    c->in.batch = &c->batch;
    c->in.turn_start = start;
    CASE_RUN(call, rl_turn_starts(&c->batch, start, &call->err));
    if (!call->failed)
        read_needs(call, c, &b, &t);
    c->rewards = case_alloc(call, b.n * t.n, sizeof *c->rewards);
    c->advantages = case_alloc(call, b.n * t.n, sizeof *c->advantages);
    c->clip_scale = case_alloc(call, b.n * t.n, sizeof *c->clip_scale);
}

void case_algorithm_rows(struct case_call *call)
{
    struct rows_case c = {0};
    struct rl_a2tgpo_stats stats = {0};
    read_settings(call, &c);
    if (!call->failed)
        read_rows(call, &c);
    CASE_RUN(call, rl_algorithm_rows(c.algorithm, &c.in, &c.options, c.rewards, c.advantages, c.clip_scale, &stats, &call->ws,
                                     &call->err));
    case_put_reals(call, "advantages", c.advantages, c.b, c.t);
    case_put_reals(call, "token_level_rewards", c.rewards, c.b, c.t);
    case_put_reals(call, "ig_clip_scale", c.clip_scale, c.b, c.t);
}
