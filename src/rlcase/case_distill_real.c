/* case_distill_real.c: `lineage core distillation`. */
#include <rlcore/distill.h>

#include "case_real.h"

void case_distill_cut(struct case_call *call)
{
    struct case_dim b = {0}, full = {0};
    const real *log_prob = case_reals(call, "full_log_prob", &b, &full);
    const int64_t *given = case_integers(call, "prompt_lengths", &b);
    int64_t n_tokens = case_integer(call, "n_tokens");
    if (n_tokens < 0 || (uint64_t)n_tokens > full.n)
        case_fail(call, "inputs.n_tokens is %lld, not from 0 to the %zu tokens of a row", (long long)n_tokens, full.n);
    if (call->failed)
        return;
    size_t *prompt = case_alloc(call, b.n, sizeof *prompt);
    real *out = case_alloc(call, b.n * (size_t)n_tokens, sizeof *out);
    for (size_t i = 0; !call->failed && i < b.n; i++) {
        if (given[i] < 0)
            case_fail(call, "inputs.prompt_lengths[%zu] is negative", i);
        prompt[i] = (size_t)given[i];
    }
    CASE_RUN(call, rl_distill_cut(b.n, (size_t)n_tokens, full.n, prompt, log_prob, out, &call->err));
    case_put_reals(call, "teacher_log_prob", out, b.n, (size_t)n_tokens);
}

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

void case_distill(struct case_call *call)
{
    struct distill_case c = read_case(call);
    real *advantages = case_alloc_batch(call, c.b, c.t, sizeof *advantages);
    real *d_log_prob = case_alloc_batch(call, c.b, c.t, sizeof *d_log_prob);
    double *pass_rate = case_alloc(call, c.b, sizeof *pass_rate);
    uint8_t *eligible = case_alloc(call, c.b, sizeof *eligible);
    json_t *list = json_array();
    struct rl_distill_result result = {0};
    CASE_RUN(call, rl_distill(c.batch, &c.options, c.log_prob, c.teacher, c.rl_advantages, c.rewards, advantages, d_log_prob,
                              pass_rate, eligible, &result, &call->ws, &call->err));
    for (size_t i = 0; !call->failed && i < c.b; i++)
        json_array_append_new(list, json_boolean(eligible[i]));
    case_put(call, "eligible", list);
    case_put_reals(call, "advantages", advantages, c.b, c.t);
    case_put_reals(call, "d_log_prob", d_log_prob, c.b, c.t);
    case_put_numbers(call, "pass_rate", pass_rate, c.b);
    case_put(call, "eligible_tokens", json_integer((json_int_t)result.n_selected));
    case_put_number(call, "kd_loss", result.kd_loss);
}
