/*
 * adca_rewards.c: step rewards of ADCA-GRPO: raw rewards, normalised within the group, combined
 * with the outcome, summed.
 *
 * Attribution and outcome are normalised separately and combined afterwards. Otherwise a judge that
 * calls nearly every step GOOD would shift the mean of the outcomes, and rows would be rewarded for
 * their number of steps.
 */
#include "adca/adca_internal.h"

/*
 * ---- metrics of the attribution: shares of outcome and steps, signs, the spread of z.
 *
 * They are computed from intermediate values, because agreement of flags and outcome can be seen
 * only before normalisation. Names and definitions are those of the reference's log, including its
 * small additions of 1e-12, so that curves of both can be compared.
 */

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

static void rl_adca_measure(const struct rl_adca_work *w, struct rl_adca_metrics *metrics)
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

static const double TINY = 1e-12;

/*
 * Allocation: the steps of a row share +1 or -1. Steps whose flag agrees with the outcome get the
 * larger shares. The total is fixed, so that more steps earn nothing.
 */
struct rl_adca_shares rl_adca_shares_of(const struct rl_adca_work *w, size_t row)
{
    const struct rl_adca_options *o = w->options;
    bool success = rl_adca_success(w, row);
    double good = (double)rl_adca_count_good(w, row, success);
    struct rl_adca_shares s = {
        .good = success ? o->consistent_scale : o->neg_unconsistent_scale,
        .bad = success ? o->pos_unconsistent_scale : o->consistent_scale,
        .sign = success ? 1 : -1,
    };
    s.total = good * s.good + ((double)rl_adca_steps_of(w, row) - good) * s.bad;
    /* If the weights add up to 0 there is nothing to divide, and 1 / 0 would be infinite. */
    s.unit = s.total <= o->eps ? 0 : 1 / s.total;
    return s;
}

/*
 * Decouple: the reward of a flag does not depend on the outcome, which is added later. A step
 * without a flag has reward 0 and does not take part in the normalisation, so that only the outcome
 * of its row is left.
 */
static void raw_rewards(const struct rl_adca_work *w, size_t row)
{
    struct rl_adca_shares s = rl_adca_shares_of(w, row);
    bool decouple = w->options->scheme == RL_ADCA_DECOUPLE;
    double good = decouple ? w->options->fix_base : s.sign * s.good * s.unit;
    double bad = decouple ? -w->options->fix_base : s.sign * s.bad * s.unit;
    double *z = w->z + w->in->start[row];
    w->raw_sums[row] = 0;
    for (size_t j = 0; j < rl_adca_steps_of(w, row); j++)
        z[j] = 0;
    for (size_t j = 0; j < rl_adca_judged_steps(w, row); j++) {
        z[j] = rl_adca_flag(w, row, j, rl_adca_fill(w, row)) ? good : bad;
        w->raw_sums[row] += z[j];
    }
}

/*
 * Sum over the rows of a group of sum_j f(z_j), where f is the value or its squared distance from
 * mean. *weight is the number of rows, or of steps. If rows have equal weights, each row's sum is
 * divided by its number of steps, so a row of forty steps influences the mean as much as a row of
 * four. If steps have equal weights, long rows determine the mean.
 */
static double group_sum(const struct rl_adca_work *w, size_t g, const double *mean, double *weight)
{
    bool equal = w->options->equal_trajectory_weight;
    double total = 0;
    *weight = 0;
    for (size_t i = w->groups.start[g]; i < w->groups.start[g + 1]; i++) {
        size_t row = w->groups.order[i], n = rl_adca_judged_steps(w, row);
        const double *z = w->z + w->in->start[row];
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += mean ? (z[j] - *mean) * (z[j] - *mean) : z[j];
        total += equal && n ? sum / (double)n : sum;
        *weight += equal ? n > 0 : (double)n;
    }
    return total;
}

static void normalise_steps(const struct rl_adca_work *w, size_t g)
{
    double weight, mean = group_sum(w, g, NULL, &weight);
    if (!(weight > 0))
        return;
    mean /= weight;
    double variance = group_sum(w, g, &mean, &weight) / weight, eps = w->options->eps;
    /*
     * eps is added inside the root in one form and is a floor in the other. Both forms are the
     * reference's; the difference is visible if flags are nearly equal.
     */
    double s = w->options->equal_trajectory_weight ? sqrt(variance + eps) : fmax(sqrt(variance), eps);
    for (size_t i = w->groups.start[g]; i < w->groups.start[g + 1]; i++) {
        size_t row = w->groups.order[i];
        double *z = w->z + w->in->start[row];
        for (size_t j = 0; j < rl_adca_judged_steps(w, row); j++)
            z[j] = (z[j] - mean) / (s + TINY);
    }
}

/*
 * Rows without steps count here, although they do not count in the normalisation of steps: their
 * outcome tells as much about the prompt as any other. A group of equal outcomes is centred but not
 * divided, which gives 0.
 */
static void normalise_outcomes(const struct rl_adca_work *w, size_t g)
{
    const size_t *rows = w->groups.order + w->groups.start[g];
    size_t n = rl_group_size(&w->groups, g);
    double mean = 0, squares = 0;
    for (size_t j = 0; j < n; j++)
        mean += w->outcomes[rows[j]];
    mean /= (double)n;
    for (size_t j = 0; j < n; j++)
        squares += (w->outcomes[rows[j]] - mean) * (w->outcomes[rows[j]] - mean);
    double s = sqrt(squares / (double)n);
    for (size_t j = 0; j < n; j++)
        w->o[rows[j]] = (w->outcomes[rows[j]] - mean) / (s <= w->options->eps ? 1 : s + TINY);
}

/*
 * An outcome at the last step reaches all steps before it through the suffix sums. An outcome at
 * every step is counted once for each following step. 1/sqrt(K) keeps the spread of those sums
 * independent of the number of steps.
 */
static void combine(const struct rl_adca_work *w, size_t row, double *combined)
{
    const struct rl_adca_options *o = w->options;
    size_t n = rl_adca_steps_of(w, row);
    bool shorten = o->scheme == RL_ADCA_DECOUPLE && o->length_normalisation;
    double scale = shorten && n ? 1 / sqrt((double)n) : 1;
    const double *z = w->z + w->in->start[row];
    for (size_t j = 0; j < n; j++) {
        double value = o->outcome == RL_ADCA_ONLY ? z[j] : o->alpha * z[j];
        if (o->outcome == RL_ADCA_ALL_STEPS || (o->outcome == RL_ADCA_LAST_STEP && j + 1 == n))
            value += o->outcome_weight * w->o[row];
        combined[w->in->start[row] + j] = value * scale;
    }
}

static enum rl_status check_options(const struct rl_adca_options *o, struct rl_error *err)
{
    const struct {
        const char *name;
        double value;
    } reals[] = {{"consistent_scale", o->consistent_scale},
                 {"pos_unconsistent_scale", o->pos_unconsistent_scale},
                 {"neg_unconsistent_scale", o->neg_unconsistent_scale},
                 {"eps", o->eps},
                 {"fix_base", o->fix_base},
                 {"alpha", o->alpha},
                 {"outcome_weight", o->outcome_weight}};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        if (!isfinite(reals[i].value))
            return rl_fail(err, RL_EINVAL, "%s is %g, not a finite number", reals[i].name, reals[i].value);
    if (o->eps < 0)
        return rl_fail(err, RL_EINVAL, "eps is %g, negative", o->eps);
    if ((unsigned)o->scheme > RL_ADCA_ALLOCATION || (unsigned)o->outcome > RL_ADCA_ONLY)
        return rl_fail(err, RL_EINVAL, "scheme or outcome distribution is unknown");
    /*
     * The rewards of allocation are shares of the outcome. With RL_ADCA_ONLY they would pass on the
     * sign of the outcome as if it were the judge's opinion.
     */
    if (o->scheme == RL_ADCA_ALLOCATION && o->outcome == RL_ADCA_ONLY)
        return rl_fail(err, RL_EINVAL, "only_prm needs the decouple scheme");
    return RL_OK;
}

static enum rl_status check(const struct rl_adca_input *in, const struct rl_adca_options *options,
                            const struct rl_adca_output *out, struct rl_error *err)
{
    size_t cells;
    if (!in || !options || !out)
        return rl_fail(err, RL_EINVAL, "input, options or output is missing");
    if (!in->start || !in->flag_start || (in->n_rows && !in->group))
        return rl_fail(err, RL_EINVAL, "step starts, flag starts or group_ids are missing");
    if (__builtin_mul_overflow(in->n_rows, in->n_tokens, &cells))
        return rl_fail(err, RL_EINVAL, "batch of %zu rows x %zu tokens is too large", in->n_rows, in->n_tokens);
    if (cells && !in->step_id)
        return rl_fail(err, RL_EINVAL, "step_ids are missing");
    for (size_t row = 0; row < in->n_rows; row++)
        if (in->flag_start[row] > in->flag_start[row + 1])
            return rl_fail(err, RL_EVALUE, "flag_start[%zu] is %zu, after the next", row, in->flag_start[row]);
    if (in->start[in->n_rows] && (!out->step_rewards || !out->step_advantages))
        return rl_fail(err, RL_EINVAL, "step_rewards or step_advantages are missing");
    if (in->n_rows && in->flag_start[in->n_rows] && !in->flags)
        return rl_fail(err, RL_EINVAL, "step_flags are missing");
    return check_options(options, err);
}

enum rl_status rl_adca_begin(struct rl_adca_work *w, const struct rl_adca_input *in, const struct rl_adca_options *options,
                             const struct rl_adca_output *out, struct rl_workspace *ws, struct rl_error *err)
{
    RL_TRY(check(in, options, out, err));
    struct rl_scratch s = rl_scratch_begin(ws);
    *w = (struct rl_adca_work){.in = in, .options = options, .combined = out->step_rewards};
    w->groups = rl_groups_take(&s, in->n_rows);
    w->outcomes = rl_scratch_take(&s, in->n_rows, sizeof(double));
    w->o = rl_scratch_take(&s, in->n_rows, sizeof(double));
    w->raw_sums = rl_scratch_take(&s, in->n_rows, sizeof(double));
    w->sorted = rl_scratch_take(&s, in->n_rows, sizeof(double));
    w->z = rl_scratch_take(&s, in->start[in->n_rows], sizeof(double));
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    rl_groups_build(&w->groups, in->group);
    return RL_OK;
}

enum rl_status rl_adca_run(const struct rl_adca_work *w, const struct rl_adca_output *out, struct rl_error *err)
{
    const struct rl_adca_input *in = w->in;
    for (size_t row = 0; row < in->n_rows; row++)
        raw_rewards(w, row);
    /*
     * The raw rewards of all rows come first, because a group is normalised over rows that need not
     * be neighbours.
     */
    for (size_t g = 0; g < w->groups.n; g++) {
        if (w->options->do_batch_norm)
            normalise_steps(w, g);
        normalise_outcomes(w, g);
    }
    for (size_t row = 0; row < in->n_rows; row++) {
        combine(w, row, out->step_rewards);
        if (out->outcomes)
            out->outcomes[row] = w->outcomes[row];
    }
    for (size_t j = 0; j < in->start[in->n_rows]; j++)
        if (!isfinite(out->step_rewards[j]))
            return rl_fail(err, RL_EVALUE, "step_rewards: step %zu overflows", j);
    if (out->metrics)
        rl_adca_measure(w, out->metrics);
    return rl_adca_suffix_sums(in->n_rows, in->start, out->step_rewards, out->step_advantages, err);
}
