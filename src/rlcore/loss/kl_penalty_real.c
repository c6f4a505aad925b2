/*
 * kl_penalty_real.c: KL estimators per token, with their gradients.
 *
 * k1 is unbiased and noisy, k2 biased with little noise, k3 unbiased and never negative (Schulman
 * 2020, "Approximating KL divergence"). As a loss, however, k1 has a gradient of mean 0, and the
 * gradient of k2 is the right one. Straight-through therefore combines the value of one estimator
 * with the gradient of k2.
 */
#include <rlcore/loss.h>

#include "support/loops.h"
#include "support/scratch.h"
#include "support/real.h"
#include "support/vexp.h"

/* At most RL_CHUNK elements. */
struct span {
    size_t n;
    const real *log_prob, *ref_log_prob;
    real *kl, *slope; /* slope: the gradient; with straight_through that of k2 */
    bool straight_through;
};

/*
 * Each estimator returns whether all elements are finite. `keep` is a real because a condition on a real is
 * vectorised. The struct is copied because the compiler then knows that the results do not overwrite its pointers.
 */
HOT(bool, k1, (const struct span *span), (span))
{
    const struct span s = *span;
    const real keep = s.straight_through ? 0 : 1;
    rl_int bad = 0;
    RL_INDEPENDENT
    for (size_t i = 0; i < s.n; i++) {
        real x = s.log_prob[i] - s.ref_log_prob[i];
        s.kl[i] = x;
        s.slope[i] = keep > 0 ? 1 : x;
        bad |= rl_not_finite(x);
    }
    return bad == 0;
}

HOT(bool, absolute, (const struct span *span), (span))
{
    const struct span s = *span;
    const real keep = s.straight_through ? 0 : 1;
    rl_int bad = 0;
    RL_INDEPENDENT
    for (size_t i = 0; i < s.n; i++) {
        real x = s.log_prob[i] - s.ref_log_prob[i];
        real above = x > 0 ? 1 : 0, below = x < 0 ? 1 : 0;
        s.kl[i] = x < 0 ? -x : x;
        s.slope[i] = keep > 0 ? above - below : x;
        bad |= rl_not_finite(x);
    }
    return bad == 0;
}

/* The slope of k2 is x. With straight-through the other estimators have this slope too. */
HOT(bool, k2, (const struct span *span), (span))
{
    const struct span s = *span;
    rl_int bad = 0;
    RL_INDEPENDENT
    for (size_t i = 0; i < s.n; i++) {
        real x = s.log_prob[i] - s.ref_log_prob[i];
        s.kl[i] = (real)0.5 * x * x;
        s.slope[i] = x;
        bad |= rl_not_finite(x);
    }
    return bad == 0;
}

/*
 * The argument of exp is limited to 20 and the value to 10, and beyond either limit the gradient is
 * 0. These are verl's bounds, which keep a single token from dominating the penalty.
 */
HOT(bool, k3, (const struct span *span), (span))
{
    const struct span s = *span;
    const real keep = s.straight_through ? 0 : 1;
    _Alignas(64) real limited[RL_CHUNK], ratio[RL_CHUNK];
    rl_int bad = 0;
    RL_INDEPENDENT
    for (size_t i = 0; i < s.n; i++)
        limited[i] = rl_limit(-(s.log_prob[i] - s.ref_log_prob[i]), -20, 20);
    rl_exp_near_all(ratio, limited, s.n);
    RL_INDEPENDENT
    for (size_t i = 0; i < s.n; i++) {
        real x = s.log_prob[i] - s.ref_log_prob[i], e = ratio[i], k = e - limited[i] - 1;
        /*
         * value and slope are computed before the first store, because gcc then makes one mask of
         * the two comparisons with 10.
         */
        real value = k > 10 ? 10 : k, slope = k > 10 ? 0 : 1 - e, inside = limited[i] == -x ? slope : 0;
        s.kl[i] = value;
        s.slope[i] = keep > 0 ? inside : x;
        bad |= rl_not_finite(x);
    }
    return bad == 0;
}

static bool run(enum rl_kl kind, const struct span *span)
{
    return kind == RL_KL_K1 ? k1(span) : kind == RL_KL_ABS ? absolute(span) : kind == RL_KL_K2 ? k2(span) : k3(span);
}

/* Runs only after a bad sum, which shows that some value is not finite but not which value. */
static enum rl_status explain(const real *log_prob, const real *ref_log_prob, size_t n, struct rl_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(log_prob[i]) || !isfinite(ref_log_prob[i]))
            return rl_fail(err, RL_EVALUE, "%slog_prob[%zu] is not a finite number", isfinite(log_prob[i]) ? "ref_" : "", i);
    return rl_fail(err, RL_EVALUE, "log_prob - ref_log_prob overflows");
}

enum rl_status rl_kl_penalty(enum rl_kl kind, bool straight_through, size_t n, const real *log_prob, const real *ref_log_prob,
                             real *kl, real *d_log_prob, struct rl_error *err)
{
    if ((unsigned)kind > RL_KL_K3)
        return rl_fail(err, RL_EINVAL, "KL estimator %d is unknown", (int)kind);
    if (n && (!log_prob || !ref_log_prob || !kl))
        return rl_fail(err, RL_EINVAL, "log_prob, ref_log_prob or kl is missing");
    bool poisoned = false;
    size_t chunks = (n + RL_CHUNK - 1) / RL_CHUNK;
#pragma omp parallel for schedule(static) reduction(|| : poisoned) if (n >= RL_PARALLEL_TOKENS)
    for (size_t c = 0; c < chunks; c++) {
        /*
         * Receives the slopes if the caller wants none. This is cheaper than a second form of each
         * loop.
         */
        real unwanted[RL_CHUNK];
        size_t i = c * RL_CHUNK;
        const struct span span = {n - i < RL_CHUNK ? n - i : RL_CHUNK,    log_prob + i,    ref_log_prob + i, kl + i,
                                  d_log_prob ? d_log_prob + i : unwanted, straight_through};
        poisoned = !run(kind, &span) || poisoned;
    }
    return poisoned ? explain(log_prob, ref_log_prob, n, err) : RL_OK;
}

struct token_kl {
    struct rl_grid batch;
    enum rl_kl kind;
    bool straight_through;
    const real *log_prob, *ref_log_prob, *old_log_prob; /* old_log_prob: NULL without weights */
    real *kl, *d_log_prob; /* d_log_prob or NULL */
};

/* Inputs at mask 0 are replaced by 0, and the results there are set to 0. */
HOT_VOID(keep_all, (const rl_int *on, const real *from, size_t n, real *to), (on, from, n, to))
{
    for (size_t t = 0; t < n; t++)
        to[t] = rl_keep(on[t], from[t]);
}

/* Multiplies value and slope, which is that of k2, by the ratio to the policy that sampled. At mask 0 all of them are 0. */
HOT(bool, weigh, (const real *now, const real *old, size_t n, real *kl, real *slope), (now, old, n, kl, slope))
{
    _Alignas(64) real limited[RL_CHUNK], ratio[RL_CHUNK];
    rl_int bad = 0;
    RL_INDEPENDENT
    for (size_t i = 0; i < n; i++)
        limited[i] = rl_limit(now[i] - old[i], -20, 20);
    rl_exp_near_all(ratio, limited, n);
    RL_INDEPENDENT
    for (size_t i = 0; i < n; i++) {
        kl[i] *= ratio[i];
        slope[i] *= ratio[i];
        bad |= rl_not_finite(now[i] - old[i]) | rl_not_finite(kl[i]) | rl_not_finite(slope[i]);
    }
    return bad == 0;
}

static bool chunk_is_finite(const struct token_kl *k, size_t i, size_t n)
{
    _Alignas(64) real floats[3][RL_CHUNK], p[RL_CHUNK], q[RL_CHUNK], old[RL_CHUNK], unwanted[RL_CHUNK];
    _Alignas(64) rl_int on[RL_CHUNK];
    for (size_t t = 0; t < n; t++)
        on[t] = -1;
    if (k->batch.mask)
        rl_mask_bits(&k->batch, i, n, on);
    keep_all(on, rl_reals_at(&k->batch, 0, k->log_prob, i, n, floats[0]), n, p);
    keep_all(on, rl_reals_at(&k->batch, 1, k->ref_log_prob, i, n, floats[1]), n, q);
    if (k->old_log_prob) /* read before the first output is written, which may be the same array */
        keep_all(on, rl_reals_at(&k->batch, 2, k->old_log_prob, i, n, floats[2]), n, old);
    const struct span span = {n, p, q, k->kl + i, k->d_log_prob ? k->d_log_prob + i : unwanted, k->straight_through};
    bool finite = run(k->kind, &span);
    if (k->old_log_prob)
        finite = weigh(p, old, n, span.kl, span.slope) && finite;
    keep_all(on, span.kl, n, span.kl);
    keep_all(on, span.slope, n, span.slope);
    return finite;
}

static enum rl_status run_tokens(const struct token_kl *k, struct rl_error *err)
{
    bool poisoned = false, everywhere = !k->batch.mask;
#pragma omp parallel for schedule(static) reduction(|| : poisoned) if (rl_grid_parallel(&k->batch))
    for (size_t row = 0; row < k->batch.n_rows; row++)
        for (size_t i = rl_row_at(&k->batch, row), end = rl_row_end(&k->batch, row); i < end; i += RL_CHUNK)
            poisoned = !chunk_is_finite(k, i, end - i < RL_CHUNK ? end - i : RL_CHUNK) || poisoned;
    if (!poisoned)
        return RL_OK;
    enum rl_status status = rl_grid_check_reals("log_prob", &k->batch, 0, k->log_prob, everywhere, err);
    if (status == RL_OK)
        status = rl_grid_check_reals("ref_log_prob", &k->batch, 1, k->ref_log_prob, everywhere, err);
    if (status == RL_OK && k->old_log_prob)
        status = rl_grid_check_reals("old_log_prob", &k->batch, 2, k->old_log_prob, everywhere, err);
    const char *what = k->old_log_prob ? "the KL times its weight" : "log_prob - ref_log_prob";
    return status == RL_OK ? rl_fail(err, RL_EVALUE, "%s overflows", what) : status;
}

static enum rl_status check_and_run(struct token_kl k, const struct rl_batch *batch, struct rl_error *err)
{
    unsigned needs = batch && batch->mask ? RL_NEEDS_MASK : RL_NEEDS_NO_MASK;
    if ((unsigned)k.kind > RL_KL_K3)
        return rl_fail(err, RL_EINVAL, "KL estimator %d is unknown", (int)k.kind);
    RL_TRY(needs == RL_NEEDS_MASK ? rl_grid_of(&k.batch, batch, needs, err)
                                  : rl_grid_view(&k.batch, batch, needs, sizeof(real) == 4, err));
    if (k.batch.n_rows && k.batch.n_tokens)
        RL_TRY(RL_NEED(err, {"log_prob", k.log_prob}, {"ref_log_prob", k.ref_log_prob}, {"kl", k.kl}));
    return run_tokens(&k, err);
}

enum rl_status rl_token_kl(const struct rl_batch *batch, enum rl_kl kind, bool straight_through, const real *log_prob,
                           const real *ref_log_prob, real *kl, real *d_log_prob, struct rl_error *err)
{
    const struct token_kl k = {.kind = kind,
                               .straight_through = straight_through,
                               .log_prob = log_prob,
                               .ref_log_prob = ref_log_prob,
                               .kl = kl,
                               .d_log_prob = d_log_prob};
    return check_and_run(k, batch, err);
}

enum rl_status rl_unbiased_kl(const struct rl_batch *batch, enum rl_kl kind, const real *log_prob, const real *ref_log_prob,
                              const real *old_log_prob, real *kl, real *d_log_prob, struct rl_error *err)
{
    const struct token_kl k = {.kind = kind,
                               .straight_through = true,
                               .log_prob = log_prob,
                               .ref_log_prob = ref_log_prob,
                               .old_log_prob = old_log_prob,
                               .kl = kl,
                               .d_log_prob = d_log_prob};
    if (!old_log_prob && batch && batch->n_rows && batch->n_tokens)
        return rl_fail(err, RL_EINVAL, "old_log_prob is missing");
    return check_and_run(k, batch, err);
}
