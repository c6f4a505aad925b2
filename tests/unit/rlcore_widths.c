/*
 * rlcore_widths.c: the kernels whose loops are compiled for several vector widths give the same bits
 * at each. Those that this processor has are called one after the other: copies of the same sources,
 * compiled for one width only and with its name behind theirs (tests/CMakeLists.txt).
 */
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/compose.h>
#include <rlcore/loss.h>
#include <rlcore/stream_loss.h>

#include "support/random_batch.h"

/* Rows that end within a chunk and within a vector; some log-ratios beyond the limit of 20. */
enum { ROWS = 6, TOKENS = 300, CELLS = ROWS * TOKENS };

typedef enum rl_status policy_loss(const struct rl_batch *, const struct rl_loss_input *,
                                   const struct rl_loss_options *, double *,
                                   struct rl_loss_result *, struct rl_workspace *,
                                   struct rl_error *);
typedef __typeof__(rl_compose_loss) compose_loss;
typedef __typeof__(rl_batch_stream_loss) stream_loss;

enum { PPO, CISPO, SAPO, REINFORCE, GSPO, GEO_MEAN, N_POLICY };

struct width {
    const char *name;
    policy_loss *policy[N_POLICY];
    compose_loss *compose;
    stream_loss *stream;
};

#define WIDTH(suffix)                                                                              \
    {                                                                                              \
        #suffix,                                                                                   \
            {rl_ppo_loss##suffix,       rl_cispo_loss##suffix, rl_sapo_loss##suffix,               \
             rl_reinforce_loss##suffix, rl_gspo_loss##suffix,  rl_geo_mean_loss##suffix},          \
            rl_compose_loss##suffix, rl_batch_stream_loss##suffix                                  \
    }
#define DECLARE(suffix)                                                                            \
    policy_loss rl_ppo_loss##suffix, rl_cispo_loss##suffix, rl_sapo_loss##suffix,                  \
        rl_reinforce_loss##suffix, rl_gspo_loss##suffix, rl_geo_mean_loss##suffix;                 \
    compose_loss rl_compose_loss##suffix;                                                          \
    stream_loss rl_batch_stream_loss##suffix

#ifdef HAVE_WIDTHS
DECLARE(_x86_64);
DECLARE(_x86_64_v3);
DECLARE(_x86_64_v4);
#endif

static const struct width widths[] = {WIDTH(),
#ifdef HAVE_WIDTHS
                                      WIDTH(_x86_64), WIDTH(_x86_64_v3), WIDTH(_x86_64_v4)
#endif
};
enum { N_WIDTHS = sizeof widths / sizeof *widths };

/* The library's own choice and the narrowest always run. */
static bool runs_here(size_t width)
{
#ifdef HAVE_WIDTHS
    __builtin_cpu_init();
    if (width == 2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (width == 3)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    return width <= 1;
}

/* Without the bools before them, behind which a struct has bytes of any value. */
enum { N_METRICS = 11 };

struct results {
    struct rl_loss_result policy[2 * N_POLICY]; /* with weights and without */
    double d_policy[2 * N_POLICY][CELLS];
    struct rl_compose_result compose;
    double d_compose[CELLS], ratio[CELLS];
    uint8_t kept[CELLS];
    struct rl_stream_result stream;
    double metrics[ROWS][N_METRICS];
    double d_stream[CELLS];
};

static void run_policy(const struct width *w, const struct random_batch *r, struct rl_workspace *ws,
                       struct results *out)
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
            status = w->policy[k % N_POLICY](&r->batch, &in, &options, out->d_policy[k],
                                             &out->policy[k], ws, &err);
        while (test_again(ws, status));
        assert_int_equal(status, RL_OK);
    }
}

static void run_compose(const struct width *w, const struct random_batch *r,
                        struct rl_workspace *ws, struct results *out)
{
    const struct rl_compose_input in = {.log_prob = r->log_prob,
                                        .proximal = r->old_log_prob,
                                        .behaviour = r->ref_log_prob,
                                        .sampler = r->rollout_log_prob,
                                        .advantages = r->advantages};
    const struct rl_compose_output to = {
        .mask = out->kept, .d_log_prob = out->d_compose, .ratio = out->ratio};
    struct rl_compose_options options;
    struct rl_error err;
    enum rl_status status;
    rl_compose_options_of(&options, NULL);
    do
        status = w->compose(&r->batch, &in, &options, &to, &out->compose, ws, &err);
    while (test_again(ws, status));
    assert_int_equal(status, RL_OK);
}

static void run_stream(const struct width *w, const struct random_batch *r, struct results *out)
{
    const struct rl_streams in = {.trainer = r->log_prob,
                                  .inference = r->rollout_log_prob,
                                  .advantages = r->advantages};
    struct rl_stream_metrics metrics[ROWS];
    struct rl_stream_options options;
    struct rl_error err;
    rl_stream_options_init(&options);
    assert_int_equal(
        w->stream(&r->batch, &in, &options, out->d_stream, metrics, &out->stream, &err), RL_OK);
    for (size_t row = 0; row < ROWS; row++)
        memcpy(out->metrics[row], &metrics[row].masked_mismatch_kl, sizeof out->metrics[row]);
}

static void run_all(const struct width *w, const struct random_batch *r, struct results *out)
{
    struct rl_workspace ws = {0};
    run_policy(w, r, &ws, out);
    run_compose(w, r, &ws, out);
    run_stream(w, r, out);
    free(ws.data);
}

static void every_width_one_result(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct random_batch *r = random_batch_new(
            seed, (struct random_shape){.rows = ROWS,
                                        .tokens = TOKENS,
                                        .hole_share = 0.1,
                                        .ratio_scale = seed == 4 ? 12 : 0.3});
        struct results *first = test_alloc(1, sizeof *first), *other = test_alloc(1, sizeof *other);
        run_all(&widths[0], r, first);
        for (size_t k = 1; k < N_WIDTHS; k++) {
            if (!runs_here(k))
                continue;
            memset(other, 0, sizeof *other);
            run_all(&widths[k], r, other);
            if (memcmp(first, other, sizeof *first) != 0)
                fail_msg("seed %d: other bits with %s", (int)seed, widths[k].name);
        }
        free(first);
        free(other);
        random_batch_free(r);
    }
    for (size_t k = 1; k < N_WIDTHS; k++)
        printf("%s: %s\n", widths[k].name, runs_here(k) ? "the same bits" : "SKIP: other CPUs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_width_one_result)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
