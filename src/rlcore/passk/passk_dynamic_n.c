/*
 * passk_dynamic_n.c: dynamic n: which problems need more samples.
 *
 * Samples go where they are still informative: a problem with enough successes has a known rate,
 * and one at the end of its budget counts as hard. Rounds limit how much a single decision can
 * spend.
 */
#include <rlcore/passk.h>

#include "support/scratch.h"

static enum rl_status check(const struct rl_passk_sampling *s, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"sampling", s}));
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {{"enough", s->enough}, {"budget", s->budget}, {"round", s->round}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].value < 1)
            return rl_fail(err, RL_EINVAL, "%s is %lld, below 1", counts[i].name, (long long)counts[i].value);
    return RL_OK;
}

enum rl_status rl_passk_more(const struct rl_passk_sampling *sampling, size_t n_problems, const int64_t *n, const int64_t *c,
                             int64_t *more, struct rl_error *err)
{
    RL_TRY(check(sampling, err));
    if (n_problems && (!n || !c || !more))
        return rl_fail(err, RL_EINVAL, "n, c or more is missing");
    for (size_t i = 0; i < n_problems; i++) {
        if (n[i] < 0 || c[i] < 0 || c[i] > n[i])
            return rl_fail(err, RL_EVALUE, "c[%zu] is %lld of n[%zu] = %lld", i, (long long)c[i], i, (long long)n[i]);
        int64_t left = n[i] < sampling->budget ? sampling->budget - n[i] : 0;
        more[i] = left < sampling->round ? left : sampling->round;
        if (c[i] >= sampling->enough)
            more[i] = 0;
    }
    return RL_OK;
}
