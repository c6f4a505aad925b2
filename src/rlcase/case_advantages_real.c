/* case_advantages_real.c: `lineage core` for the kernels of advantages, in both precisions. */
#include <rlcore/a2tgpo.h>
#include <rlcore/adca.h>
#include <rlcore/advantage.h>
#include <rlcore/algorithm.h>
#include <rlcore/process.h>

#include "case_options.h"
#include "case_real.h"

/*
 * ---- `lineage core advantage`: one estimator by name.
 *
 * Estimators need different inputs besides rewards. Each reads its own inputs when it runs, so that
 * a case need not contain the others.
 */

/* The event array, narrowed to bytes. The range is checked first, because 257 would become 1. */
static uint8_t *read_events(struct case_call *call, struct case_dim *b, struct case_dim *t)
{
    const int32_t *ids = case_ids(call, "event", b, t);
    const size_t *start = call->start;
    uint8_t *out = case_alloc_batch(call, b->n, t->n, sizeof *out);
    for (size_t i = 0; ids && out && i < b->n; i++) {
        size_t at = start ? start[i] : i * case_stride(call, t->n);
        for (size_t j = 0; j < (start ? start[i + 1] - at : t->n); j++) {
            if (ids[at + j] < 0 || ids[at + j] > RL_EVENT_OUTCOME)
                case_fail(call, "inputs.event[%zu][%zu] is %d, not 0, 1 or 2", i, j, ids[at + j]);
            out[at + j] = (uint8_t)ids[at + j];
        }
    }
    return out;
}

void case_process_advantage(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t), .group = case_integers(call, "group_index", &b)};
    const uint8_t *event = read_events(call, &b, &t);
    const real *rewards = case_reals(call, "token_level_rewards", &b, &t);
    real *advantages = case_alloc_batch(call, b.n, t.n, sizeof *advantages);
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, rewards);
    CASE_RUN(call, rl_process_advantage(laid, event, rewards, advantages, &call->ws, &call->err));
    case_put_reals(call, "advantages", advantages, b.n, t.n);
}

/* The input may be the caller's own memory, so a copy of it is whitened. */
void case_whiten(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *in = case_reals(call, "advantages", &b, &t);
    bool masked = case_bool_or(call, "masked", true);
    real *out = case_alloc(call, b.n * t.n, sizeof *out);
    if (call->failed)
        return;
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    if (in) /* an empty batch has none */
        memcpy(out, in, b.n * t.n * sizeof *out);
    CASE_RUN(call, rl_whiten(&batch, masked, out, &call->ws, &call->err));
    case_put_reals(call, "advantages", out, b.n, t.n);
}

struct problem {
    struct case_call *call;
    struct rl_batch batch;
    struct case_dim b, t;
    const real *rewards;
    real *advantages, *returns;
};

static const struct rl_batch *laid(struct problem *p, const real *second)
{
    return CASE_LAY_OUT(p->call, p->batch, p->b.n, p->t.n, p->rewards, second);
}

/*
 * For these estimators the returns equal the advantages: verl reports both, and its cases compare
 * both.
 */
static enum rl_status group(struct problem *p, int estimator)
{
    struct rl_outcome_options o;
    rl_outcome_options_init(&o);
    o.estimator = (enum rl_estimator)estimator;
    o.epsilon = case_number_or(p->call, "epsilon", o.epsilon);
    o.norm_adv_by_std = case_bool_or(p->call, "norm_adv_by_std", o.norm_adv_by_std);
    if (p->call->failed)
        return RL_EINVAL;
    enum rl_status status = rl_outcome_advantage(laid(p, NULL), &o, p->rewards, p->advantages, &p->call->ws, &p->call->err);
    if (status == RL_OK)
        memcpy(p->returns, p->advantages, case_batch_size(p->call, p->b.n, p->t.n) * sizeof *p->returns);
    return status;
}

static enum rl_status reinforce(struct problem *p)
{
    double gamma = case_number_or(p->call, "gamma", 1);
    bool through = case_bool_or(p->call, "through_holes", false);
    if (p->call->failed)
        return RL_EINVAL;
    return rl_reinforce_plus_plus(laid(p, NULL), gamma, through, p->rewards, p->advantages, p->returns, &p->call->ws,
                                  &p->call->err);
}

static enum rl_status remax(struct problem *p)
{
    const real *baselines = case_list(p->call, "reward_baselines", OWN_TYPE, &p->b);
    if (p->call->failed)
        return RL_EINVAL;
    return rl_remax(laid(p, NULL), p->rewards, baselines, p->advantages, p->returns, &p->call->err);
}

/* Without a discount in the case it is 1, because episodes are short and end with their reward. */
static enum rl_status gae(struct problem *p)
{
    double gamma = case_number_or(p->call, "gamma", 1), lam = case_number_or(p->call, "lam", 1);
    const real *values = case_reals(p->call, "values", &p->b, &p->t);
    if (p->call->failed)
        return RL_EINVAL;
    return rl_gae(laid(p, values), gamma, lam, p->rewards, values, p->advantages, p->returns, &p->call->ws, &p->call->err);
}

static enum rl_status token_baseline(struct problem *p, bool compact)
{
    struct rl_token_baseline_options o;
    rl_token_baseline_options_init(&o);
    o.compact = compact;
    o.handle_zero_tail = case_bool_or(p->call, "handle_zero_tail", o.handle_zero_tail);
    o.epsilon = case_number_or(p->call, "epsilon", o.epsilon);
    const struct rl_token_baseline_input in = {
        .rewards = p->rewards,
        .old_log_prob = case_reals(p->call, "old_log_prob", &p->b, &p->t),
        .sum_pi_squared = case_reals(p->call, "sum_pi_squared", &p->b, &p->t),
        .weights = case_reals_or_null(p->call, "rollout_is_weights", &p->b, &p->t),
    };
    if (p->call->failed)
        return RL_EINVAL;
    const struct rl_batch *batch =
        CASE_LAY_OUT(p->call, p->batch, p->b.n, p->t.n, in.rewards, in.old_log_prob, in.sum_pi_squared, in.weights);
    return rl_token_baseline(batch, &in, &o, p->advantages, p->returns, &p->call->ws, &p->call->err);
}

/*
 * If the kernel needs a larger workspace, this runs again and reads its inputs again; a case is
 * small.
 */
static enum rl_status estimate(struct problem *p, int estimator)
{
    switch (estimator) {
    case 8: return reinforce(p);
    case 9: return remax(p);
    case 10: return gae(p);
    case 11: return token_baseline(p, false);
    case 12: return token_baseline(p, true);
    default: return group(p, estimator);
    }
}

/*
 * The published numbers of three estimators ignore a reward at mask 0, and cases with them exist. A
 * rollout that ends with a tool's answer has its outcome there and would teach nothing.
 */
static void warn_of_lost_reward(struct problem *p, int estimator, const char *name)
{
    struct rl_error err;
    bool ignores = estimator == 9 || estimator == 11 || (estimator == 8 && !case_bool_or(p->call, "through_holes", false));
    if (ignores && rl_batch_check_rewards(p->rewards, laid(p, NULL), &err) != RL_OK)
        case_warn(p->call, "%s: %s", name, err.text);
}

void case_advantage(struct case_call *call)
{
    static const char *const estimators[] = {
        /* names in the order of enum rl_estimator, then the other names that estimate() knows */
        "grpo",
        "grpo_vectorized",
        "grpo_passk",
        "rloo",
        "rloo_vectorized",
        "opo",
        "gpg",
        "reinforce_plus_plus_baseline",
        "reinforce_plus_plus",
        "remax",
        "gae",
        "optimal_token_baseline",
        "tir_optimal_token_baseline",
        NULL};
    int estimator = case_choice(call, "estimator", estimators);
    struct problem p = {.call = call};
    p.batch.mask = case_mask(call, "response_mask", &p.b, &p.t);
    p.batch.group = case_present(call, "group_index") ? case_integers(call, "group_index", &p.b) : NULL;
    p.rewards = case_reals(call, "token_level_rewards", &p.b, &p.t);
    p.advantages = case_alloc_batch(call, p.b.n, p.t.n, sizeof *p.advantages);
    p.returns = case_alloc_batch(call, p.b.n, p.t.n, sizeof *p.returns);
    CASE_RUN(call, estimate(&p, estimator));
    if (call->failed)
        return;
    case_put_reals(call, "advantages", p.advantages, p.b.n, p.t.n);
    case_put_reals(call, "returns", p.returns, p.b.n, p.t.n);
    warn_of_lost_reward(&p, estimator, estimators[estimator]);
}

/* ---- `lineage core a2tgpo_advantage`. */

/* The number of values of each row must be that of its turns; the core cannot know the former. */
static void check_counts(struct case_call *call, const size_t *turns, const size_t *values, size_t b)
{
    for (size_t i = 0; !call->failed && i < b; i++)
        if (turns[i + 1] - turns[i] != values[i + 1] - values[i])
            case_fail(call, "inputs.turn_values[%zu] has %zu values for %zu turns", i, values[i + 1] - values[i],
                      turns[i + 1] - turns[i]);
}

void case_turn_spread(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t), .turn = case_ids(call, "turn_id", &b, &t)};
    size_t *given = NULL;
    const double *values = case_ragged(call, "turn_values", RL_CASE_FLOAT64, &b, &given);
    double fill = case_number_or(call, "fill", 0);
    size_t *start = case_alloc(call, b.n + 1, sizeof *start);
    real *out = case_alloc(call, b.n * t.n, sizeof *out);
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    CASE_RUN(call, rl_turn_starts(&batch, start, &call->err));
    if (call->failed)
        return;
    check_counts(call, start, given, b.n);
    CASE_RUN(call, rl_turn_spread(&batch, start, values, fill, out, &call->err));
    case_put_reals(call, "token_values", out, b.n, t.n);
}

static struct rl_a2tgpo_options read_a2tgpo_options(struct case_call *call)
{
    static const char *const modes[] = {"joint", "separate", "turn-group", "turn-group-v1d", NULL};
    struct rl_a2tgpo_options o;
    rl_a2tgpo_options_init(&o);
    o.mode = (enum rl_a2tgpo_mode)case_choice(call, "info_gain_norm_mode", modes);
    o.gamma = case_number_or(call, "gamma", o.gamma);
    o.alpha = case_number_or(call, "alpha", o.alpha);
    o.clip_beta = case_number_or(call, "clip_beta", o.clip_beta);
    o.norm_adv_by_std = case_bool_or(call, "norm_adv_by_std", o.norm_adv_by_std);
    o.epsilon = case_number_or(call, "epsilon", o.epsilon);
    return o;
}

/*
 * The clip scale exists in one mode only. In the other modes its keys are left out, as in the
 * golden vectors.
 */
void case_a2tgpo_advantage(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_a2tgpo_options options = read_a2tgpo_options(call);
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t),
                             .turn = case_ids(call, "turn_id", &b, &t),
                             .group = case_integers(call, "group_index", &b)};
    const real *rewards = case_reals(call, "token_level_rewards", &b, &t);
    real *advantages = case_alloc_batch(call, b.n, t.n, sizeof *advantages);
    real *clip_scale = case_alloc_batch(call, b.n, t.n, sizeof *clip_scale);
    struct rl_a2tgpo_stats stats;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, rewards);
    CASE_RUN(call, rl_a2tgpo_advantage(laid, &options, rewards, advantages, clip_scale, &stats, &call->ws, &call->err));
    if (call->failed)
        return;
    case_put_reals(call, "advantages", advantages, b.n, t.n);
    if (options.mode != RL_A2TGPO_TURN_GROUP_V1D)
        return;
    case_put_reals(call, "ig_clip_scale", clip_scale, b.n, t.n);
    case_put_number(call, "ig_clip_scale_mean", stats.ig_clip_scale_mean);
    case_put_number(call, "ig_clip_scale_std", stats.ig_clip_scale_std);
}

/* ---- `lineage core prm_advantage`, whose step lists are ragged. */

/*
 * Runs the two halves of the definition separately, so that a case shows in which half an
 * implementation differs.
 */
void case_adca_steps(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    const int32_t *step_id = case_ids(call, "step_ids", &b, &t);
    size_t *start = NULL;
    const double *rewards = case_ragged(call, "step_rewards", RL_CASE_FLOAT64, &b, &start);
    if (call->failed)
        return;
    double *sums = case_alloc(call, start[b.n], sizeof *sums);
    real *advantages = case_alloc(call, b.n * t.n, sizeof *advantages);
    CASE_RUN(call, rl_adca_suffix_sums(b.n, start, rewards, sums, &call->err));
    CASE_RUN(call, rl_adca_spread(b.n, t.n, step_id, start, sums, advantages, &call->err));
    case_put_ragged(call, "step_advantages", RL_CASE_FLOAT64, sums, start, b.n);
    case_put_reals(call, "advantages", advantages, b.n, t.n);
}

static void put_decouple(struct case_call *call, const struct rl_adca_metrics *m)
{
    const struct case_metric metrics[] = {
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
    case_put_metric_list(call, metrics, sizeof metrics / sizeof *metrics);
}

static void put_allocation(struct case_call *call, const struct rl_adca_metrics *m)
{
    const struct case_metric metrics[] = {
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
    case_put_metric_list(call, metrics, sizeof metrics / sizeof *metrics);
}

/* Names are those of AgentEvolver's configurations; absent options have the core's defaults. */
static struct rl_adca_options read_adca_options(struct case_call *call)
{
    static const char *const schemes[] = {"decouple", "allocation", NULL};
    static const char *const outcomes[] = {"last_step", "all_steps", "only_prm", NULL};
    struct rl_adca_options o;
    rl_adca_options_init(&o);
    o.scheme = (enum rl_adca_scheme)case_choice(call, "scheme", schemes);
    if (case_present(call, "orm_distribution"))
        o.outcome = (enum rl_adca_outcome)case_choice(call, "orm_distribution", outcomes);
    o.consistent_scale = case_number_or(call, "consistent_scale", o.consistent_scale);
    o.pos_unconsistent_scale = case_number_or(call, "pos_unconsistent_scale", o.pos_unconsistent_scale);
    o.neg_unconsistent_scale = case_number_or(call, "neg_unconsistent_scale", o.neg_unconsistent_scale);
    o.eps = case_number_or(call, "eps", o.eps);
    o.do_batch_norm = case_bool_or(call, "do_batch_norm", o.do_batch_norm);
    o.equal_trajectory_weight = case_bool_or(call, "equal_trajectory_weight", o.equal_trajectory_weight);
    o.fix_base = case_number_or(call, "fix_base", o.fix_base);
    o.alpha = case_number_or(call, "alpha", o.alpha);
    o.length_normalisation = case_bool_or(call, "enable_length_normalization", o.length_normalisation);
    return o;
}

/* The core derives the steps from the ids; a row must have as many flags as steps. */
static struct rl_adca_input read_input(struct case_call *call, const real **rewards)
{
    struct case_dim b = {0}, t = {0};
    struct rl_adca_input in = {.group = case_integers(call, "group_ids", &b), .step_id = case_ids(call, "step_ids", &b, &t)};
    *rewards = case_reals(call, "token_level_rewards", &b, &t);
    in.flags = case_ragged_flags(call, &b, &in.flag_start);
    size_t *start = case_alloc(call, b.n + 1, sizeof *start);
    in.n_rows = b.n;
    in.n_tokens = t.n;
    in.start = start;
    CASE_RUN(call, rl_adca_step_starts(b.n, t.n, in.step_id, start, &call->err));
    return in;
}

/*
 * Outcomes, step rewards and step advantages are also results, so that a difference can be
 * attributed to a stage.
 */
void case_adca_advantage(struct case_call *call)
{
    const real *rewards;
    struct rl_adca_options options = read_adca_options(call);
    struct rl_adca_input in = read_input(call, &rewards);
    struct rl_adca_metrics metrics;
    if (call->failed)
        return;
    size_t steps = in.start[in.n_rows];
    real *advantages = case_alloc(call, in.n_rows * in.n_tokens, sizeof *advantages);
    const struct rl_adca_output out = {
        .outcomes = case_alloc(call, in.n_rows, sizeof(double)),
        .step_rewards = case_alloc(call, steps, sizeof(double)),
        .step_advantages = case_alloc(call, steps, sizeof(double)),
        .metrics = &metrics,
    };
    if (call->failed)
        return;
    CASE_RUN(call, rl_adca_advantage(&in, &options, rewards, advantages, &out, &call->ws, &call->err));
    if (call->failed)
        return;
    case_put_reals(call, "advantages", advantages, in.n_rows, in.n_tokens);
    case_put_numbers(call, "orm_scores", out.outcomes, in.n_rows);
    case_put_ragged(call, "step_rewards", RL_CASE_FLOAT64, out.step_rewards, in.start, in.n_rows);
    case_put_ragged(call, "step_advantages", RL_CASE_FLOAT64, out.step_advantages, in.start, in.n_rows);
    (options.scheme == RL_ADCA_DECOUPLE ? put_decouple : put_allocation)(call, &metrics);
}

/* ---- `lineage core algorithm_rows`: any algorithm of the table on the rows of a batch. */

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
