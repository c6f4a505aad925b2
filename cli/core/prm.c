/* prm.c: `lineage core prm_advantage | prm_schedule | prm_steps`, whose step lists are ragged. */
#include <rlcore/adca.h>

#include <math.h>

#include "core_real.h"

/* A ragged list as one flat array and where each row begins in it. */
struct ragged {
    size_t *start; /* [b+1] */
    double *values;
};

static struct ragged read_ragged(struct core_call *call, const char *name, struct core_dim *b)
{
    const json_t *rows = json_object_get(call->inputs, name);
    struct ragged out = {0};
    if (!json_is_array(rows) || (b->known && json_array_size(rows) != b->n)) {
        core_fail(call, "inputs.%s is not a list of one list per row", name);
        return out;
    }
    *b = (struct core_dim){json_array_size(rows), true};
    out.start = core_alloc(call, b->n + 1, sizeof *out.start);
    for (size_t i = 0; out.start && i < b->n; i++)
        out.start[i + 1] = out.start[i] + json_array_size(json_array_get(rows, i));
    out.values = out.start ? core_alloc(call, out.start[b->n], sizeof *out.values) : NULL;
    for (size_t i = 0; out.values && i < b->n; i++) {
        const json_t *row = json_array_get(rows, i);
        if (!json_is_array(row))
            core_fail(call, "inputs.%s[%zu] is not a list", name, i);
        for (size_t j = 0; j < json_array_size(row); j++) {
            const json_t *item = json_array_get(row, j);
            if (!json_is_number(item) && !json_is_boolean(item))
                core_fail(call, "inputs.%s[%zu][%zu] is not a number or boolean", name, i, j);
            out.values[out.start[i] + j] = json_is_true(item) ? 1 : json_number_value(item);
        }
    }
    return out;
}

/* A ragged list of GOOD (true) and BAD. */
static uint8_t *read_flags(struct core_call *call, struct core_dim *b, const size_t **start)
{
    struct ragged flags = read_ragged(call, "step_flags", b);
    *start = flags.start;
    if (call->failed)
        return NULL;
    uint8_t *out = core_alloc(call, flags.start[b->n], sizeof *out);
    for (size_t i = 0; out && i < flags.start[b->n]; i++) {
        if (flags.values[i] < 0 || flags.values[i] > 1)
            core_fail(call, "inputs.step_flags: flag %zu is not true or false", i);
        out[i] = flags.values[i] > 0;
    }
    return out;
}

static void put_ragged(struct core_call *call, const char *name, const double *values,
                       const size_t *start, size_t b)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < b; i++) {
        json_t *row = json_array();
        for (size_t j = start[i]; j < start[i + 1]; j++)
            if (json_array_append_new(row, json_real(values[j])) != 0)
                core_fail(call, "result %s[%zu][%zu] is not finite", name, i, j - start[i]);
        json_array_append_new(rows, row);
    }
    core_put(call, name, rows);
}

struct metric {
    const char *name;
    double value;
};

static void put_metrics(struct core_call *call, const struct metric *metrics, size_t n)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++)
        if (json_object_set_new(object, metrics[i].name, json_real(metrics[i].value)) != 0)
            core_fail(call, "metric %s is not finite", metrics[i].name);
    core_put(call, "metrics", object);
}

static void put_decouple(struct core_call *call, const struct rl_prm_metrics *m)
{
    const struct metric metrics[] = {
        {"prm/decouple/attr_mean", m->attr_mean},
        {"prm/decouple/attr_std", m->attr_std},
        {"prm/decouple/out_mean", m->out_mean},
        {"prm/decouple/out_std", m->out_std},
        {"prm/decouple/outcome_share_last_mean", m->outcome_share_last_mean},
        {"prm/decouple/alpha_effective", m->alpha_effective},
        {"prm/decouple/sum_step_reward_sign_agree", m->sum_step_reward_sign_agree},
        {"prm/decouple/pos_traj_prm_good_majority_rate", m->pos_traj_good_majority_rate},
        {"prm/decouple/neg_traj_prm_bad_majority_rate", m->neg_traj_bad_majority_rate},
    };
    put_metrics(call, metrics, sizeof metrics / sizeof *metrics);
}

static void put_allocation(struct core_call *call, const struct rl_prm_metrics *m)
{
    const struct metric metrics[] = {
        {"prm_allocation/consistent_weight_share_pos", m->consistent_weight_share_pos},
        {"prm_allocation/consistent_weight_share_neg", m->consistent_weight_share_neg},
        {"prm_allocation/unit_weight_mean", m->unit_weight_mean},
        {"prm_allocation/unit_weight_p95", m->unit_weight_p95},
        {"prm_allocation/degenerate_total_w_count", m->degenerate_total_w_count},
        {"prm_allocation/r_norm_group_mean_abs_p95", m->r_norm_group_mean_abs_p95},
        {"prm_allocation/r_norm_group_std_p95", m->r_norm_group_std_p95},
        {"prm_allocation/zscore_bad_group_cnt", m->zscore_bad_group_cnt},
        {"prm_allocation/good_bad_rnorm_gap_pos", m->good_bad_rnorm_gap_pos},
        {"prm_allocation/good_bad_rnorm_gap_neg", m->good_bad_rnorm_gap_neg},
        {"prm_allocation/rnorm_small_mag_ratio", m->rnorm_small_mag_ratio},
        {"prm_allocation/pre_norm_sum_sign_agree", m->pre_norm_sum_sign_agree},
        {"prm_allocation/post_norm_sum_mean", m->post_norm_sum_mean},
        {"prm_allocation/outcome_share_last_mean", m->outcome_share_last_mean},
        {"prm_allocation/alpha_effective", m->alpha_effective},
        {"prm_allocation/sum_step_reward_sign_agree", m->sum_step_reward_sign_agree},
        {"prm_allocation/pos_traj_prm_good_majority_rate", m->pos_traj_good_majority_rate},
        {"prm_allocation/neg_traj_prm_bad_majority_rate", m->neg_traj_bad_majority_rate},
    };
    put_metrics(call, metrics, sizeof metrics / sizeof *metrics);
}

static struct rl_prm_options read_options(struct core_call *call)
{
    static const char *const schemes[] = {"decouple", "allocation", NULL};
    static const char *const outcomes[] = {"last_step", "all_steps", "only_prm", NULL};
    struct rl_prm_options o;
    rl_prm_options_init(&o);
    o.scheme = (enum rl_prm_scheme)core_choice(call, "scheme", schemes);
    if (core_present(call, "orm_distribution"))
        o.outcome = (enum rl_prm_outcome)core_choice(call, "orm_distribution", outcomes);
    o.consistent_scale = core_number_or(call, "consistent_scale", o.consistent_scale);
    o.pos_unconsistent_scale = core_number_or(call, "pos_unconsistent_scale", o.pos_unconsistent_scale);
    o.neg_unconsistent_scale = core_number_or(call, "neg_unconsistent_scale", o.neg_unconsistent_scale);
    o.eps = core_number_or(call, "eps", o.eps);
    o.do_batch_norm = core_bool_or(call, "do_batch_norm", o.do_batch_norm);
    o.equal_trajectory_weight = core_bool_or(call, "equal_trajectory_weight", o.equal_trajectory_weight);
    o.fix_base = core_number_or(call, "fix_base", o.fix_base);
    o.alpha = core_number_or(call, "alpha", o.alpha);
    o.length_normalisation =
        core_bool_or(call, "enable_length_normalization", o.length_normalisation);
    return o;
}

static struct rl_prm_input read_input(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    struct rl_prm_input in = {.group = core_integers(call, "group_ids", &b),
                              .step_id = core_ids(call, "step_ids", &b, &t),
                              .rewards = core_reals(call, "token_level_rewards", &b, &t)};
    in.flags = read_flags(call, &b, &in.flag_start);
    size_t *start = core_alloc(call, b.n + 1, sizeof *start);
    in.n_rows = b.n;
    in.n_tokens = t.n;
    in.start = start;
    if (!call->failed)
        core_again(call, rl_prm_step_starts(b.n, t.n, in.step_id, start, &call->err));
    return in;
}

static void run_advantage(struct core_call *call)
{
    struct rl_prm_options options = read_options(call);
    struct rl_prm_input in = read_input(call);
    struct rl_prm_metrics metrics;
    enum rl_status status;
    if (call->failed)
        return;
    size_t steps = in.start[in.n_rows];
    struct rl_prm_output out = {
        .outcomes = core_alloc(call, in.n_rows, sizeof(double)),
        .step_rewards = core_alloc(call, steps, sizeof(double)),
        .step_advantages = core_alloc(call, steps, sizeof(double)),
        .advantages = core_alloc(call, in.n_rows * in.n_tokens, sizeof(double)),
        .metrics = &metrics,
    };
    if (call->failed)
        return;
    do
        status = rl_prm_advantage(&in, &options, &out, &call->ws, &call->err);
    while (core_again(call, status));
    if (call->failed)
        return;
    core_put_reals(call, "advantages", out.advantages, in.n_rows, in.n_tokens);
    core_put_numbers(call, "orm_scores", out.outcomes, in.n_rows);
    put_ragged(call, "step_rewards", out.step_rewards, in.start, in.n_rows);
    put_ragged(call, "step_advantages", out.step_advantages, in.start, in.n_rows);
    (options.scheme == RL_PRM_DECOUPLE ? put_decouple : put_allocation)(call, &metrics);
}

static void run_steps(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    const int32_t *step_id = core_ids(call, "step_ids", &b, &t);
    struct ragged rewards = read_ragged(call, "step_rewards", &b);
    if (call->failed)
        return;
    double *sums = core_alloc(call, rewards.start[b.n], sizeof *sums);
    double *advantages = core_alloc(call, b.n * t.n, sizeof *advantages);
    if (call->failed)
        return;
    enum rl_status status = rl_prm_suffix_sums(b.n, rewards.start, rewards.values, sums, &call->err);
    if (status == RL_OK)
        status = rl_prm_spread(b.n, t.n, step_id, rewards.start, sums, advantages, &call->err);
    if (core_again(call, status) || call->failed)
        return;
    put_ragged(call, "step_advantages", sums, rewards.start, b.n);
    core_put_reals(call, "advantages", advantages, b.n, t.n);
}

static void put_applied(struct core_call *call, bool applied, double alpha)
{
    double scale = core_number_or(call, "neg_unconsistent_scale", 0.2);
    core_put(call, "applied", json_boolean(applied));
    core_put(call, "alpha_t", applied ? json_real(alpha) : json_null());
    core_put(call, "neg_unconsistent_scale", applied ? json_real(fabs(scale)) : json_null());
}

/* Flags by outcome; nothing of it unless the attribution or its metrics are enabled. */
static void put_rates(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    struct rl_prm_flag_rates r;
    const size_t *start;
    const double *rewards = core_reals(call, "token_level_rewards", &b, &t);
    const uint8_t *flags = read_flags(call, &b, &start);
    double *outcomes = core_alloc(call, b.n, sizeof *outcomes);
    if (call->failed)
        return;
    for (size_t i = 0; i < b.n * t.n; i++)
        outcomes[i / t.n] += rewards[i];
    if (core_again(call, rl_prm_count_flags(b.n, outcomes, flags, start, &r, &call->err)) || call->failed)
        return;
    const struct metric metrics[] = {
        {"prm/pos_traj_bad_rate", r.pos_bad},   {"prm/pos_traj_good_rate", r.pos_good},
        {"prm/neg_traj_good_rate", r.neg_good}, {"prm/neg_traj_bad_rate", r.neg_bad},
        {"prm/good_steps_total", r.good_total}, {"prm/bad_steps_total", r.bad_total},
    };
    put_metrics(call, metrics, sizeof metrics / sizeof *metrics);
}

static void run_schedule(struct core_call *call)
{
    const struct rl_prm_schedule schedule = {
        .enable = core_bool(call, "enable"),
        .global_step = core_integer(call, "global_step"),
        .prm_steps = core_integer(call, "prm_steps"),
        .alpha = core_number(call, "alpha"),
        .cosine_decay = core_bool_or(call, "alpha_cosine_decay_enable", false),
        .alpha_min = core_number_or(call, "alpha_min", 0),
        .progress = core_number_or(call, "alpha_progress", NAN),
        .total_steps = core_integer_or(call, "total_steps", 0),
    };
    bool metrics = core_bool_or(call, "enable_adca_metric", false) || schedule.enable, applied;
    double alpha;
    if (call->failed || core_again(call, rl_prm_schedule_at(&schedule, &applied, &alpha, &call->err)) ||
        call->failed)
        return;
    put_applied(call, applied, alpha);
    if (metrics)
        put_rates(call);
    else
        put_metrics(call, NULL, 0);
}

const struct core_kernel core_prm_advantage = {
    .family = "prm_advantage",
    .summary = "ADCA-GRPO: advantages from GOOD and BAD steps beside the outcome",
    .inputs = "scheme (decouple|allocation), group_ids [B], step_ids [B][T], step_flags (ragged), "
              "token_level_rewards [B][T], orm_distribution? (last_step|all_steps|only_prm), "
              "consistent_scale?, pos_unconsistent_scale?, neg_unconsistent_scale?, eps?, do_batch_norm?, "
              "equal_trajectory_weight?, fix_base?, alpha?, enable_length_normalization?",
    .run = run_advantage,
};

const struct core_kernel core_prm_schedule = {
    .family = "prm_schedule",
    .summary = "when ADCA-GRPO's attribution applies, with which alpha, and how flags fall",
    .inputs = "enable, global_step, prm_steps, alpha, token_level_rewards [B][T], step_flags (ragged), "
              "enable_adca_metric?, alpha_cosine_decay_enable?, alpha_min?, alpha_progress?, total_steps?, "
              "neg_unconsistent_scale?",
    .run = run_schedule,
};

const struct core_kernel core_prm_steps = {
    .family = "prm_steps",
    .summary = "suffix sums of step rewards, at the tokens of each step",
    .inputs = "step_rewards (ragged), step_ids [B][T]",
    .run = run_steps,
};
