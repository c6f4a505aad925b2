/*
 * rlcore_offpolicy.c: tests corrections against plain sums, the losses that use the corrections against central
 * differences, invariances, OPSM, diagnostics, and bad input.
 */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <rlcore/diagnostics.h>
#include <rlcore/offpolicy.h>

#include "support/sort.h"
#include "support/random_batch.h"

/* A correction on a random batch; old_log_prob holds the trainer's log-probs. */
struct trial {
    struct random_batch *data;
    struct rl_correction_options options;
    double *weights;
    uint8_t *mask;
    struct rl_metric items[RL_METRICS_ENOUGH];
    struct rl_metrics metrics;
    struct rl_workspace ws;
    struct rl_error err;
};

static size_t cells_of(const struct trial *t)
{
    return t->data->batch.n_rows * t->data->batch.n_tokens;
}

static struct trial *trial_new(uint64_t seed, struct random_shape shape)
{
    struct trial *t = test_alloc(1, sizeof *t);
    t->data = random_batch_new(seed, shape);
    t->options = (struct rl_correction_options){.is = RL_IS_TOKEN, .is_threshold = 1.3};
    t->weights = test_alloc(cells_of(t), sizeof *t->weights);
    t->mask = test_alloc(cells_of(t), 1);
    t->metrics = (struct rl_metrics){t->items, 0, RL_METRICS_ENOUGH};
    return t;
}

static void trial_free(struct trial *t)
{
    random_batch_free(t->data);
    free(t->weights);
    free(t->mask);
    free(t->ws.data);
    free(t);
}

static enum rl_status correct(struct trial *t)
{
    const struct random_batch *d = t->data;
    enum rl_status status;
    do {
        t->metrics.n = 0;
        status = rl_rollout_correction(&d->batch, &t->options, d->old_log_prob, d->rollout_log_prob, t->weights, t->mask,
                                       &t->metrics, &t->ws, &t->err);
    } while (test_again(&t->ws, status));
    return status;
}

static double metric(const struct trial *t, const char *name)
{
    for (size_t i = 0; i < t->metrics.n; i++)
        if (strcmp(t->items[i].name, name) == 0)
            return t->items[i].value;
    fail_msg("no metric %s", name);
    return NAN;
}

static void assert_close(const char *what, double a, double b)
{
    if (!(fabs(a - b) <= 1e-10 + 1e-10 * fabs(b)))
        fail_msg("%s: %.17g is not %.17g", what, a, b);
}

/* The shapes cover rows longer than a chunk, holes, empty rows, and log-ratios within and beyond the limit. */
static struct random_shape shapes(int i)
{
    const struct random_shape list[] = {{.rows = 5, .tokens = 7},
                                        {.rows = 9, .tokens = 300, .hole_share = 0.2, .empty_share = 0.2},
                                        {.rows = 40, .tokens = 515, .hole_share = 0.05, .ratio_scale = 0.02},
                                        {.rows = 6, .tokens = 129, .empty_share = 0.3, .ratio_scale = 14}};
    return list[i];
}
enum { SHAPES = 4 };

static double limited(double x)
{
    return fmin(fmax(x, -20), 20);
}

struct plain {
    double n, kl, k3, square, chi2_seq, weight, low, high, std, clamped, clamped_seq;
};

static double log_ratio(const struct trial *t, size_t i)
{
    return t->data->old_log_prob[i] - t->data->rollout_log_prob[i];
}

static double row_sum(const struct trial *t, size_t row)
{
    double sum = 0;
    size_t n = t->data->batch.n_tokens;
    for (size_t i = row * n; i < (row + 1) * n; i++)
        sum += t->data->mask[i] ? log_ratio(t, i) : 0;
    return sum;
}

static struct plain plain_sums(const struct trial *t)
{
    struct plain p = {.low = INFINITY};
    double v_sum = 0, v_square = 0, cap = t->options.is_threshold;
    for (size_t i = 0; i < cells_of(t); i++) {
        double l = log_ratio(t, i), w = exp(limited(l)), v = fmin(fmax(w, 1 / cap), cap);
        if (!t->data->mask[i])
            continue;
        p.n++;
        p.kl -= l;
        p.k3 += exp(l) - l - 1;
        p.clamped += fabs(l) > 20;
        p.square += w * w;
        p.weight += w;
        p.low = fmin(p.low, w);
        p.high = fmax(p.high, w);
        v_sum += v;
        v_square += v * v;
    }
    for (size_t row = 0; row < t->data->batch.n_rows; row++) {
        p.chi2_seq += exp(2 * limited(row_sum(t, row)));
        p.clamped_seq += fabs(row_sum(t, row)) > 20;
    }
    double n = p.n + 1e-8;
    p.std = sqrt(fmax(0, v_square / n - v_sum / n * (v_sum / n)));
    return p;
}

static void sums_agree_with_plain_loops(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        struct trial *t = trial_new(70 + (uint64_t)i, shapes(i));
        assert_int_equal(correct(t), RL_OK);
        struct plain p = plain_sums(t);
        double n = p.n + 1e-8;
        assert_close("kl", metric(t, "kl"), p.kl / n);
        assert_close("k3_kl", metric(t, "k3_kl"), p.k3 / n);
        assert_close("chi2_token", metric(t, "chi2_token"), p.square / n - 1);
        assert_close("chi2_seq", metric(t, "chi2_seq"), p.chi2_seq / (double)t->data->batch.n_rows - 1);
        assert_close("clamped", metric(t, "log_ratio_clamped"), p.clamped);
        assert_close("clamped_seq", metric(t, "log_ratio_clamped_seq"), p.clamped_seq);
        assert_true(i < SHAPES - 1 || (p.clamped > 0 && p.clamped_seq > 0));
        assert_close("mean", metric(t, "rollout_is_mean"), p.weight / n);
        assert_close("min", metric(t, "rollout_is_min"), p.low);
        assert_close("max", metric(t, "rollout_is_max"), p.high);
        assert_true(fabs(metric(t, "rollout_is_std") - p.std) < 1e-7);
        trial_free(t);
    }
}

static void weights_are_truncated_ratios(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * SHAPES; i++) {
        struct trial *t = trial_new(50, shapes(i % SHAPES));
        t->options.is = i < SHAPES ? RL_IS_TOKEN : RL_IS_SEQUENCE;
        assert_int_equal(correct(t), RL_OK);
        for (size_t c = 0; c < cells_of(t); c++) {
            double l = t->options.is == RL_IS_TOKEN ? log_ratio(t, c) : row_sum(t, c / t->data->batch.n_tokens);
            double w = fmin(exp(limited(l)), t->options.is_threshold);
            assert_close("weight", t->weights[c], t->data->mask[c] ? w : 0);
        }
        trial_free(t);
    }
}

static void normalised_weights_have_mean_one(void **state)
{
    (void)state;
    struct trial *t = trial_new(51, shapes(1));
    double sum = 0, n = 0;
    t->options.is_batch_normalize = true;
    assert_int_equal(correct(t), RL_OK);
    for (size_t i = 0; i < cells_of(t); i++) {
        sum += t->weights[i];
        n += t->data->mask[i];
    }
    assert_close("mean", sum / n, 1);
    assert_true(metric(t, "rollout_is_batch_norm_factor") > 0.5);
    trial_free(t);
}

static double estimate(int k, double l)
{
    return k == 1 ? -l : k == 2 ? l * l / 2 : exp(l) - 1 - l;
}

/*
 * Returns true if a rejection keeps a token. `over` is the statistic: 0 of the token, 1 sum, 2 mean, 3 largest of the
 * row.
 */
static bool keeps(const struct trial *t, size_t cell, int over, int k, double low, double high)
{
    size_t n = t->data->batch.n_tokens, begin = cell / n * n;
    double sum = 0, most = -INFINITY, count = 1e-8;
    for (size_t i = begin; i < begin + n; i++)
        if (t->data->mask[i]) {
            sum += estimate(k, limited(log_ratio(t, i)));
            most = fmax(most, estimate(k, limited(log_ratio(t, i))));
            count++;
        }
    double x = over == 0 ? estimate(k, limited(log_ratio(t, cell))) : over == 1 ? sum : over == 2 ? sum / count : most;
    return x <= high && (k != 1 || x >= low);
}

static const struct bounds {
    const char *over, *of_k1, *of_others;
    double low, high, most; /* the bounds of the text as numbers */
} bounds[] = {{"token", "0.98_1.01", "0.045", 0.98, 1.01, 0.045},
              {"seq_sum", "0.01_100", "8", 0.01, 100, 8},
              {"seq_mean", "0.98_1.01", "0.045", 0.98, 1.01, 0.045},
              {"seq_max", NULL, "0.4", 0, 0, 0.4}};

static void check_rejection(int over, int k)
{
    char name[32];
    const struct bounds *b = &bounds[over];
    struct trial *t = trial_new(52, shapes(1));
    size_t rejected = 0, kept = 0;
    snprintf(name, sizeof name, "%s_k%d", b->over, k);
    t->options.rs = name;
    t->options.rs_threshold = k == 1 ? b->of_k1 : b->of_others;
    assert_int_equal(correct(t), RL_OK);
    for (size_t i = 0; i < cells_of(t); i++) {
        bool keep = t->data->mask[i] && keeps(t, i, over, k, log(b->low), k == 1 ? log(b->high) : b->most);
        assert_int_equal(t->mask[i], keep);
        kept += keep;
        rejected += t->data->mask[i] && !keep;
    }
    if (!kept || !rejected)
        fail_msg("%s decides nothing: %zu kept, %zu rejected", name, kept, rejected);
    assert_close(name, metric(t, "rollout_rs_masked_fraction"), (double)rejected / ((double)(kept + rejected) + 1e-8));
    trial_free(t);
}

static void rejection_keeps_tokens_within_its_bounds(void **state)
{
    (void)state;
    for (int over = 0; over < 4; over++)
        for (int k = over == 3 ? 2 : 1; k <= 3; k++)
            check_rejection(over, k);
}

static void values_outside_the_mask_are_not_read(void **state)
{
    (void)state;
    struct trial *t = trial_new(53, shapes(1)), *poisoned = trial_new(53, shapes(1));
    t->options.rs = poisoned->options.rs = "token_k3,seq_mean_k1";
    t->options.rs_threshold = poisoned->options.rs_threshold = "0.1,0.9_1.1";
    random_batch_poison(poisoned->data);
    assert_int_equal(correct(t), RL_OK);
    assert_int_equal(correct(poisoned), RL_OK);
    assert_int_equal(t->metrics.n, poisoned->metrics.n);
    for (size_t i = 0; i < t->metrics.n; i++)
        assert_true(t->items[i].value == poisoned->items[i].value);
    assert_memory_equal(t->weights, poisoned->weights, cells_of(t) * sizeof *t->weights);
    assert_memory_equal(t->mask, poisoned->mask, cells_of(t));
    trial_free(t);
    trial_free(poisoned);
}

static void row_order_and_padding_change_nothing(void **state)
{
    (void)state;
    for (int is = RL_IS_NONE; is <= RL_IS_SEQUENCE; is++) {
        struct random_shape shape = {.rows = 6, .tokens = 140, .hole_share = 0.2}, wider = {.rows = 6, .tokens = 260};
        struct trial *t = trial_new(62, shape), *moved = trial_new(63, wider);
        t->options.is = moved->options.is = (enum rl_is_level)is;
        t->options.rs = moved->options.rs = "seq_mean_k2,token_k3";
        t->options.rs_threshold = moved->options.rs_threshold = "0.1,0.2";
        for (size_t row = 0; row < 6; row++)
            random_batch_copy_row(t->data, row, moved->data, 5 - row);
        assert_int_equal(correct(t), RL_OK);
        assert_int_equal(correct(moved), RL_OK);
        assert_int_equal(t->metrics.n, moved->metrics.n);
        for (size_t i = 0; i < t->metrics.n; i++)
            assert_close(t->items[i].name, moved->items[i].value, t->items[i].value);
        for (size_t i = 0; i < cells_of(t); i++) {
            size_t there = (5 - i / 140) * 260 + i % 140;
            assert_int_equal(moved->mask[there], t->mask[i]);
            assert_close("weight", moved->weights[there], t->weights[i]);
        }
        trial_free(t);
        trial_free(moved);
    }
}

static void the_number_of_threads_changes_no_bit(void **state)
{
    (void)state;
#ifdef _OPENMP
    for (int is = RL_IS_NONE; is <= RL_IS_SEQUENCE; is++) {
        struct random_shape shape = {.rows = 37, .tokens = 900, .hole_share = 0.05};
        struct trial *one = trial_new(2, shape), *three = trial_new(2, shape);
        struct rl_diagnostics a, b;
        one->options.is = three->options.is = (enum rl_is_level)is;
        one->options.is_batch_normalize = three->options.is_batch_normalize = true;
        one->options.rs = three->options.rs = "token_k2,seq_mean_k3";
        one->options.rs_threshold = three->options.rs_threshold = "0.2,0.05";
        omp_set_num_threads(1);
        assert_int_equal(correct(one), RL_OK);
        omp_set_num_threads(3);
        assert_int_equal(correct(three), RL_OK);
        assert_int_equal(one->metrics.n, three->metrics.n);
        for (size_t i = 0; i < one->metrics.n; i++)
            assert_true(one->items[i].value == three->items[i].value);
        assert_memory_equal(one->weights, three->weights, cells_of(one) * sizeof(double));
        assert_memory_equal(one->mask, three->mask, cells_of(one));
        struct rl_workspace ws = {0};
        ws.data = test_alloc(ws.size = 1u << 20, 1);
        const struct random_batch *d = one->data;
        assert_int_equal(rl_diagnose(&d->batch, d->old_log_prob, d->rollout_log_prob, 0.2, 0.2, &b, &ws, NULL), RL_OK);
        omp_set_num_threads(1);
        assert_int_equal(rl_diagnose(&d->batch, d->old_log_prob, d->rollout_log_prob, 0.2, 0.2, &a, &ws, NULL), RL_OK);
        assert_memory_equal(&a, &b, sizeof a);
        free(ws.data);
        trial_free(one);
        trial_free(three);
    }
#else
    print_message("SKIP the_number_of_threads_changes_no_bit: built without OpenMP\n");
    skip();
#endif
}

static void single_precision_agrees(void **state)
{
    (void)state;
    struct trial *t = trial_new(54, shapes(1));
    size_t n = cells_of(t);
    float *train = floats_of(t->data->old_log_prob, n);
    float *rollout = floats_of(t->data->rollout_log_prob, n), *weights = floats_of(t->weights, n);
    struct rl_metric items[RL_METRICS_ENOUGH];
    struct rl_metrics metrics = {items, 0, RL_METRICS_ENOUGH};
    uint8_t *mask = test_alloc(n, 1);
    t->options.rs = "seq_mean_k2";
    t->options.rs_threshold = "0.09";
    assert_int_equal(correct(t), RL_OK);
    assert_int_equal(
        rl_rollout_correctionf(&t->data->batch, &t->options, train, rollout, weights, mask, &metrics, &t->ws, &t->err), RL_OK);
    assert_int_equal(metrics.n, t->metrics.n);
    for (size_t i = 0; i < metrics.n; i++)
        if (fabs(items[i].value - t->items[i].value) > 1e-5 * fmax(1, fabs(t->items[i].value)))
            fail_msg("%s: %g is not %g", items[i].name, items[i].value, t->items[i].value);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs((double)weights[i] - t->weights[i]) < 1e-5);
    assert_memory_equal(mask, t->mask, n);
    free(train);
    free(rollout);
    free(weights);
    free(mask);
    trial_free(t);
}

static size_t response_token(const struct random_batch *r, size_t row)
{
    size_t i = row * r->batch.n_tokens;
    while (!r->mask[i])
        i++;
    return i;
}

static void assert_refused(struct trial *t, const char *text)
{
    t->err.text[0] = '\0';
    assert_int_equal(correct(t), RL_EVALUE);
    if (!strstr(t->err.text, text))
        fail_msg("'%s' does not say '%s'", t->err.text, text);
}

static void bad_values_and_overflow_are_named(void **state)
{
    (void)state;
    struct trial *t = trial_new(55, (struct random_shape){.tokens = 200});
    size_t i = response_token(t->data, 3), column = i % 200;
    char name[64];
    double good = t->data->old_log_prob[i];
    t->data->old_log_prob[i] = NAN;
    snprintf(name, sizeof name, "train_log_prob[3][%zu]", column);
    assert_refused(t, name);
    t->data->old_log_prob[i] = 800;
    assert_refused(t, name);
    assert_non_null(strstr(t->err.text, "k3_kl"));
    t->data->old_log_prob[i] = 600;
    assert_int_equal(correct(t), RL_OK);
    assert_true(isfinite(metric(t, "k3_kl")));
    t->data->old_log_prob[i] = good;
    t->data->rollout_log_prob[i] = -INFINITY;
    snprintf(name, sizeof name, "rollout_log_prob[3][%zu]", column);
    assert_refused(t, name);
    t->data->rollout_log_prob[i] = -1;
    for (size_t j = 400; j < 600; j++)
        t->data->old_log_prob[j] = t->data->rollout_log_prob[j] = -900;
    assert_refused(t, "[2] has the mean -900");
    memset(t->data->mask, 0, cells_of(t));
    assert_int_equal(correct(t), RL_EINVAL);
    trial_free(t);
}

/* A loss that uses a correction, with its gradient. */
struct loss_trial {
    struct trial *t;
    struct rl_loss_options options;
    bool decoupled, hold_ratio;
    enum rl_bypass_kind kind;
    double *original, *gradient;
    struct rl_loss_result out;
};

static enum rl_status run_loss(struct loss_trial *l, double *gradient)
{
    struct trial *t = l->t;
    const struct random_batch *d = t->data;
    enum rl_status status;
    do {
        t->metrics.n = 0;
        status = l->decoupled
                     ? rl_decoupled_loss(&d->batch, &t->options, &l->options, d->log_prob, d->old_log_prob, d->rollout_log_prob,
                                         d->advantages, t->weights, t->mask, gradient, &l->out, &t->metrics, &t->ws, &t->err)
                     : rl_bypass_loss(&d->batch, l->kind, &t->options, &l->options, d->log_prob, d->rollout_log_prob,
                                      d->advantages, gradient, &l->out, &t->metrics, &t->ws, &t->err);
    } while (test_again(&t->ws, status));
    return status;
}

/*
 * Returns the loss. Bypass reinforce takes its weights as constants, so the sampler's log-probs move with the current
 * ones.
 */
static double loss_at(void *context)
{
    struct loss_trial *l = context;
    double *rollout = l->t->data->rollout_log_prob;
    size_t n = cells_of(l->t);
    double *kept = test_alloc(n, sizeof *kept);
    memcpy(kept, rollout, n * sizeof *kept);
    for (size_t i = 0; l->hold_ratio && i < n; i++)
        rollout[i] += l->t->data->log_prob[i] - l->original[i];
    assert_int_equal(run_loss(l, NULL), RL_OK);
    memcpy(rollout, kept, n * sizeof *kept);
    free(kept);
    return l->out.loss;
}

static void check_gradient(struct loss_trial *l)
{
    size_t n = cells_of(l->t), kinks;
    double any = 0;
    l->gradient = test_alloc(n, sizeof *l->gradient);
    l->original = test_alloc(n, sizeof *l->original);
    memcpy(l->original, l->t->data->log_prob, n * sizeof *l->original);
    assert_int_equal(run_loss(l, l->gradient), RL_OK);
    for (size_t i = 0; i < n; i++)
        any += fabs(l->gradient[i]);
    assert_true(any > 1e-3);
    double error = gradient_error(loss_at, l, l->t->data->log_prob, n, l->gradient, 1e-5, &kinks);
    if (error > 1e-6 || kinks > 3)
        fail_msg("error %g, %zu kinks", error, kinks);
    free(l->gradient);
    free(l->original);
}

static void gradients_match_differences(void **state)
{
    (void)state;
    const char *const rejections[] = {NULL, "token_k2", "seq_mean_k1"};
    const char *const limits[] = {NULL, "0.3", "0.8_1.25"};
    for (int variant = 0; variant < 3; variant++)
        for (int r = 0; r < 3; r++)
            for (int mode = 0; mode < 4; mode++) {
                struct loss_trial l = {.t = trial_new(56, (struct random_shape){.hole_share = 0.2, .empty_share = 0.1}),
                                       .decoupled = variant == 0,
                                       .kind = variant == 1 ? RL_BYPASS_PPO_CLIP : RL_BYPASS_REINFORCE,
                                       .hold_ratio = variant == 2};
                rl_loss_options_init(&l.options);
                l.options.agg.mode = (enum rl_agg_mode)mode;
                l.t->options.rs = rejections[r];
                l.t->options.rs_threshold = limits[r];
                check_gradient(&l);
                trial_free(l.t);
            }
}

static void losses_agree_in_single_precision(void **state)
{
    (void)state;
    struct loss_trial l = {.t = trial_new(57, shapes(1)), .decoupled = true};
    struct trial *t = l.t;
    size_t n = cells_of(t);
    double *d = test_alloc(n, sizeof *d);
    rl_loss_options_init(&l.options);
    assert_int_equal(run_loss(&l, d), RL_OK);
    float *p = floats_of(t->data->log_prob, n), *prox = floats_of(t->data->old_log_prob, n);
    float *q = floats_of(t->data->rollout_log_prob, n), *a = floats_of(t->data->advantages, n);
    float *w = floats_of(t->weights, n), *df = floats_of(d, n);
    struct rl_loss_result out;
    assert_int_equal(
        rl_decoupled_lossf(&t->data->batch, &t->options, &l.options, p, prox, q, a, w, t->mask, df, &out, NULL, &t->ws, &t->err),
        RL_OK);
    assert_true(fabs(out.loss - l.out.loss) < 1e-5);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs((double)df[i] - d[i]) < 1e-5);
    l.decoupled = false;
    l.kind = RL_BYPASS_REINFORCE;
    assert_int_equal(run_loss(&l, d), RL_OK);
    struct rl_workspace ws = {0};
    ws.data = test_alloc(ws.size = 1u << 20, 1);
    assert_int_equal(rl_bypass_lossf(&t->data->batch, l.kind, &t->options, &l.options, p, q, a, df, &out, NULL, &ws, &t->err),
                     RL_OK);
    assert_true(fabs(out.loss - l.out.loss) < 1e-5 * fmax(1, fabs(l.out.loss)));
    for (size_t i = 0; i < n; i++)
        assert_true(fabs((double)df[i] - d[i]) < 1e-5);
    float *arrays[] = {p, prox, q, a, w, df};
    for (size_t i = 0; i < 6; i++)
        free(arrays[i]);
    free(ws.data);
    free(d);
    trial_free(t);
}

static enum rl_status opsm(struct trial *t, const struct rl_opsm_options *o, uint8_t *mask, struct rl_opsm_result *result)
{
    const struct random_batch *d = t->data;
    return rl_opsm(&d->batch, o, d->old_log_prob, d->rollout_log_prob, d->advantages, mask, t->weights, result, &t->err);
}

static void opsm_over_rows_is_a_sequence_rejection(void **state)
{
    (void)state;
    for (int per_token = 0; per_token < 2; per_token++) {
        struct trial *t = trial_new(58, (struct random_shape){.rows = 40, .tokens = 150});
        struct rl_opsm_options o = {.per_token = per_token, .lower = per_token ? 0.99 : 0.125, .upper = per_token ? 1.02 : 4};
        struct rl_opsm_result result;
        uint8_t *mask = test_alloc(cells_of(t), 1);
        /* this option bounds rollout / train, opsm bounds train / rollout */
        t->options.rs = per_token ? "seq_mean_k1" : "seq_sum_k1";
        t->options.rs_threshold = per_token ? "0.98039215686274506_1.0101010101010102" : "0.25_8";
        assert_int_equal(correct(t), RL_OK);
        assert_int_equal(opsm(t, &o, mask, &result), RL_OK);
        assert_memory_equal(mask, t->mask, cells_of(t));
        assert_true(result.n_dropped > 0 && result.n_dropped < result.n_units);
        free(mask);
        trial_free(t);
    }
}

/* If one token of a turn leaves the bounds, the turn is dropped and the rest of the row stays. */
static void opsm_isolates_turns(void **state)
{
    (void)state;
    struct trial *t = trial_new(59, (struct random_shape){.tokens = 200, .ratio_scale = 0.001});
    struct random_batch *d = t->data;
    struct rl_opsm_options o = {.unit = RL_OPSM_TURN, .lower = 0.5, .upper = 2};
    struct rl_opsm_result result;
    size_t i = response_token(d, 2) + 60, dropped = 0;
    d->old_log_prob[i] += 3;
    assert_int_equal(opsm(t, &o, t->mask, &result), RL_OK);
    for (size_t c = 0; c < cells_of(t); c++) {
        bool gone = c / 200 == 2 && d->mask[c] && d->turn[c] == d->turn[i];
        assert_int_equal(t->mask[c], d->mask[c] && !gone);
        dropped += gone;
        assert_true(!d->mask[c] || (t->weights[c] > 2) == gone);
    }
    assert_int_equal(result.n_dropped, 1);
    assert_int_equal(result.n_tokens_dropped, dropped);
    for (size_t c = 400; c < 600; c++)
        d->advantages[c] = fabs(d->advantages[c]);
    o.negative_only = true;
    assert_int_equal(opsm(t, &o, t->mask, &result), RL_OK);
    assert_int_equal(result.n_dropped, 0);
    o.lower = 3;
    assert_int_equal(opsm(t, &o, t->mask, &result), RL_EINVAL);
    trial_free(t);
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sorting_orders_everything(void **state)
{
    (void)state;
    struct test_rng rng = {5};
    enum { N = 5000 };
    double values[N], spare[N], expected[N];
    for (size_t i = 0; i < N; i++)
        values[i] = expected[i] = i % 7 == 0 ? 0.25 : ldexp(test_rng_normal(&rng), (int)test_rng_below(&rng, 200) - 100);
    values[3] = expected[3] = -INFINITY;
    qsort(expected, N, sizeof *expected, ascending);
    assert_memory_equal(rl_sort(values, spare, N), expected, sizeof expected);
    assert_ptr_equal(rl_sort(values, spare, 0), values);
}

static enum rl_status diagnose(struct trial *t, struct rl_diagnostics *out)
{
    const struct random_batch *d = t->data;
    enum rl_status status;
    do
        status = rl_diagnose(&d->batch, d->old_log_prob, d->rollout_log_prob, 0.1, 0.3, out, &t->ws, &t->err);
    while (test_again(&t->ws, status));
    return status;
}

static void diagnostics_of_a_batch(void **state)
{
    (void)state;
    struct trial *t = trial_new(60, shapes(1));
    struct rl_diagnostics d;
    double *ratio = test_alloc(cells_of(t), sizeof *ratio), low = 0, high = 0;
    size_t n = 0;
    t->options.is_threshold = 1e9;
    assert_int_equal(correct(t), RL_OK);
    assert_int_equal(diagnose(t, &d), RL_OK);
    struct plain p = plain_sums(t);
    for (size_t i = 0; i < cells_of(t); i++)
        if (t->data->mask[i]) {
            ratio[n++] = exp(log_ratio(t, i));
            low += ratio[n - 1] < 0.9;
            high += ratio[n - 1] > 1.3;
        }
    qsort(ratio, n, sizeof *ratio, ascending);
    for (int q = 1; q < 100; q++) {
        double rank = (double)(n - 1) * q / 100;
        size_t i = (size_t)rank;
        double share = rank - (double)i;
        assert_close("percentile", d.ratio_percentile[q - 1], ratio[i] * (1 - share) + ratio[i + 1] * share);
    }
    assert_close("ess", d.ess, p.weight * p.weight / (p.n * p.square));
    assert_close("kl", d.kl, metric(t, "kl"));
    assert_close("k3", d.k3, metric(t, "k3_kl"));
    assert_close("chi2", d.chi2_token, metric(t, "chi2_token"));
    assert_close("chi2", d.chi2_seq, metric(t, "chi2_seq"));
    assert_close("low", d.clip_low, low / p.n);
    assert_close("high", d.clip_high, high / p.n);
    assert_close("mean", d.ratio_mean, p.weight / p.n);
    assert_true(d.ratio_min == ratio[0] && d.ratio_max == ratio[n - 1]);
    assert_int_equal(d.n_tokens, n);
    free(ratio);
    trial_free(t);
}

static void equal_policies_have_distance_0(void **state)
{
    (void)state;
    struct trial *t = trial_new(61, shapes(1));
    struct rl_diagnostics d;
    memcpy(t->data->old_log_prob, t->data->rollout_log_prob, cells_of(t) * sizeof(double));
    assert_int_equal(diagnose(t, &d), RL_OK);
    assert_true(d.kl == 0 && d.k3 == 0 && d.ess == 1 && d.n_clamped == 0);
    assert_true(d.ratio_percentile[0] == 1 && d.ratio_percentile[98] == 1);
    assert_true(fabs(d.chi2_token) < 1e-8 && d.clip_low == 0 && d.clip_high == 0);
    t->options.is_threshold = 1; /* ratios at a bound are neither above nor below it */
    assert_int_equal(correct(t), RL_OK);
    assert_true(metric(t, "rollout_is_ratio_fraction_low") == 0 && metric(t, "rollout_is_ratio_fraction_high") == 0);
    t->data->old_log_prob[response_token(t->data, 1)] += 750;
    assert_int_equal(diagnose(t, &d), RL_EVALUE);
    assert_non_null(strstr(t->err.text, "train_log_prob[1]["));
    memset(t->data->mask, 0, cells_of(t));
    assert_int_equal(diagnose(t, &d), RL_EINVAL);
    trial_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_agree_with_plain_loops),
        cmocka_unit_test(weights_are_truncated_ratios),
        cmocka_unit_test(normalised_weights_have_mean_one),
        cmocka_unit_test(rejection_keeps_tokens_within_its_bounds),
        cmocka_unit_test(values_outside_the_mask_are_not_read),
        cmocka_unit_test(row_order_and_padding_change_nothing),
        cmocka_unit_test(the_number_of_threads_changes_no_bit),
        cmocka_unit_test(single_precision_agrees),
        cmocka_unit_test(bad_values_and_overflow_are_named),
        cmocka_unit_test(gradients_match_differences),
        cmocka_unit_test(losses_agree_in_single_precision),
        cmocka_unit_test(opsm_over_rows_is_a_sequence_rejection),
        cmocka_unit_test(opsm_isolates_turns),
        cmocka_unit_test(sorting_orders_everything),
        cmocka_unit_test(diagnostics_of_a_batch),
        cmocka_unit_test(equal_policies_have_distance_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
