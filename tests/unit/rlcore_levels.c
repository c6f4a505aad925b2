/*
 * rlcore_levels.c: tests that the environment or a call can lower the vector level, that a level which the processor
 * lacks is an error, and that kernels compiled for several levels give the same bits at each level.
 */
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/compose.h>
#include <rlcore/level.h>
#include <rlcore/loss.h>
#include <rlcore/stream_loss.h>

#include "support/random_batch.h"

/* Rows of 300 tokens end within a chunk and within a vector. Some log-ratios are beyond the limit of 20. */
enum { ROWS = 6, TOKENS = 300, CELLS = ROWS * TOKENS };

typedef enum rl_status policy_loss(const struct rl_batch *, const struct rl_loss_input *, const struct rl_loss_options *,
                                   double *, struct rl_loss_result *, struct rl_workspace *, struct rl_error *);
enum { PPO, CISPO, SAPO, REINFORCE, GSPO, GEO_MEAN, N_POLICY };

static policy_loss *const policy[N_POLICY] = {rl_ppo_loss,       rl_cispo_loss, rl_sapo_loss,
                                              rl_reinforce_loss, rl_gspo_loss,  rl_geo_mean_loss};

/*
 * The number of metrics to compare. The struct's bools are left out, because padding bytes with arbitrary values
 * follow them.
 */
enum { N_METRICS = 11 };

enum { N_KL = RL_KL_K3 + 1 };

struct results {
    struct rl_loss_result policy[2 * N_POLICY]; /* each loss with and without weights */
    double d_policy[2 * N_POLICY][CELLS];
    struct rl_compose_result compose;
    double d_compose[CELLS], ratio[CELLS];
    uint8_t kept[CELLS];
    struct rl_stream_result stream;
    double metrics[ROWS][N_METRICS];
    double d_stream[CELLS];
    double kl[2 * N_KL][CELLS], d_kl[2 * N_KL][CELLS]; /* each estimator with and without straight-through */
    struct rl_value_result value;
    double d_value[CELLS];
};

static void run_policy(const struct random_batch *r, struct rl_workspace *ws, struct results *out)
{
    struct rl_loss_options options;
    struct rl_error err;
    enum rl_status status;
    rl_loss_options_init(&options);
    for (size_t k = 0; k < 2 * N_POLICY; k++) {
        const struct rl_loss_input in = {.log_prob = r->log_prob,
                                         .old_log_prob = r->old_log_prob,
                                         .advantages = r->advantages,
                                         .weights = k < N_POLICY ? NULL : r->weights};
        do
            status = policy[k % N_POLICY](&r->batch, &in, &options, out->d_policy[k], &out->policy[k], ws, &err);
        while (test_again(ws, status));
        assert_int_equal(status, RL_OK);
    }
}

static void run_compose(const struct random_batch *r, struct rl_workspace *ws, struct results *out)
{
    const struct rl_compose_input in = {.log_prob = r->log_prob,
                                        .proximal = r->old_log_prob,
                                        .behaviour = r->ref_log_prob,
                                        .sampler = r->rollout_log_prob,
                                        .advantages = r->advantages};
    const struct rl_compose_output to = {.mask = out->kept, .d_log_prob = out->d_compose, .ratio = out->ratio};
    struct rl_compose_options options;
    struct rl_error err;
    enum rl_status status;
    rl_compose_options_of(&options, NULL);
    do
        status = rl_compose_loss(&r->batch, &in, &options, &to, &out->compose, ws, &err);
    while (test_again(ws, status));
    assert_int_equal(status, RL_OK);
}

static void run_stream(const struct random_batch *r, struct results *out)
{
    const struct rl_streams in = {.trainer = r->log_prob, .inference = r->rollout_log_prob, .advantages = r->advantages};
    struct rl_stream_metrics metrics[ROWS];
    struct rl_stream_options options;
    struct rl_error err;
    rl_stream_options_init(&options);
    assert_int_equal(rl_batch_stream_loss(&r->batch, &in, &options, out->d_stream, metrics, &out->stream, &err), RL_OK);
    for (size_t row = 0; row < ROWS; row++)
        memcpy(out->metrics[row], &metrics[row].masked_mismatch_kl, sizeof out->metrics[row]);
}

static void run_kl(const struct random_batch *r, struct results *out)
{
    struct rl_error err;
    for (int k = 0; k < 2 * N_KL; k++)
        assert_int_equal(
            rl_kl_penalty((enum rl_kl)(k % N_KL), k >= N_KL, CELLS, r->log_prob, r->ref_log_prob, out->kl[k], out->d_kl[k], &err),
            RL_OK);
}

static void run_value(const struct random_batch *r, struct rl_workspace *ws, struct results *out)
{
    struct rl_loss_options options;
    struct rl_error err;
    enum rl_status status;
    rl_loss_options_init(&options);
    do
        status = rl_value_loss(&r->batch, &options.agg, 0.2, r->log_prob, r->old_log_prob, r->advantages, out->d_value,
                               &out->value, ws, &err);
    while (test_again(ws, status));
    assert_int_equal(status, RL_OK);
}

static void run_all(enum rl_level level, const struct random_batch *r, struct results *out)
{
    struct rl_workspace ws = {0};
    assert_int_equal(rl_level_use(level, NULL), RL_OK);
    assert_int_equal(rl_level(), level);
    run_policy(r, &ws, out);
    run_compose(r, &ws, out);
    run_stream(r, out);
    run_kl(r, out);
    run_value(r, &ws, out);
    free(ws.data);
}

static void every_level_gives_the_same_bits(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct random_batch *r = random_batch_new(
            seed, (struct random_shape){.rows = ROWS, .tokens = TOKENS, .hole_share = 0.1, .ratio_scale = seed == 4 ? 12 : 0.3});
        struct results *first = test_alloc(1, sizeof *first), *other = test_alloc(1, sizeof *other);
        run_all(RL_LEVEL_SSE2, r, first);
        for (int level = RL_LEVEL_SSE2 + 1; level <= (int)rl_level_highest(); level++) {
            memset(other, 0, sizeof *other);
            run_all((enum rl_level)level, r, other);
            if (memcmp(first, other, sizeof *first) != 0)
                fail_msg("seed %d: other bits with %s", (int)seed, rl_level_name((enum rl_level)level));
        }
        free(first);
        free(other);
        random_batch_free(r);
    }
    for (int level = (int)rl_level_highest() + 1; level <= RL_LEVEL_AVX512; level++)
        printf("%s: SKIP: not on this processor or in this build\n", rl_level_name((enum rl_level)level));
}

static void assert_refused(const char *value, const char *text)
{
    struct rl_error err;
    assert_int_equal(setenv("LINEAGE_VECTOR_LEVEL", value, 1), 0);
    assert_int_equal(rl_level_check(&err), RL_EVALUE);
    assert_non_null(strstr(err.text, text));
}

static void a_level_that_is_not_there_is_refused(void **state)
{
    struct rl_error err;
    (void)state;
    assert_refused("AVX2", "'AVX2'; use sse2, avx2 or avx512");
    assert_refused("sse", "'sse'");
    assert_int_equal(setenv("LINEAGE_VECTOR_LEVEL", "", 1), 0);
    assert_int_equal(rl_level_check(&err), RL_OK);
    for (int level = 0; level <= RL_LEVEL_AVX512; level++) {
        const char *name = rl_level_name((enum rl_level)level);
        bool there = level <= (int)rl_level_highest();
        assert_int_equal(setenv("LINEAGE_VECTOR_LEVEL", name, 1), 0);
        assert_int_equal(rl_level_check(&err), there ? RL_OK : RL_EVALUE);
        assert_int_equal(rl_level_use((enum rl_level)level, &err), there ? RL_OK : RL_EVALUE);
        if (!there)
            assert_non_null(strstr(err.text, rl_level_name(rl_level_highest())));
    }
    assert_null(rl_level_name((enum rl_level)3));
    assert_int_equal(rl_level_use((enum rl_level)3, NULL), RL_EVALUE);
}

/* This test must run first, because the first call of the library reads the environment. */
static void the_environment_lowers_the_level(void **state)
{
    (void)state;
    assert_int_equal(setenv("LINEAGE_VECTOR_LEVEL", "sse2", 1), 0);
    assert_int_equal(rl_level(), RL_LEVEL_SSE2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_lowers_the_level),
        cmocka_unit_test(every_level_gives_the_same_bits),
        cmocka_unit_test(a_level_that_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
