/* case_staleness.c: `lineage core staleness_admission`. */
#include <rlcore/offpolicy.h>

#include "case_call.h"

/* A case contains several questions, so that it can show both sides of the limit. */
static void run(struct case_call *call)
{
    struct case_dim n = {0};
    int64_t *generated = case_integers(call, "generated", &n), *batch_size = case_integers(call, "batch_size", &n);
    int64_t *version = case_integers(call, "policy_version", &n), *staleness = case_integers(call, "max_staleness", &n);
    json_t *list = json_array();
    for (size_t i = 0; !call->failed && i < n.n; i++) {
        bool admit;
        CASE_RUN(call, rl_staleness_admit(generated[i], batch_size[i], version[i], staleness[i], &admit, &call->err));
        if (!call->failed)
            json_array_append_new(list, json_boolean(admit));
    }
    case_put(call, "admit", list);
}

const struct case_kernel case_staleness_admission = {
    .family = "staleness_admission",
    .summary = "whether a sampler may go on: floor((generated - 1) / batch_size) <= policy_version "
               "+ max_staleness",
    .inputs = "generated, batch_size, policy_version, max_staleness",
    .outputs = "admit [N]",
    .run = run,
};
