/*
 * two_policies_real.c: log-ratios into double precision, weights out of it.
 *
 * The one place where the element type of the two policies ends: differences are taken in double,
 * since two float log-probs of -20 differ in their last digit by more than on-policy ratios differ
 * from 1.
 */
#include "correction/correction_internal.h"
#include "support/real.h"

/*
 * The mask becomes doubles in a loop of its own: mixing bytes and doubles in the second would keep
 * it from being vectorised. Values at mask 0 are replaced and not multiplied by 0, as NaN is
 * allowed there.
 */
RL_HOT static void load(const struct rl_two_policies *p, size_t from, size_t n,
                        struct rl_ratio_chunk *out)
{
    const real *train = (const real *)p->train + from, *rollout = (const real *)p->rollout + from;
    const uint8_t *mask = p->batch->mask + from;
    double count = 0, train_sum = 0, rollout_sum = 0, *restrict on = out->on, *restrict l = out->l;
    for (size_t t = 0; t < n; t++)
        on[t] = mask[t];
#pragma omp simd reduction(+ : count, train_sum, rollout_sum)
    for (size_t t = 0; t < n; t++) {
        double a = (double)train[t], b = (double)rollout[t];
        a = on[t] > 0 ? a : 0;
        b = on[t] > 0 ? b : 0;
        l[t] = a - b;
        count += on[t];
        train_sum += a;
        rollout_sum += b;
    }
    out->n = n;
    out->n_response = count;
    out->train = train_sum;
    out->rollout = rollout_sum;
}

static enum rl_status explain(const struct rl_two_policies *p, struct rl_error *err)
{
    enum rl_status status = rl_batch_check_reals("train_log_prob", p->train, p->batch, err);
    return status == RL_OK ? rl_batch_check_reals("rollout_log_prob", p->rollout, p->batch, err)
                           : status;
}

struct rl_two_policies rl_two_policies_of(const struct rl_batch *batch, const real *train,
                                          const real *rollout)
{
    return (struct rl_two_policies){batch, train, rollout, load, explain};
}

/* Ratios arrive limited to exp(20), so that 0 times a ratio is 0. */
RL_HOT static void store(const struct rl_weight_sink *to, size_t from,
                         const struct rl_ratio_chunk *chunk, const double *ratio, double cap)
{
    real *restrict weights = (real *)to->weights + from;
    for (size_t t = 0; t < chunk->n; t++)
        weights[t] = (real)(chunk->on[t] * (ratio[t] > cap ? cap : ratio[t]));
}

RL_HOT static void fill(const struct rl_weight_sink *to, size_t from, size_t n, const uint8_t *mask,
                        double value)
{
    real *restrict weights = (real *)to->weights + from, single = (real)value;
    for (size_t t = 0; t < n; t++)
        weights[t] = mask[t] ? single : 0;
}

RL_HOT static double sum(const struct rl_weight_sink *to, size_t from, size_t n)
{
    const real *weights = (const real *)to->weights + from;
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (size_t t = 0; t < n; t++)
        total += (double)weights[t];
    return total;
}

RL_HOT static void divide(const struct rl_weight_sink *to, size_t from, size_t n, double by)
{
    real *weights = (real *)to->weights + from;
    for (size_t t = 0; t < n; t++)
        weights[t] = (real)((double)weights[t] / by);
}

/*
 * Pointers instead of a second set of corrections in float: one indirect call per 128 tokens costs
 * nothing that can be measured.
 */
struct rl_weight_sink rl_weight_sink_of(real *weights)
{
    return (struct rl_weight_sink){weights, store, fill, sum, divide};
}
