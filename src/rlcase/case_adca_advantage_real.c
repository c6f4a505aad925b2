/* case_adca_advantage_real.c: `lineage core prm_advantage`, whose step lists are ragged. */
#include <rlcore/adca.h>

#include "case_options.h"
#include "case_real.h"

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
static struct rl_adca_options read_options(struct case_call *call)
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
    struct rl_adca_options options = read_options(call);
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
