/* rlcore_stream_loss.c: tests gradients, members and errors of the loss of three weight streams. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/stream_loss.h>

#include "stream/stream_internal.h"
#include "support/random_batch.h"

enum { SEQUENCES = 5, TOKENS = 60, ARRAYS = 7 };

/* A micro batch. Weights are 0 at about half of the tokens, and one token may belong to several components. */
struct micro {
    size_t start[SEQUENCES + 1];
    uint8_t mask[TOKENS];
    double arrays[ARRAYS][TOKENS]; /* in the order of struct rl_streams */
    struct rl_sequences sequences;
    struct rl_streams streams;
    struct rl_stream_options options;
    double original[TOKENS], held_ref[TOKENS]; /* log-probs before the test moves tokens */
    double gradient[TOKENS];
    struct rl_stream_metrics metrics[SEQUENCES];
    struct rl_stream_result result;
    struct rl_error err;
};

enum { TRAINER, INFERENCE, ADVANTAGES, REF, RL, CE, REF_KL };

/* Rounds to a multiple of 1/4096. float represents such numbers exactly, also after steps of 1/1024. */
static double coarse(double x)
{
    return round(x * 4096) / 4096;
}

static double weight(struct test_rng *rng)
{
    return test_rng_below(rng, 2) ? 0 : coarse(0.1 + test_rng_uniform(rng));
}

static void point(struct micro *m)
{
    m->sequences = (struct rl_sequences){SEQUENCES, m->start, m->mask};
    m->streams = (struct rl_streams){m->arrays[TRAINER], m->arrays[INFERENCE], m->arrays[ADVANTAGES], m->arrays[REF],
                                     m->arrays[RL],      m->arrays[CE],        m->arrays[REF_KL]};
}

static struct micro *micro_new(uint64_t seed, enum rl_stream_kind kind)
{
    struct micro *m = test_alloc(1, sizeof *m);
    struct test_rng rng = {seed};
    for (size_t s = 1; s < SEQUENCES; s++)
        m->start[s] = m->start[s - 1] + test_rng_below(&rng, TOKENS / SEQUENCES + 1);
    m->start[SEQUENCES] = TOKENS;
    for (size_t i = 0; i < TOKENS; i++) {
        m->mask[i] = test_rng_below(&rng, 3) > 0;
        m->arrays[INFERENCE][i] = coarse(-0.05 - fabs(test_rng_normal(&rng)));
        m->arrays[TRAINER][i] = coarse(m->arrays[INFERENCE][i] + 0.4 * test_rng_normal(&rng));
        m->arrays[ADVANTAGES][i] = coarse(test_rng_normal(&rng));
        m->arrays[REF][i] = coarse(m->arrays[INFERENCE][i] + 0.5 * test_rng_normal(&rng));
        for (size_t k = RL; k <= REF_KL; k++)
            m->arrays[k][i] = weight(&rng);
    }
    memcpy(m->original, m->arrays[TRAINER], sizeof m->original);
    memcpy(m->held_ref, m->arrays[REF], sizeof m->held_ref);
    rl_stream_options_init(&m->options);
    m->options.kind = kind;
    m->options.kl_tau = 0.01;
    m->options.rl_scale = 170;
    m->options.ce_scale = 50;
    m->options.ref_kl_scale = 90;
    point(m);
    return m;
}

static void run(struct micro *m)
{
    assert_int_equal(rl_stream_loss(&m->sequences, &m->streams, &m->options, m->gradient, m->metrics, &m->result, &m->err),
                     RL_OK);
}

/* The loss takes the pull towards the reference as a constant, so the reference moves with the trainer's log-probs. */
static void move_reference(struct micro *m)
{
    for (size_t i = 0; i < TOKENS; i++)
        m->arrays[REF][i] = m->held_ref[i] + m->arrays[TRAINER][i] - m->original[i];
}

static double value_at(void *context)
{
    struct micro *m = context;
    struct rl_stream_result result;
    move_reference(m);
    assert_int_equal(rl_stream_loss(&m->sequences, &m->streams, &m->options, NULL, NULL, &result, &m->err), RL_OK);
    return result.loss;
}

static void drop_streams(struct micro *m, unsigned which)
{
    m->streams.rl_weights = which & 1 ? NULL : m->streams.rl_weights;
    m->streams.ce_weights = which & 2 ? NULL : m->streams.ce_weights;
    m->streams.ref_kl_weights = which & 4 ? NULL : m->streams.ref_kl_weights;
}

/* A probability moves by at most 1, so a bound of 1 masks nothing, and neither does an infinite one. */
static void bounds_are_those_of_the_chosen_kind(void **state)
{
    (void)state;
    for (int kind = RL_STREAM_DPPO; kind <= RL_STREAM_IPO; kind++) {
        struct micro *m = micro_new(1, (enum rl_stream_kind)kind);
        double *own[] = {&m->options.dppo_mask_low, &m->options.ipo_threshold};
        *own[1 - kind] = -1; /* not read */
        *own[kind] = 1;
        m->options.dppo_mask_high = 1;
        run(m);
        double loss = m->result.loss;
        *own[kind] = INFINITY;
        run(m);
        assert_true(m->result.loss == loss);
        *own[kind] = NAN;
        assert_int_equal(rl_stream_loss(&m->sequences, &m->streams, &m->options, NULL, NULL, &m->result, &m->err), RL_EINVAL);
        free(m);
    }
}

static void gradient_is_the_slope(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 32; seed++) {
        struct micro *m = micro_new(seed, seed % 2 ? RL_STREAM_IPO : RL_STREAM_DPPO);
        size_t kinks;
        drop_streams(m, (unsigned)seed / 2 % 8);
        run(m);
        double error = gradient_error(value_at, m, m->arrays[TRAINER], TOKENS, m->gradient, 1e-5, &kinks);
        assert_true(error < 1e-6);
        assert_true(kinks <= 2);
        free(m);
    }
}

/* A float copy of a micro batch. */
struct microf {
    float arrays[ARRAYS][TOKENS], gradient[TOKENS];
    struct rl_streamsf streams;
    struct rl_stream_result result;
};

static void run_float(struct micro *m, struct microf *f)
{
    for (size_t k = 0; k < ARRAYS; k++)
        for (size_t i = 0; i < TOKENS; i++)
            f->arrays[k][i] = (float)m->arrays[k][i];
    f->streams = (struct rl_streamsf){f->arrays[TRAINER],
                                      f->arrays[INFERENCE],
                                      f->arrays[ADVANTAGES],
                                      f->arrays[REF],
                                      m->streams.rl_weights ? f->arrays[RL] : NULL,
                                      m->streams.ce_weights ? f->arrays[CE] : NULL,
                                      m->streams.ref_kl_weights ? f->arrays[REF_KL] : NULL};
    assert_int_equal(rl_stream_lossf(&m->sequences, &f->streams, &m->options, f->gradient, NULL, &f->result, &m->err), RL_OK);
}

static void the_float_gradient_is_the_slope(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed < 132; seed++) {
        struct micro *m = micro_new(seed, seed % 2 ? RL_STREAM_IPO : RL_STREAM_DPPO);
        struct microf f;
        double gradient[TOKENS];
        size_t kinks;
        drop_streams(m, (unsigned)seed / 2 % 8);
        run_float(m, &f);
        for (size_t i = 0; i < TOKENS; i++)
            gradient[i] = (double)f.gradient[i];
        double error = gradient_error(value_at, m, m->arrays[TRAINER], TOKENS, gradient, 1e-5, &kinks);
        assert_true(error < 2e-6); /* the gradient's rounding in float */
        assert_true(kinks <= 4);
        free(m);
    }
}

static void float_agrees_with_double(void **state)
{
    (void)state;
    for (uint64_t seed = 200; seed < 216; seed++) {
        struct micro *m = micro_new(seed, RL_STREAM_DPPO);
        struct microf f;
        run(m);
        run_float(m, &f);
        assert_true(fabs(f.result.loss - m->result.loss) < 1e-5 * fmax(1, fabs(m->result.loss)));
        for (size_t i = 0; i < TOKENS; i++)
            assert_true(fabs((double)f.gradient[i] - m->gradient[i]) < 1e-5);
        free(m);
    }
}

/* in_rl, in_ce and in_ref_kl return true if the component reads the token. */
static bool in_rl(const struct micro *m, size_t i)
{
    return m->mask[i] && (!m->streams.rl_weights || m->arrays[RL][i] != 0);
}

static bool in_ce(const struct micro *m, size_t i)
{
    return m->streams.ce_weights && m->arrays[CE][i] != 0;
}

static bool in_ref_kl(const struct micro *m, size_t i)
{
    return m->streams.ref_kl_weights && m->arrays[REF_KL][i] != 0;
}

/* Returns the same micro batch without the tokens that no component reads. */
static struct micro *without_strangers(const struct micro *m, size_t *kept)
{
    struct micro *out = test_alloc(1, sizeof *out);
    size_t n = 0;
    out->options = m->options;
    for (size_t s = 0; s < SEQUENCES; s++) {
        for (size_t i = m->start[s]; i < m->start[s + 1]; i++) {
            if (!in_rl(m, i) && !in_ce(m, i) && !in_ref_kl(m, i))
                continue;
            for (size_t k = 0; k < ARRAYS; k++)
                out->arrays[k][n] = m->arrays[k][i];
            out->mask[n] = m->mask[i];
            kept[n++] = i;
        }
        out->start[s + 1] = n;
    }
    point(out);
    return out;
}

/* Returns true if the sums are equal up to rounding, because tokens may be added in another order. */
static bool same(double a, double b)
{
    return fabs(a - b) <= 1e-13 * fmax(1, fabs(b));
}

static void assert_same_metrics(const struct micro *a, const struct micro *b)
{
    for (size_t s = 0; s < SEQUENCES; s++) {
        const struct rl_stream_metrics *x = &a->metrics[s], *y = &b->metrics[s];
        assert_int_equal(x->rl_ran, y->rl_ran);
        assert_int_equal(x->ce_ran, y->ce_ran);
        assert_int_equal(x->ref_kl_ran, y->ref_kl_ran);
        assert_true(same(x->unmasked_mismatch_kl, y->unmasked_mismatch_kl));
        assert_true(same(x->is_masked, y->is_masked));
        assert_true(same(x->masked_advantage_negative, y->masked_advantage_negative));
        assert_true(same(x->nll, y->nll));
        assert_true(same(x->ref_kl, y->ref_kl));
    }
}

static void weight_0_equals_an_absent_token(void **state)
{
    (void)state;
    for (uint64_t seed = 300; seed < 364; seed++) {
        struct micro *m = micro_new(seed, seed % 2 ? RL_STREAM_IPO : RL_STREAM_DPPO);
        size_t kept[TOKENS];
        drop_streams(m, (unsigned)seed / 2 % 8);
        struct micro *less = without_strangers(m, kept);
        drop_streams(less, (unsigned)seed / 2 % 8);
        run(m);
        run(less);
        assert_true(same(m->result.loss, less->result.loss));
        assert_true(same(m->result.rl, less->result.rl) && same(m->result.ce, less->result.ce));
        assert_same_metrics(m, less);
        size_t n = less->start[SEQUENCES];
        for (size_t k = 0, i = 0; i < TOKENS; i++) {
            bool is_kept = k < n && kept[k] == i;
            assert_true(same(m->gradient[i], is_kept ? less->gradient[k] : 0));
            k += is_kept;
        }
        free(m);
        free(less);
    }
}

static void values_without_weight_are_not_read(void **state)
{
    (void)state;
    for (uint64_t seed = 400; seed < 432; seed++) {
        struct micro *m = micro_new(seed, RL_STREAM_DPPO), *poisoned = micro_new(seed, RL_STREAM_DPPO);
        for (size_t i = 0; i < TOKENS; i++) {
            bool pair = in_rl(m, i) || in_ref_kl(m, i);
            poisoned->arrays[TRAINER][i] = pair || in_ce(m, i) ? m->arrays[TRAINER][i] : NAN;
            poisoned->arrays[INFERENCE][i] = pair ? m->arrays[INFERENCE][i] : INFINITY;
            poisoned->arrays[ADVANTAGES][i] = in_rl(m, i) ? m->arrays[ADVANTAGES][i] : NAN;
            poisoned->arrays[REF][i] = in_ref_kl(m, i) ? m->arrays[REF][i] : -INFINITY;
        }
        run(m);
        run(poisoned);
        assert_true(m->result.loss == poisoned->result.loss);
        assert_memory_equal(m->gradient, poisoned->gradient, sizeof m->gradient);
        assert_same_metrics(m, poisoned);
        free(m);
        free(poisoned);
    }
}

static void a_stream_of_zeros_is_not_declared(void **state)
{
    (void)state;
    struct micro *m = micro_new(7, RL_STREAM_DPPO), *zeros = micro_new(7, RL_STREAM_DPPO);
    drop_streams(m, 2 | 4);
    memset(zeros->arrays[CE], 0, sizeof zeros->arrays[CE]);
    memset(zeros->arrays[REF_KL], 0, sizeof zeros->arrays[REF_KL]);
    zeros->streams.ref = NULL;
    run(m);
    run(zeros);
    assert_true(m->result.loss == zeros->result.loss);
    assert_memory_equal(m->gradient, zeros->gradient, sizeof m->gradient);
    assert_same_metrics(m, zeros);
    free(m);
    free(zeros);
}

static void components_add_up_to_the_loss(void **state)
{
    (void)state;
    for (uint64_t seed = 500; seed < 516; seed++) {
        struct micro *all = micro_new(seed, RL_STREAM_DPPO);
        double gradient[TOKENS] = {0}, loss = 0;
        run(all);
        for (unsigned k = 0; k < 3; k++) {
            struct micro *one = micro_new(seed, RL_STREAM_DPPO);
            drop_streams(one, 7u & ~(1u << k));
            if (k > 0)
                memset(one->mask, 0, sizeof one->mask);
            run(one);
            loss += one->result.loss;
            for (size_t i = 0; i < TOKENS; i++)
                gradient[i] += one->gradient[i];
            free(one);
        }
        assert_true(fabs(loss - all->result.loss) < 1e-12);
        for (size_t i = 0; i < TOKENS; i++)
            assert_true(fabs(gradient[i] - all->gradient[i]) < 1e-12);
        free(all);
    }
}

static void a_batch_without_trainable_tokens_is_allowed(void **state)
{
    (void)state;
    struct micro *m = micro_new(8, RL_STREAM_DPPO);
    struct rl_stream_counts counts = {0};
    for (size_t k = RL; k <= REF_KL; k++)
        memset(m->arrays[k], 0, sizeof m->arrays[k]);
    run(m);
    rl_stream_count(&m->sequences, &m->streams, &counts);
    assert_int_equal(counts.rl + counts.ce + counts.ref_kl, 0);
    assert_true(m->result.loss == 0);
    for (size_t i = 0; i < TOKENS; i++)
        assert_true(m->gradient[i] == 0);
    for (size_t s = 0; s < SEQUENCES; s++)
        assert_false(m->metrics[s].rl_ran || m->metrics[s].ce_ran || m->metrics[s].ref_kl_ran);
    free(m);
}

static void counts_are_the_members(void **state)
{
    (void)state;
    struct micro *m = micro_new(9, RL_STREAM_DPPO);
    struct rl_stream_counts counts = {7, 7, 7}; /* counting sets them, whatever they held */
    uint64_t rl = 0, ce = 0, ref_kl = 0;
    for (size_t i = 0; i < TOKENS; i++) {
        rl += in_rl(m, i);
        ce += in_ce(m, i);
        ref_kl += in_ref_kl(m, i);
    }
    rl_stream_count(&m->sequences, &m->streams, &counts);
    assert_true(counts.rl == rl && counts.ce == ce && counts.ref_kl == ref_kl);
    free(m);
}

static void assert_refused(struct micro *m, enum rl_status status, const char *text)
{
    assert_int_equal(rl_stream_loss(&m->sequences, &m->streams, &m->options, m->gradient, m->metrics, &m->result, &m->err),
                     status);
    assert_non_null(strstr(m->err.text, text));
    free(m);
}

static void missing_arrays_are_refused(void **state)
{
    (void)state;
    struct micro *m = micro_new(10, RL_STREAM_DPPO);
    m->streams.ref = NULL;
    assert_refused(m, RL_EINVAL, "ref_logprobs are missing for ref_kl_weights[");
    m = micro_new(10, RL_STREAM_DPPO);
    m->streams.advantages = NULL;
    assert_refused(m, RL_EINVAL, "advantages are missing for rl_weights[");
    m = micro_new(10, RL_STREAM_DPPO);
    m->streams.inference = NULL;
    assert_refused(m, RL_EINVAL, "inference_logprobs are missing for rl_weights[");
    m = micro_new(10, RL_STREAM_DPPO);
    m->streams.trainer = NULL;
    assert_refused(m, RL_EINVAL, "trainer_logprobs is missing");
}

static void bad_values_are_named(void **state)
{
    (void)state;
    static const char *const names[] = {"trainer_logprobs[1][0]", "inference_logprobs[1][0]", "advantages[1][0]",
                                        "ref_logprobs[1][0]",     "rl_weights[1][0]",         "ce_weights[1][0]",
                                        "ref_kl_weights[1][0]"};
    for (size_t k = 0; k < ARRAYS; k++) {
        struct micro *m = micro_new(11, RL_STREAM_DPPO);
        m->start[1] = 3;
        m->start[2] = 6;
        for (size_t s = 3; s < SEQUENCES; s++)
            m->start[s] = 6;
        m->mask[3] = 1;
        m->arrays[RL][3] = m->arrays[CE][3] = m->arrays[REF_KL][3] = 1;
        m->arrays[k][3] = NAN;
        assert_refused(m, RL_EVALUE, names[k]);
    }
}

static void scales_below_1_are_refused(void **state)
{
    (void)state;
    struct micro *m = micro_new(12, RL_STREAM_DPPO);
    m->options.ce_scale = 0;
    assert_refused(m, RL_EINVAL, "scales");
    m = micro_new(12, RL_STREAM_DPPO);
    m->options.rl_scale = NAN;
    assert_refused(m, RL_EINVAL, "scales");
}

static void assert_same_sums(const struct rl_stream_sums *a, const struct rl_stream_sums *b)
{
    assert_true(same(a->loss, b->loss) && same(a->n, b->n) && same(a->other, b->other));
    assert_true(same(a->out_kl, b->out_kl) && same(a->in_kl, b->in_kl) && same(a->out, b->out));
}

static struct rl_streaming streaming_of(const struct micro *m, double *gradient)
{
    return (struct rl_streaming){
        .batch = {.n_rows = m->sequences.n, .start = m->sequences.start, .mask = m->sequences.loss_mask, .mask_step = 1},
        .streams = &m->streams,
        .options = &m->options,
        .gradient = gradient};
}

static void chunks_agree_with_single_tokens(void **state)
{
    (void)state;
    for (uint64_t seed = 500; seed < 532; seed++) {
        struct micro *m = micro_new(seed, seed % 2 ? RL_STREAM_IPO : RL_STREAM_DPPO);
        double gradient[TOKENS] = {0};
        const struct rl_streaming wide = streaming_of(m, m->gradient);
        const struct rl_streaming narrow = streaming_of(m, gradient);
        m->start[1] = TOKENS;
        m->arrays[CE][seed % 8] = 1e-200; /* any weight other than 0 makes the token a member */
        drop_streams(m, seed % 4 == 0);
        memset(m->gradient, 0, sizeof m->gradient);
        for (int c = RL_COMPONENT_RL; c <= RL_COMPONENT_REF_KL; c++) {
            const struct rl_stretch all = {0, 0, TOKENS};
            struct rl_stream_sums a = {0}, b = {0};
            assert_true(rl_stream_chunk(&wide, (enum rl_component)c, &all, &a));
            assert_int_equal(rl_stream_tokens(&narrow, (enum rl_component)c, &all, &b, &m->err), RL_OK);
            assert_same_sums(&a, &b);
            assert_true(c != RL_COMPONENT_RL || (a.positive == b.positive && a.negative == b.negative));
        }
        for (size_t i = 0; i < TOKENS; i++)
            assert_true(same(m->gradient[i], gradient[i]));
        free(m);
    }
}

static void chunks_with_unusual_values_are_refused(void **state)
{
    (void)state;
    static const double unusual[] = {-41, NAN, INFINITY};
    const struct rl_stretch all = {0, 0, TOKENS};
    for (size_t k = 0; k < sizeof unusual / sizeof *unusual; k++) {
        struct micro *m = micro_new(13, RL_STREAM_DPPO);
        const struct rl_streaming s = streaming_of(m, NULL);
        struct rl_stream_sums sums = {0};
        m->mask[7] = 1;
        m->arrays[RL][7] = 1;
        m->arrays[TRAINER][7] = unusual[k];
        assert_false(rl_stream_chunk(&s, RL_COMPONENT_RL, &all, &sums));
        m->arrays[TRAINER][7] = m->arrays[INFERENCE][7];
        m->options.dppo_mask_low = m->options.dppo_mask_high = 0; /* on the threshold */
        assert_false(rl_stream_chunk(&s, RL_COMPONENT_RL, &all, &sums));
        assert_true(sums.n == 0 && sums.loss == 0);
        free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bounds_are_those_of_the_chosen_kind),
                                       cmocka_unit_test(gradient_is_the_slope),
                                       cmocka_unit_test(the_float_gradient_is_the_slope),
                                       cmocka_unit_test(float_agrees_with_double),
                                       cmocka_unit_test(weight_0_equals_an_absent_token),
                                       cmocka_unit_test(values_without_weight_are_not_read),
                                       cmocka_unit_test(a_stream_of_zeros_is_not_declared),
                                       cmocka_unit_test(components_add_up_to_the_loss),
                                       cmocka_unit_test(a_batch_without_trainable_tokens_is_allowed),
                                       cmocka_unit_test(counts_are_the_members),
                                       cmocka_unit_test(missing_arrays_are_refused),
                                       cmocka_unit_test(bad_values_are_named),
                                       cmocka_unit_test(scales_below_1_are_refused),
                                       cmocka_unit_test(chunks_agree_with_single_tokens),
                                       cmocka_unit_test(chunks_with_unusual_values_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
