/* case_distill_cut_real.c: `lineage core distill_cut`. */
#include <rlcore/distill.h>

#include "case_real.h"

static void run(struct case_call *call)
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
    if (!call->failed)
        case_put_reals(call, "teacher_log_prob", out, b.n, (size_t)n_tokens);
}

const struct case_kernel case_distill_cut = {
    .family = "distill_cut",
    .summary = "a teacher's log-probs of prompts and responses, cut to the responses",
    .inputs = "full_log_prob, prompt_lengths, n_tokens",
    .outputs = "teacher_log_prob [B][T]",
    .run = run,
};
