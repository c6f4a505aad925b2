/* core_distill_real.c: `lineage core distillation`. */
#include <rlcore/distill.h>

#include "core_real.h"

struct distill_case {
    struct rl_batch batch;
    struct rl_distill_options options;
    const real *log_prob, *teacher, *rl_advantages;
    const double *rewards;
    size_t b, t;
};

/* All settings are asked for and none has a default: what is a good threshold depends on the
 * task. */
static struct distill_case read_case(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    struct distill_case c = {.batch = {.mask = core_mask(call, "response_mask", &b, &t)}};
    c.log_prob = core_reals(call, "log_prob", &b, &t);
    c.teacher = core_reals(call, "teacher_log_prob", &b, &t);
    c.rl_advantages = core_reals(call, "rl_advantages", &b, &t);
    c.batch.group = core_integers(call, "group_index", &b);
    c.rewards = core_numbers(call, "rewards", &b);
    c.options.pass_rate_threshold = core_number(call, "pass_rate_threshold");
    int64_t horizon = core_integer(call, "horizon");
    if (horizon < 0)
        core_fail(call, "inputs.horizon is negative");
    c.options.horizon = (size_t)horizon;
    c.options.normalise = core_bool(call, "normalise");
    c.options.kd_coef = core_number(call, "kd_coef");
    c.batch.n_rows = c.b = b.n;
    c.batch.n_tokens = c.t = t.n;
    return c;
}

/* while and not do: after a failed getter there is nothing to call the kernel with. */
static void run(struct core_call *call)
{
    struct distill_case c = read_case(call);
    real *advantages = core_alloc(call, c.b * c.t, sizeof *advantages);
    real *d_log_prob = core_alloc(call, c.b * c.t, sizeof *d_log_prob);
    double *pass_rate = core_alloc(call, c.b, sizeof *pass_rate);
    uint8_t *eligible = core_alloc(call, c.b, sizeof *eligible);
    json_t *list = json_array();
    struct rl_distill_result result;
    enum rl_status status;
    while (!call->failed) {
        status =
            rl_distill(&c.batch, &c.options, c.log_prob, c.teacher, c.rl_advantages, c.rewards,
                       advantages, d_log_prob, pass_rate, eligible, &result, &call->ws, &call->err);
        if (!core_again(call, status))
            break;
    }
    for (size_t i = 0; !call->failed && i < c.b; i++)
        json_array_append_new(list, json_boolean(eligible[i]));
    core_put(call, "eligible", list);
    if (call->failed)
        return;
    core_put_reals(call, "advantages", advantages, c.b, c.t);
    core_put_reals(call, "d_log_prob", d_log_prob, c.b, c.t);
    core_put_numbers(call, "pass_rate", pass_rate, c.b);
    core_put(call, "eligible_tokens", json_integer((json_int_t)result.n_selected));
    core_put_number(call, "kd_loss", result.kd_loss);
}

const struct core_kernel core_distill = {
    .family = "distillation",
    .summary =
        "on-policy distillation: teacher as advantage (K1) and as loss (K2) for failed rollouts",
    .inputs = "response_mask, log_prob, teacher_log_prob, rl_advantages [B][T], group_index [B], "
              "rewards [B], "
              "pass_rate_threshold, horizon, normalise, kd_coef",
    .run = run,
};
