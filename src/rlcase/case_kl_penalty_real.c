/* case_kl_penalty_real.c: `lineage core kl_penalty`. */

#include <rlcore/loss.h>

#include "case_real.h"

/* Estimators have several names: papers write k1, verl writes kl, and cases contain either. */
static const struct {
    const char *name;
    enum rl_kl kind;
} kinds[] = {{"k1", RL_KL_K1},  {"kl", RL_KL_K1}, {"abs", RL_KL_ABS},      {"k2", RL_KL_K2},
             {"mse", RL_KL_K2}, {"k3", RL_KL_K3}, {"low_var_kl", RL_KL_K3}};

/*
 * A name that ends in `+` selects the straight-through form, as in verl: the value of one estimator
 * with the gradient of another (rlcore/loss.h).
 */
static enum rl_kl read_kind(struct case_call *call, bool *straight_through)
{
    const char *name = case_string(call, "kl_penalty");
    size_t length = strlen(name);
    *straight_through = length > 0 && name[length - 1] == '+';
    length -= *straight_through;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, name, length) == 0)
            return kinds[i].kind;
    case_fail(call,
              "inputs.kl_penalty is '%.40s'; known are: k1 kl abs k2 mse k3 low_var_kl, "
              "each also with + appended",
              name);
    return RL_KL_K1;
}

void case_kl_penalty(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    bool straight_through = false;
    enum rl_kl kind = read_kind(call, &straight_through);
    const real *log_prob = case_reals(call, "log_prob", &b, &t);
    const real *ref = case_reals(call, "ref_log_prob", &b, &t);
    struct rl_batch batch = {.n_rows = b.n, .n_tokens = t.n};
    if (case_present(call, "response_mask"))
        batch.mask = case_mask(call, "response_mask", &b, &t);
    const real *old = case_present(call, "old_log_prob") ? case_reals(call, "old_log_prob", &b, &t) : NULL;
    if (old && straight_through)
        case_fail(call, "inputs.old_log_prob: with it the gradient is that of k2 times the ratio; leave out the +");
    real *kl = case_alloc(call, b.n * t.n, sizeof *kl);
    real *d_log_prob = case_alloc(call, b.n * t.n, sizeof *d_log_prob);
    if (old)
        CASE_RUN(call, rl_unbiased_kl(&batch, kind, log_prob, ref, old, kl, d_log_prob, &call->err));
    else if (batch.mask)
        CASE_RUN(call, rl_token_kl(&batch, kind, straight_through, log_prob, ref, kl, d_log_prob, &call->err));
    else
        CASE_RUN(call, rl_kl_penalty(kind, straight_through, b.n * t.n, log_prob, ref, kl, d_log_prob, &call->err));
    case_put_reals(call, "kl", kl, b.n, t.n);
    case_put_reals(call, "d_log_prob", d_log_prob, b.n, t.n);
}
