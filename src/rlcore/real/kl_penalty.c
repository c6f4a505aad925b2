/* kl_penalty.c: KL estimators per token, with their gradients. */
#include <rlcore/loss.h>

#include "hot.h"
#include "internal.h"
#include "real.h"
#include "vexp.h"

struct kl_value {
    real kl, slope;
};

typedef struct kl_value kl_rule(real x);

static RL_INLINE struct kl_value k1_rule(real x)
{
    return (struct kl_value){x, 1};
}

static RL_INLINE struct kl_value abs_rule(real x)
{
    real above = x > 0 ? 1 : 0, below = x < 0 ? 1 : 0;
    return (struct kl_value){x < 0 ? -x : x, above - below};
}

static RL_INLINE struct kl_value k2_rule(real x)
{
    return (struct kl_value){(real)0.5 * x * x, x};
}

static RL_INLINE struct kl_value k3_rule(real x)
{
    real d = rl_limit(-x, -20, 20), e = rl_exp_near(d), k = e - d - 1;
    real slope = k > 10 ? 0 : 1 - e;
    return (struct kl_value){k > 10 ? 10 : k, d == -x ? slope : 0};
}

/* One stretch of elements; the sum of x - x is 0 unless one of them is not finite. */
struct span {
    size_t n;
    const real *log_prob, *ref_log_prob;
    real *kl, *slope;
};

static RL_INLINE real apply(const struct span *span, bool straight_through, kl_rule *rule)
{
    const struct span s = *span; /* a copy cannot be what the results are written to */
    const real keep = straight_through ? 0 : 1; /* a real, as a condition on it vectorises */
    real poison = 0;
#pragma omp simd reduction(+ : poison)
    for (size_t i = 0; i < s.n; i++) {
        real x = s.log_prob[i] - s.ref_log_prob[i];
        struct kl_value v = rule(x);
        s.kl[i] = v.kl;
        s.slope[i] = keep > 0 ? v.slope : x;
        poison += x - x;
    }
    return poison;
}

RL_HOT static real apply_k1(const struct span *s, bool straight_through)
{
    return apply(s, straight_through, k1_rule);
}

RL_HOT static real apply_abs(const struct span *s, bool straight_through)
{
    return apply(s, straight_through, abs_rule);
}

RL_HOT static real apply_k2(const struct span *s, bool straight_through)
{
    return apply(s, straight_through, k2_rule);
}

RL_HOT static real apply_k3(const struct span *s, bool straight_through)
{
    return apply(s, straight_through, k3_rule);
}

static enum rl_status explain(const real *log_prob, const real *ref_log_prob, size_t n,
                              struct rl_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(log_prob[i]) || !isfinite(ref_log_prob[i]))
            return rl_fail(err, RL_EVALUE, "%slog_prob[%zu] is not a finite number",
                           isfinite(log_prob[i]) ? "ref_" : "", i);
    return rl_fail(err, RL_EVALUE, "log_prob - ref_log_prob overflows");
}

enum rl_status RL(rl_kl_penalty)(enum rl_kl kind, bool straight_through, size_t n,
                                 const real *log_prob, const real *ref_log_prob, real *kl,
                                 real *d_log_prob, struct rl_error *err)
{
    static real (*const kinds[])(const struct span *, bool) = {apply_k1, apply_abs, apply_k2,
                                                               apply_k3};
    if ((unsigned)kind > RL_KL_K3)
        return rl_fail(err, RL_EINVAL, "KL estimator %d is unknown", (int)kind);
    if (n && (!log_prob || !ref_log_prob || !kl))
        return rl_fail(err, RL_EINVAL, "log_prob, ref_log_prob or kl is missing");
    bool poisoned = false;
    size_t chunks = (n + RL_CHUNK - 1) / RL_CHUNK;
#pragma omp parallel for schedule(static) reduction(|| : poisoned) if (n >= RL_PARALLEL_TOKENS)
    for (size_t c = 0; c < chunks; c++) {
        real unwanted[RL_CHUNK];
        size_t i = c * RL_CHUNK;
        const struct span span = {n - i < RL_CHUNK ? n - i : RL_CHUNK, log_prob + i,
                                  ref_log_prob + i, kl + i, d_log_prob ? d_log_prob + i : unwanted};
        poisoned = !(kinds[kind](&span, straight_through) == 0) || poisoned;
    }
    return poisoned ? explain(log_prob, ref_log_prob, n, err) : RL_OK;
}
