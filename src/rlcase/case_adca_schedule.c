/* case_adca_schedule.c: `lineage core prm_schedule`. */
#include <rlcore/adca.h>

#include "case_options.h"
#include "case_real.h"

static void put_booleans(struct case_call *call, const char *name, const bool *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_boolean(values[i]));
    case_put(call, name, list);
}

void case_adca_skip_rows(struct case_call *call)
{
    static const char *const names[] = {"none", "skip_small_adv", "skip_all_neg", NULL};
    struct case_dim b = {0};
    int kind = case_choice(call, "skip_type", names);
    const double *outcomes = case_numbers(call, "outcomes", &b), *overall = NULL;
    if (kind == RL_ADCA_SKIP_SMALL_ADV)
        overall = case_numbers(call, "overall_advantages", &b);
    bool *skipped = case_alloc(call, b.n, sizeof *skipped), *good = case_alloc(call, b.n, sizeof *good);
    uint8_t *flag = case_alloc(call, b.n, sizeof *flag);
    if (call->failed)
        return;
    CASE_RUN(call, rl_adca_skip_rows((enum rl_adca_skip)kind, b.n, overall, outcomes, skipped, flag, &call->err));
    if (call->failed)
        return;
    for (size_t i = 0; i < b.n; i++)
        good[i] = flag[i] == 1;
    put_booleans(call, "skipped", skipped, b.n);
    put_booleans(call, "flag", good, b.n);
}

/* Writes null instead of 0 if the attribution does not apply, because 0 is a possible alpha. */
static void put_applied(struct case_call *call, bool applied, double alpha)
{
    double scale = case_number_or(call, "neg_unconsistent_scale", 0.2);
    case_put(call, "applied", json_boolean(applied));
    case_put(call, "alpha_t", applied ? json_real(alpha) : json_null());
    case_put(call, "neg_unconsistent_scale", applied ? json_real(fabs(scale)) : json_null());
}

/*
 * Stores the rates of the flags by outcome. The outcome of a trajectory is the sum over its tokens,
 * wherever the reward is.
 */
/* Outcomes are sums of what the caller gives, so a message names that. */
static void sum_rewards(struct case_call *call, const double *rewards, size_t rows, size_t tokens, double *outcomes)
{
    for (size_t i = 0; i < rows * tokens && !call->failed; i++) {
        outcomes[i / tokens] += rewards[i];
        if (!isfinite(rewards[i]))
            case_fail(call, "inputs.token_level_rewards[%zu][%zu] is %g, not a finite number", i / tokens, i % tokens,
                      rewards[i]);
        else if (!isfinite(outcomes[i / tokens]))
            case_fail(call, "inputs.token_level_rewards[%zu]: their sum overflows", i / tokens);
    }
}

static void put_rates(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_adca_flag_rates r;
    const size_t *start;
    const double *rewards = case_reals(call, "token_level_rewards", &b, &t);
    const uint8_t *flags = case_ragged_flags(call, &b, &start);
    double *outcomes = case_alloc(call, b.n, sizeof *outcomes);
    if (call->failed)
        return;
    sum_rewards(call, rewards, b.n, t.n, outcomes);
    if (call->failed)
        return;
    CASE_RUN(call, rl_adca_count_flags(b.n, outcomes, flags, start, &r, &call->err));
    if (call->failed)
        return;
    const struct case_metric metrics[] = {
        {"prm/pos_traj_bad_rate", r.pos_bad}, {"prm/pos_traj_good_rate", r.pos_good}, {"prm/neg_traj_good_rate", r.neg_good},
        {"prm/neg_traj_bad_rate", r.neg_bad}, {"prm/good_steps_total", r.good_total}, {"prm/bad_steps_total", r.bad_total},
    };
    case_put_metric_list(call, metrics, sizeof metrics / sizeof *metrics);
}

/* Without alpha_progress the progress is NaN, and the schedule counts steps. */
void case_adca_schedule(struct case_call *call)
{
    const struct rl_adca_schedule schedule = {
        .enable = case_bool(call, "enable"),
        .global_step = case_integer(call, "global_step"),
        .prm_steps = case_integer(call, "prm_steps"),
        .alpha = case_number(call, "alpha"),
        .cosine_decay = case_bool_or(call, "alpha_cosine_decay_enable", false),
        .alpha_min = case_number_or(call, "alpha_min", 0),
        .progress = case_number_or(call, "alpha_progress", NAN),
        .total_steps = case_integer_or(call, "total_steps", 0),
    };
    if (!case_input(call, "alpha_cosine_decay_enable")) {
        case_unused(call, "alpha_min");
        case_unused(call, "alpha_progress");
        case_unused(call, "total_steps");
    }
    bool metrics = case_bool_or(call, "enable_adca_metric", false) || schedule.enable, applied;
    double alpha;
    CASE_RUN(call, rl_adca_schedule_at(&schedule, &applied, &alpha, &call->err));
    if (call->failed)
        return;
    put_applied(call, applied, alpha);
    if (metrics)
        put_rates(call);
    else
        case_put_metric_list(call, NULL, 0);
}
