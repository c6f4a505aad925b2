/*
 * offpolicy_distance.c: the distance of two policies on a batch: sums per row in wide loops, then
 * the metrics.
 *
 * Usually the two policies should be equal, so every sum is taken over differences from agreement,
 * which keep their digits: k3 as r - 1 - l and not as a difference of two means.
 */

#include "correction/correction_internal.h"
#include "support/metrics.h"
#include "support/vexp.h"

/*
 * Used for a chunk with a log-ratio beyond the limit: computes k3 without a limit, and counts the
 * tokens beyond it. Limited ratios would hide how far apart the policies are, so the few chunks
 * that need it use the exact exp.
 */
static double far_k3(const struct rl_ratio_chunk *c, struct rl_ratio_row *row)
{
    double sum = 0;
    for (size_t t = 0; t < c->n; t++) {
        sum += exp(c->l[t]) - 1 - c->l[t];
        row->clamped += fabs(c->l[t]) > RL_LOG_RATIO_LIMIT;
    }
    return sum;
}

/*
 * The limit has its own loop, because a loop that combined it with the exp would not be vectorised
 * at all widths.
 */
HOT_VOID(add_chunk, (const struct rl_ratio_chunk *c, double *restrict ratio, struct rl_ratio_row *row), (c, ratio, row))
{
    double sum[RL_CHUNK], k3[RL_CHUNK], square[RL_CHUNK];
    rl_int far = 0;
    for (size_t t = 0; t < c->n; t++)
        ratio[t] = rl_limit(c->l[t], -RL_LOG_RATIO_LIMIT, RL_LOG_RATIO_LIMIT);
    RL_INDEPENDENT
    for (size_t t = 0; t < c->n; t++)
        far |= rl_beyond(c->l[t], RL_LOG_RATIO_LIMIT);
#pragma omp simd
    for (size_t t = 0; t < c->n; t++) {
        double l = c->l[t], r = rl_exp_near(ratio[t]);
        ratio[t] = r;
        sum[t] = l;
        k3[t] = r - 1 - l;
        square[t] = c->on[t] * r * r;
    }
    row->n += c->n_response;
    row->train += c->train;
    row->rollout += c->rollout;
    row->l += rl_sum_wide(sum, c->n);
    row->k3 += far ? far_k3(c, row) : rl_sum_wide(k3, c->n);
    row->square += rl_sum_wide(square, c->n);
}

struct rl_ratio_row rl_ratio_row(const struct rl_two_policies *p, size_t row, rl_ratio_visit *visit, void *context)
{
    struct rl_ratio_row sums = {0};
    struct rl_ratio_chunk chunk;
    double ratio[RL_CHUNK];
    for (size_t i = rl_row_at(&p->batch, row), end = rl_row_end(&p->batch, row); i < end; i += RL_CHUNK) {
        p->load(p, i, end - i < RL_CHUNK ? end - i : RL_CHUNK, &chunk);
        add_chunk(&chunk, ratio, &sums);
        if (visit)
            visit(context, i, &chunk, ratio);
    }
    return sums;
}

static double limit20(double x)
{
    return rl_limit(x, -RL_LOG_RATIO_LIMIT, RL_LOG_RATIO_LIMIT);
}

struct rl_distance rl_distance_empty(void)
{
    return (struct rl_distance){.diff_max = -INFINITY, .diff_min = INFINITY};
}

/*
 * Add the means of a row, mm_i of the log-probs and of -l. Means are taken per row and then over
 * rows, so that perplexities are those of sequences.
 */
static void add_row(struct rl_distance *d, const struct rl_ratio_row *row)
{
    double n = row->n + 1e-8, a = row->train / n, b = row->rollout / n, diff = -row->l / n;
    d->train_ppl += exp(-a);
    d->train_log_ppl -= a;
    d->rollout_ppl += exp(-b);
    d->rollout_log_ppl -= b;
    d->kl -= row->l;
    d->k3 += row->k3;
    d->chi2_token += row->square;
    d->chi2_seq += exp(2 * limit20(row->l));
    d->diff += diff;
    d->abs_diff += fabs(diff);
    d->diff_max = fmax(d->diff_max, diff);
    d->diff_min = fmin(d->diff_min, diff);
    d->ppl_ratio += exp(diff);
    d->clamped += row->clamped;
    d->clamped_seq += fabs(row->l) > RL_LOG_RATIO_LIMIT;
    d->n_tokens += row->n;
    d->n_rows++;
    d->n_filled += row->n > 0;
}

void rl_distance_add(struct rl_distance *d, const struct rl_ratio_row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++)
        add_row(d, &rows[i]);
}

void rl_distance_report(const struct rl_distance *d, struct rl_metrics *metrics)
{
    double b = d->n_rows, n = d->n_tokens + 1e-8;
    rl_metrics_add(metrics, "", "training_ppl", d->train_ppl / b);
    rl_metrics_add(metrics, "", "training_log_ppl", d->train_log_ppl / b);
    rl_metrics_add(metrics, "", "rollout_ppl", d->rollout_ppl / b);
    rl_metrics_add(metrics, "", "rollout_log_ppl", d->rollout_log_ppl / b);
    rl_metrics_add(metrics, "", "kl", d->kl / n);
    rl_metrics_add(metrics, "", "k3_kl", d->k3 / n);
    rl_metrics_add(metrics, "", "log_ppl_diff", d->diff / b);
    rl_metrics_add(metrics, "", "log_ppl_abs_diff", d->abs_diff / b);
    rl_metrics_add(metrics, "", "log_ppl_diff_max", d->diff_max);
    rl_metrics_add(metrics, "", "log_ppl_diff_min", d->diff_min);
    rl_metrics_add(metrics, "", "ppl_ratio", d->ppl_ratio / b);
    rl_metrics_add(metrics, "", "chi2_token", d->chi2_token / n - 1);
    rl_metrics_add(metrics, "", "chi2_seq", d->chi2_seq / b - 1);
    rl_metrics_add(metrics, "", "log_ratio_clamped", d->clamped);
    rl_metrics_add(metrics, "", "log_ratio_clamped_seq", d->clamped_seq);
}

/* Name the token with the largest log-ratio, whose exp overflowed. */
static enum rl_status name_token(const struct rl_two_policies *p, struct rl_error *err)
{
    size_t at_row = 0, at = 0;
    double largest = -INFINITY;
    struct rl_ratio_chunk chunk;
    for (size_t row = 0; row < p->batch.n_rows; row++)
        for (size_t t = 0; t < rl_row_length(&p->batch, row); t++) {
            p->load(p, rl_row_at(&p->batch, row) + t, 1, &chunk);
            if (!(chunk.on[0] > 0 && chunk.l[0] > largest))
                continue;
            largest = chunk.l[0];
            at_row = row;
            at = t;
        }
    return rl_fail(err, RL_EVALUE,
                   "train_log_prob[%zu][%zu] exceeds rollout_log_prob by %g: exp overflows in k3_kl, "
                   "which has no limit",
                   at_row, at, largest);
}

/*
 * Name the row whose mean log-prob is so low that a perplexity overflows. For this the rows are
 * processed again, which may take time because the batch is refused anyway.
 */
static enum rl_status name_row(const struct rl_two_policies *p, struct rl_error *err)
{
    size_t at = 0;
    double lowest = INFINITY;
    bool in_train = true;
    for (size_t i = 0; i < p->batch.n_rows; i++) {
        struct rl_ratio_row row = rl_ratio_row(p, i, NULL, NULL);
        double train = row.train / (row.n + 1e-8), rollout = row.rollout / (row.n + 1e-8);
        if (fmin(train, rollout) >= lowest)
            continue;
        lowest = fmin(train, rollout);
        in_train = train <= rollout;
        at = i;
    }
    return rl_fail(err, RL_EVALUE, "%s[%zu] has the mean %g: a perplexity overflows",
                   in_train ? "train_log_prob" : "rollout_log_prob", at, lowest);
}

enum rl_status rl_distance_check(const struct rl_two_policies *p, const struct rl_distance *d, struct rl_error *err)
{
    enum rl_status status = RL_OK;
    if (!isfinite(d->train_log_ppl) || !isfinite(d->rollout_log_ppl))
        status = p->explain(p, err);
    if (status == RL_OK && !isfinite(d->k3))
        return name_token(p, err);
    if (status == RL_OK && !isfinite(d->train_ppl + d->rollout_ppl + d->ppl_ratio + d->diff))
        return name_row(p, err);
    return status;
}

/* Process the rows [begin, begin + n). */
static void walk_rows(const struct rl_two_policies *p, size_t begin, size_t n, struct rl_ratio_row *rows)
{
#pragma omp parallel for schedule(static) if (n * p->batch.n_tokens >= RL_PARALLEL_TOKENS)
    for (size_t i = 0; i < n; i++)
        rows[i] = rl_ratio_row(p, begin + i, NULL, NULL);
}

enum rl_status rl_distance_measure(const struct rl_two_policies *p, struct rl_distance *d, struct rl_error *err)
{
    /*
     * Rows are processed in blocks whose sums fit on the stack, because this function has no
     * workspace.
     */
    enum { BLOCK = 128 };
    struct rl_ratio_row rows[BLOCK];
    *d = rl_distance_empty();
    for (size_t i = 0; i < p->batch.n_rows; i += BLOCK) {
        size_t n = p->batch.n_rows - i < BLOCK ? p->batch.n_rows - i : BLOCK;
        walk_rows(p, i, n, rows);
        rl_distance_add(d, rows, n);
    }
    return rl_distance_check(p, d, err);
}
