/* case_distill_real.c: `lineage core distillation`. */
#include <rlcore/distill.h>

#include "case_real.h"

struct distill_case {
    const struct rl_batch *batch;
    struct rl_distill_options options;
    const real *log_prob, *teacher, *rl_advantages;
    const double *rewards;
    size_t b, t;
};

/* All settings are required: a good threshold depends on the task. */
static struct distill_case read_case(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    struct distill_case c = {0};
    c.log_prob = case_reals(call, "log_prob", &b, &t);
    c.teacher = case_reals(call, "teacher_log_prob", &b, &t);
    c.rl_advantages = case_reals(call, "rl_advantages", &b, &t);
    batch.group = case_integers(call, "group_index", &b);
    c.rewards = case_numbers(call, "rewards", &b);
    c.options.pass_rate_threshold = case_number(call, "pass_rate_threshold");
    int64_t horizon = case_integer(call, "horizon");
    if (horizon < 0)
        case_fail(call, "inputs.horizon is negative");
    c.options.horizon = (size_t)horizon;
    c.options.normalise = case_bool(call, "normalise");
    c.options.kd_coef = case_number(call, "kd_coef");
    int64_t n_selected = case_integer_or(call, "eligible_tokens", 0);
    if (n_selected < 0 || (case_present(call, "eligible_tokens") && !n_selected))
        case_fail(call, "inputs.eligible_tokens is not a positive number");
    c.options.n_selected = (size_t)n_selected;
    c.options.dp_size = case_number_or(call, "dp_size", 1);
    c.options.pass_rate = case_present(call, "pass_rate") ? case_numbers(call, "pass_rate", &b) : NULL;
    c.b = b.n;
    c.t = t.n;
    c.batch = CASE_LAY_OUT(call, batch, b.n, t.n, c.log_prob, c.teacher, c.rl_advantages);
    return c;
}

static void run(struct case_call *call)
{
    struct distill_case c = read_case(call);
    real *advantages = case_alloc_batch(call, c.b, c.t, sizeof *advantages);
    real *d_log_prob = case_alloc_batch(call, c.b, c.t, sizeof *d_log_prob);
    double *pass_rate = case_alloc(call, c.b, sizeof *pass_rate);
    uint8_t *eligible = case_alloc(call, c.b, sizeof *eligible);
    json_t *list = json_array();
    struct rl_distill_result result;
    CASE_RUN(call, rl_distill(c.batch, &c.options, c.log_prob, c.teacher, c.rl_advantages, c.rewards, advantages, d_log_prob,
                              pass_rate, eligible, &result, &call->ws, &call->err));
    for (size_t i = 0; !call->failed && i < c.b; i++)
        json_array_append_new(list, json_boolean(eligible[i]));
    case_put(call, "eligible", list);
    if (call->failed)
        return;
    case_put_reals(call, "advantages", advantages, c.b, c.t);
    case_put_reals(call, "d_log_prob", d_log_prob, c.b, c.t);
    case_put_numbers(call, "pass_rate", pass_rate, c.b);
    case_put(call, "eligible_tokens", json_integer((json_int_t)result.n_selected));
    case_put_number(call, "kd_loss", result.kd_loss);
}

const struct case_kernel case_distill = {
    .family = "distillation",
    .summary = "on-policy distillation: teacher as advantage (K1) and as loss (K2) for failed rollouts",
    .inputs = "response_mask, log_prob, teacher_log_prob, rl_advantages, group_index, "
              "rewards, pass_rate_threshold, horizon, normalise, kd_coef, pass_rate?, eligible_tokens?, dp_size?",
    .outputs = "eligible [B], advantages [B][T], d_log_prob [B][T], pass_rate [B], "
               "eligible_tokens, kd_loss",
    .layouts = true,
    .run = run,
};
