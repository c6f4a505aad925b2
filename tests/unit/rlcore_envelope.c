/*
 * rlcore_envelope.c: tests the memory table of the article, the shapes from which its KV cache follows, small runs,
 * and bad input.
 */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include <rlcore/envelope.h>

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12 * fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

/* A run of Qwen3-4B with LoRA: 8 sequences of 8192 tokens, and a retriever of 5 GB. */
static struct rl_envelope_run qwen(double n_layers, double kv_width)
{
    struct rl_envelope_run run;
    rl_envelope_lora(&run, 4e9);
    run.n_layers = n_layers;
    run.kv_width = kv_width;
    run.context = 8192;
    run.sequences = 8;
    run.retriever_bytes = 5e9;
    return run;
}

/* The article's parts add up: 8.0 + 12.0 + 9.0 + 0 + 5.0 = 34 of 128 GB. */
static void the_table_of_the_article(void **state)
{
    (void)state;
    const struct rl_envelope_run run = qwen(36, 1024);
    double bytes[RL_ENVELOPE_PARTS];
    struct rl_envelope out;
    assert_int_equal(rl_envelope_measure(&run, bytes, NULL), RL_OK);
    bytes[RL_ENVELOPE_KV_CACHE] = 9.0e9;
    assert_int_equal(rl_envelope_judge(bytes, 128e9, &out, NULL), RL_OK);
    assert_near(bytes[RL_ENVELOPE_WEIGHTS], 8.0e9);
    assert_near(bytes[RL_ENVELOPE_LORA], 12.0e9);
    assert_true(bytes[RL_ENVELOPE_GAIN_FORWARD] == 0 && bytes[RL_ENVELOPE_OPTIMIZER] == 0);
    assert_near(bytes[RL_ENVELOPE_RETRIEVER], 5.0e9);
    assert_near(out.total, 34e9);
    assert_true(out.fits && out.largest == RL_ENVELOPE_LORA);
    assert_string_equal(out.text, "fits: 34.0 of 128.0 GB; the largest part is lora with 12.0 GB");
}

/* The shape in the article's text gives a KV cache of 18.8 GB; the model's real shape gives 9.0 GiB. */
static void the_cache_of_the_article_has_another_shape(void **state)
{
    (void)state;
    const struct rl_envelope_run text = qwen(28, 2560), model = qwen(36, 1024);
    double of_text[RL_ENVELOPE_PARTS], of_model[RL_ENVELOPE_PARTS];
    assert_int_equal(rl_envelope_measure(&text, of_text, NULL), RL_OK);
    assert_int_equal(rl_envelope_measure(&model, of_model, NULL), RL_OK);
    assert_near(of_text[RL_ENVELOPE_KV_CACHE], 18790481920.0);
    assert_near(of_model[RL_ENVELOPE_KV_CACHE], 9.0 * 1024 * 1024 * 1024);
}

static void a_run_that_does_not_fit_names_its_largest_part(void **state)
{
    (void)state;
    struct rl_envelope_run run = qwen(36, 1024);
    double bytes[RL_ENVELOPE_PARTS];
    struct rl_envelope out;
    run.sequences = 128;
    assert_int_equal(rl_envelope_measure(&run, bytes, NULL), RL_OK);
    assert_int_equal(rl_envelope_judge(bytes, 128e9, &out, NULL), RL_OK);
    assert_true(!out.fits && out.largest == RL_ENVELOPE_KV_CACHE);
    assert_string_equal(out.text, "does not fit: 179.6 of 128.0 GB; the largest part is kv_cache "
                                  "with 154.6 GB");
    assert_int_equal(rl_envelope_judge(bytes, out.total, &out, NULL), RL_OK);
    assert_true(out.fits);
}

/* A run with Adam on a CPU keeps four values per parameter, plus the activations. */
static void a_small_run(void **state)
{
    (void)state;
    struct rl_envelope_run run;
    double bytes[RL_ENVELOPE_PARTS];
    struct rl_envelope out;
    rl_envelope_small(&run, 1e6, 3e6);
    assert_int_equal(rl_envelope_measure(&run, bytes, NULL), RL_OK);
    assert_int_equal(rl_envelope_judge(bytes, 18e6, &out, NULL), RL_OK);
    assert_near(out.total, 19e6);
    assert_string_equal(out.text, "does not fit: 19.0 of 18.0 MB; the largest part is optimizer with 8.0 MB");
    run.training = RL_TRAIN_NOTHING;
    assert_int_equal(rl_envelope_measure(&run, bytes, NULL), RL_OK);
    assert_int_equal(rl_envelope_judge(bytes, 18e6, &out, NULL), RL_OK);
    assert_near(out.total, 7e6);
}

static void bad_sizes_are_named(void **state)
{
    (void)state;
    struct rl_envelope_run run = qwen(36, 1024);
    double bytes[RL_ENVELOPE_PARTS] = {1};
    struct rl_envelope out;
    struct rl_error err;
    run.context = -1;
    assert_int_equal(rl_envelope_measure(&run, bytes, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "context"));
    run.context = NAN;
    assert_int_equal(rl_envelope_measure(&run, bytes, &err), RL_EINVAL);
    run.context = run.sequences = 1e200;
    assert_int_equal(rl_envelope_measure(&run, bytes, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "kv_cache"));
    double good[RL_ENVELOPE_PARTS] = {1};
    assert_int_equal(rl_envelope_judge(good, 0, &out, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "capacity"));
    good[RL_ENVELOPE_RETRIEVER] = -5;
    assert_int_equal(rl_envelope_judge(good, 1, &out, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "retriever"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_the_article),
        cmocka_unit_test(the_cache_of_the_article_has_another_shape),
        cmocka_unit_test(a_run_that_does_not_fit_names_its_largest_part),
        cmocka_unit_test(a_small_run),
        cmocka_unit_test(bad_sizes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
