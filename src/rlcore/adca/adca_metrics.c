/*
 * adca_metrics.c: metrics of the attribution: shares of outcome and steps, signs, the spread of z.
 *
 * They are computed from intermediate values, because agreement of flags and outcome can be seen
 * only before normalisation. Names and definitions are those of the reference's log, including its
 * small additions of 1e-12, so that curves of both can be compared.
 */

#include "adca/adca_internal.h"

/* A mean, 0 without values. */
struct mean {
    double sum, n;
};

static void add(struct mean *mean, double value)
{
    mean->sum += value;
    mean->n += 1;
}

static double value(struct mean mean)
{
    return mean.n > 0 ? mean.sum / mean.n : 0;
}

/*
 * This is a shell sort, which suffices because the arrays have one number per row or group. The
 * library's qsort would allocate memory, and the recursion depth of a quicksort is not bounded.
 */
static void sort(double *v, size_t n)
{
    for (size_t gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (size_t i = gap; i < n; i++) {
            double x = v[i];
            size_t j = i;
            for (; j >= gap && v[j - gap] > x; j -= gap)
                v[j] = v[j - gap];
            v[j] = x;
        }
}

/*
 * The entry of v at 95 %; sorts v. nearbyint rounds halves of the index to even, as the reference
 * does. lround rounds them away from zero and would take another entry for every second length.
 */
static double p95(double *v, size_t n)
{
    if (n == 0)
        return 0;
    sort(v, n);
    return v[(size_t)nearbyint(0.95 * (double)(n - 1))];
}

static void measure_rows(const struct rl_adca_work *w, struct rl_adca_metrics *m)
{
    struct mean share = {0}, effective = {0}, defined = {0}, agree = {0}, good_wins = {0}, bad_wins = {0};
    for (size_t row = 0; row < w->in->n_rows; row++) {
        size_t n = rl_adca_judged_steps(w, row), good = rl_adca_count_good(w, row, rl_adca_success(w, row));
        double attribution = 0, sum = 0, o = fabs(w->options->outcome_weight * w->o[row]);
        for (size_t j = w->in->start[row]; j < w->in->start[row + 1]; j++) {
            attribution += fabs(w->options->alpha * w->z[j]);
            sum += w->combined[j];
        }
        if (n == 0)
            continue;
        /*
         * If only the last step has the outcome, its share is compared with one step; if every step
         * has the outcome, its share is compared with all steps.
         */
        double reach = w->options->outcome == RL_ADCA_LAST_STEP ? 1 : (double)n;
        add(&share, o / (o + attribution + 1e-12));
        add(&effective, attribution / (reach * o + 1e-12));
        m->n_alpha_effective += o > 1e-9;
        if (o > 1e-9)
            add(&defined, attribution / (reach * o));
        add(&agree, (sum > 0) == rl_adca_success(w, row));
        if (rl_adca_success(w, row))
            add(&good_wins, 2 * good > n);
        else
            add(&bad_wins, 2 * good <= n);
    }
    m->outcome_share_last_mean = value(share);
    m->alpha_effective = value(effective);
    m->alpha_effective_where_defined = value(defined);
    m->sum_step_reward_sign_agree = value(agree);
    m->pos_traj_good_majority_rate = value(good_wins);
    m->neg_traj_bad_majority_rate = value(bad_wins);
}

/* Mean and biased standard deviation of z over all steps, and of o over the rows with steps. */
static void measure_spread(const struct rl_adca_work *w, struct rl_adca_metrics *m)
{
    struct mean z = {0}, o = {0}, z2 = {0}, o2 = {0};
    for (size_t row = 0; row < w->in->n_rows; row++)
        for (size_t j = 0; j < rl_adca_judged_steps(w, row); j++)
            add(&z, w->z[w->in->start[row] + j]);
    for (size_t row = 0; row < w->in->n_rows; row++)
        if (rl_adca_judged_steps(w, row))
            add(&o, w->o[row]);
    m->attr_mean = value(z);
    m->out_mean = value(o);
    for (size_t row = 0; row < w->in->n_rows; row++)
        for (size_t j = w->in->start[row], n = j + rl_adca_judged_steps(w, row); j < n; j++)
            add(&z2, (w->z[j] - m->attr_mean) * (w->z[j] - m->attr_mean));
    for (size_t row = 0; row < w->in->n_rows; row++)
        if (rl_adca_judged_steps(w, row))
            add(&o2, (w->o[row] - m->out_mean) * (w->o[row] - m->out_mean));
    m->attr_std = sqrt(value(z2));
    m->out_std = sqrt(value(o2));
}

static void measure_weights(const struct rl_adca_work *w, struct rl_adca_metrics *m)
{
    struct mean share_pos = {0}, share_neg = {0}, unit = {0};
    size_t n_units = 0;
    for (size_t row = 0; row < w->in->n_rows; row++) {
        size_t n = rl_adca_judged_steps(w, row);
        bool success = rl_adca_success(w, row);
        if (n == 0)
            continue;
        struct rl_adca_shares s = rl_adca_shares_of(w, row);
        double good = (double)rl_adca_count_good(w, row, success);
        w->sorted[n_units++] = s.unit;
        add(&unit, s.unit);
        m->degenerate_total_w_count += s.total <= w->options->eps;
        if (s.total <= w->options->eps)
            continue;
        if (success)
            add(&share_pos, good * s.good / s.total);
        else
            add(&share_neg, ((double)n - good) * s.bad / s.total);
    }
    m->consistent_weight_share_pos = value(share_pos);
    m->consistent_weight_share_neg = value(share_neg);
    m->unit_weight_mean = value(unit);
    m->unit_weight_p95 = p95(w->sorted, n_units);
}

/*
 * Mean and biased standard deviation of all z of a group; returns false without steps. They check
 * the z-score. If all steps have the same weight, mean and deviation are 0 and 1 by construction.
 * If all rows have the same weight, they drift where rows differ in length; zscore_bad_group_cnt
 * counts such groups.
 */
static bool spread_of_group(const struct rl_adca_work *w, size_t g, double *mean, double *deviation)
{
    struct mean z = {0}, squares = {0};
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = w->groups.start[g]; i < w->groups.start[g + 1]; i++) {
            size_t row = w->groups.order[i];
            for (size_t j = w->in->start[row], n = j + rl_adca_judged_steps(w, row); j < n; j++)
                if (pass == 0)
                    add(&z, w->z[j]);
                else
                    add(&squares, (w->z[j] - value(z)) * (w->z[j] - value(z)));
        }
    *mean = value(z);
    *deviation = sqrt(value(squares));
    return z.n > 0;
}

static void measure_groups(const struct rl_adca_work *w, struct rl_adca_metrics *m)
{
    size_t n = 0;
    double mean, deviation;
    for (size_t g = 0; g < w->groups.n; g++)
        if (spread_of_group(w, g, &mean, &deviation)) {
            w->sorted[n++] = fabs(mean);
            m->zscore_bad_group_cnt += fabs(mean) > 0.05 || deviation < 0.8 || deviation > 1.2;
        }
    m->r_norm_group_mean_abs_p95 = p95(w->sorted, n);
    n = 0;
    for (size_t g = 0; g < w->groups.n; g++)
        if (spread_of_group(w, g, &mean, &deviation))
            w->sorted[n++] = deviation;
    m->r_norm_group_std_p95 = p95(w->sorted, n);
}

static void measure_z(const struct rl_adca_work *w, struct rl_adca_metrics *m)
{
    struct mean gap_pos = {0}, gap_neg = {0}, small = {0}, agree = {0}, sums = {0};
    for (size_t row = 0; row < w->in->n_rows; row++) {
        struct mean good = {0}, bad = {0};
        size_t n = rl_adca_judged_steps(w, row);
        const double *z = w->z + w->in->start[row];
        for (size_t j = 0; j < n; j++) {
            add(rl_adca_flag(w, row, j, rl_adca_fill(w, row)) ? &good : &bad, z[j]);
            add(&small, fabs(z[j]) < 0.05);
        }
        if (n == 0)
            continue;
        add(&agree, (rl_adca_success(w, row) ? 1 : -1) * w->raw_sums[row] > 0);
        add(&sums, good.sum + bad.sum);
        if (good.n > 0 && bad.n > 0 && w->outcomes[row] > 0)
            add(&gap_pos, value(good) - value(bad));
        else if (good.n > 0 && bad.n > 0)
            add(&gap_neg, value(bad) - value(good));
    }
    m->good_bad_rnorm_gap_pos = value(gap_pos);
    m->good_bad_rnorm_gap_neg = value(gap_neg);
    m->rnorm_small_mag_ratio = value(small);
    m->pre_norm_sum_sign_agree = value(agree);
    m->post_norm_sum_mean = value(sums);
}

void rl_adca_measure(const struct rl_adca_work *w, struct rl_adca_metrics *metrics)
{
    *metrics = (struct rl_adca_metrics){0};
    measure_rows(w, metrics);
    measure_spread(w, metrics);
    /*
     * Only allocation has weights, and the reference reports the metrics below for that scheme
     * alone.
     */
    if (w->options->scheme == RL_ADCA_DECOUPLE)
        return;
    measure_weights(w, metrics);
    measure_groups(w, metrics);
    measure_z(w, metrics);
}
