/* case_adca_skip.c: `lineage core adca_skip_rows`. */
#include <rlcore/adca.h>

#include "case_call.h"

static void put_booleans(struct case_call *call, const char *name, const bool *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_boolean(values[i]));
    case_put(call, name, list);
}

static void run(struct case_call *call)
{
    static const char *const names[] = {"none", "skip_small_adv", "skip_all_neg", NULL};
    struct case_dim b = {0};
    int kind = case_choice(call, "skip_type", names);
    const double *outcomes = case_numbers(call, "outcomes", &b), *overall = NULL;
    if (kind == RL_ADCA_SKIP_SMALL_ADV)
        overall = case_numbers(call, "overall_advantages", &b);
    bool *skipped = case_alloc(call, b.n, sizeof *skipped), *good = case_alloc(call, b.n, sizeof *good);
    uint8_t *flag = case_alloc(call, b.n, sizeof *flag);
    if (call->failed)
        return;
    CASE_RUN(call, rl_adca_skip_rows((enum rl_adca_skip)kind, b.n, overall, outcomes, skipped, flag, &call->err));
    if (call->failed)
        return;
    for (size_t i = 0; i < b.n; i++)
        good[i] = flag[i] == 1;
    put_booleans(call, "skipped", skipped, b.n);
    put_booleans(call, "flag", good, b.n);
}

const struct case_kernel case_adca_skip_rows = {
    .family = "adca_skip_rows",
    .summary = "rows that ADCA-GRPO does not send to the judge, and the flag of all steps of such a row",
    .inputs = "skip_type, outcomes, overall_advantages?",
    .outputs = "skipped [B], flag [B]",
    .run = run,
};
