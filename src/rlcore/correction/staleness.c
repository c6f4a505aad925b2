/*
 * staleness.c: whether a sampler may run further ahead of the learner.
 *
 * The rule counts samples, as AReaL does: versions alone cannot distinguish a half-sampled batch
 * from one that has not begun.
 */
#include <rlcore/offpolicy.h>

#include "support/scratch.h"

enum rl_status rl_staleness_admit(int64_t generated, int64_t batch_size, int64_t policy_version, int64_t max_staleness,
                                  bool *admit, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"admit", admit}));
    int64_t limit;
    if (batch_size < 1)
        return rl_fail(err, RL_EINVAL, "batch_size is %lld, not at least 1", (long long)batch_size);
    if (generated < 0 || policy_version < 0 || max_staleness < 0)
        return rl_fail(err, RL_EINVAL, "generated, policy_version and max_staleness must not be negative");
    if (__builtin_add_overflow(policy_version, max_staleness, &limit))
        limit = INT64_MAX;
    /* C rounds towards zero: floor((0 - 1) / B) is -1 for every B */
    *admit = (generated ? (generated - 1) / batch_size : -1) <= limit;
    return RL_OK;
}
