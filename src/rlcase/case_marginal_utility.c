/* case_marginal_utility.c: `lineage core marginal_utility`. */
#include <rlcore/process.h>

#include "case_call.h"

static void run(struct case_call *call)
{
    struct case_dim n = {0};
    const double *values = case_numbers(call, "prefix_values", &n);
    double *utilities = case_alloc(call, n.n, sizeof *utilities);
    CASE_RUN(call, rl_marginal_utility(n.n, values, utilities, &call->err));
    if (call->failed)
        return;
    case_put_numbers(call, "utilities", utilities, n.n - 1);
}

const struct case_kernel case_marginal_utility = {
    .family = "marginal_utility",
    .summary = "what each episode added to the value of the prefix",
    .inputs = "prefix_values",
    .outputs = "utilities [N]",
    .run = run,
};
