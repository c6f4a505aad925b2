/* core_marginal_utility.c: `lineage core marginal_utility`. */
#include <rlcore/process.h>

#include "core_call.h"

static void run(struct core_call *call)
{
    struct core_dim n = {0};
    const double *values = core_numbers(call, "prefix_values", &n);
    double *utilities = core_alloc(call, n.n, sizeof *utilities);
    if (call->failed || core_again(call, rl_marginal_utility(n.n, values, utilities, &call->err)))
        return;
    if (!call->failed)
        core_put_numbers(call, "utilities", utilities, n.n - 1);
}

const struct core_kernel core_marginal_utility = {
    .family = "marginal_utility",
    .summary = "what each episode added to the value of the prefix",
    .inputs = "prefix_values [n]",
    .run = run,
};
