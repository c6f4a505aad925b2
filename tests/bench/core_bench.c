/*
 * core_bench.c: measures the speed of the hot kernels of the training core at the size of a training batch.
 *
 *     core_bench [--json]
 *
 * A batch has B = 256 rows of T = 2048 tokens in groups of 8, with about 5 turns per row; kernels run on 1 and 2
 * threads. Kernels work in double precision, in float if the name ends in f, and in float with bfloat16 log-probs and
 * advantages. Each kernel runs for a fifth of a second and at least 6 times, and the fastest run is reported.
 * Successive runs use different batches, so the inputs come from memory and not from the cache. core_bench_cached
 * does the same with 16 rows and one batch, which stay in the cache: it measures only the arithmetic.
 *
 * With --json, a kernel whose arithmetic counts also has gflops and gemm_share: its additions, multiplications and divisions, an
 * exp counted as its 31 operations (21 in float), per second, and that over what cblas_dgemm (kernels in float: cblas_sgemm) reaches
 * on one thread, measured here, times the threads. Comparisons and choices by bits are not counted, and nothing is fused, so half of what gemm
 * reaches is the most.
 *
 * It also prints tokens per second and the share of memory bandwidth: the bytes that must move (each input read once,
 * each output written once) divided by the time and by the rate of a copy of long arrays, measured here.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <cblas.h>

#include <rlcore/a2tgpo.h>
#include <rlcore/adca.h>
#include <rlcore/advantage.h>
#include <rlcore/compose.h>
#include <rlcore/diagnostics.h>
#include <rlcore/distill.h>
#include <rlcore/loss.h>
#include <rlcore/offpolicy.h>
#include <rlcore/process.h>
#include <rlcore/stream_loss.h>

#include "support/random_batch.h"

#ifdef CORE_BENCH_CACHED
enum { ROWS = 16, BATCHES = 1 };
#else
enum { ROWS = 256, BATCHES = 6 };
#endif
enum { TOKENS = 2048, GROUP = 8, TURNS = 9, COPY_ARRAYS = 32 * 256 / ROWS };

static const size_t cells = (size_t)ROWS * TOKENS;

/* The inputs of the float kernels; `half` holds the same numbers in bfloat16. */
struct singles {
    float *log_prob, *old_log_prob, *ref_log_prob, *advantages, *weights, *values, *rewards;
    float *out, *out2;
    uint16_t *half[3]; /* log_prob, old_log_prob, advantages */
};

struct bench {
    struct random_batch *data; /* the batch of this run and its outputs */
    double *out, *out2;
    struct rl_loss_options options;
    struct rl_workspace ws;
    double *spare[2]; /* arrays for the copy */
    uint8_t *mask_out;
    struct rl_stream_metrics *stream_metrics;
    size_t *starts; /* where the sequences or steps of the batch begin */
    double *step_values, *step_sums;
    uint8_t *flags;
    struct singles single, all_singles[BATCHES];
    struct random_batch *all_data[BATCHES];
    double *all_out[BATCHES], *all_out2[BATCHES];
};

typedef enum rl_status kernel(struct bench *b, struct rl_error *err);

static struct rl_loss_input input_of(const struct bench *b)
{
    return (struct rl_loss_input){
        .log_prob = b->data->log_prob, .old_log_prob = b->data->old_log_prob, .advantages = b->data->advantages};
}

static enum rl_status copy(struct bench *b, struct rl_error *err)
{
    (void)err;
    size_t n = COPY_ARRAYS * cells;
    double *to = b->spare[0];
    const double *from = b->spare[1];
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
    return RL_OK;
}

typedef enum rl_status policy_loss(const struct rl_batch *, const struct rl_loss_input *, const struct rl_loss_options *,
                                   double *, struct rl_loss_result *, struct rl_workspace *, struct rl_error *);

static enum rl_status run_loss(policy_loss *loss, struct bench *b, struct rl_error *err)
{
    const struct rl_loss_input in = input_of(b);
    struct rl_loss_result result;
    return loss(&b->data->batch, &in, &b->options, b->out, &result, &b->ws, err);
}

static enum rl_status ppo(struct bench *b, struct rl_error *err)
{
    return run_loss(rl_ppo_loss, b, err);
}

static enum rl_status gspo(struct bench *b, struct rl_error *err)
{
    return run_loss(rl_gspo_loss, b, err);
}

static enum rl_status cispo(struct bench *b, struct rl_error *err)
{
    return run_loss(rl_cispo_loss, b, err);
}

static enum rl_status sapo(struct bench *b, struct rl_error *err)
{
    return run_loss(rl_sapo_loss, b, err);
}

static enum rl_status reinforce(struct bench *b, struct rl_error *err)
{
    return run_loss(rl_reinforce_loss, b, err);
}

static enum rl_status geo_mean(struct bench *b, struct rl_error *err)
{
    return run_loss(rl_geo_mean_loss, b, err);
}

static enum rl_status turn_loss(struct bench *b, struct rl_error *err)
{
    const struct rl_loss_input in = input_of(b);
    struct rl_turn_loss_options options;
    struct rl_loss_result result;
    rl_turn_loss_options_init(&options);
    return rl_a2tgpo_turn_loss(&b->data->batch, &in, b->data->weights, &options, b->out, NULL, &result, &b->ws, err);
}

static enum rl_status a2tgpo(struct bench *b, struct rl_error *err)
{
    struct rl_a2tgpo_options options;
    struct rl_a2tgpo_stats stats;
    rl_a2tgpo_options_init(&options);
    return rl_a2tgpo_advantage(&b->data->batch, &options, b->data->turn_rewards, b->out, b->out2, &stats, &b->ws, err);
}

static enum rl_status grpo(struct bench *b, struct rl_error *err)
{
    struct rl_outcome_options options;
    rl_outcome_options_init(&options);
    return rl_outcome_advantage(&b->data->batch, &options, b->data->turn_rewards, b->out, &b->ws, err);
}

static enum rl_status gae(struct bench *b, struct rl_error *err)
{
    return rl_gae(&b->data->batch, 0.99, 0.95, b->data->turn_rewards, b->data->values, b->out, b->out2, &b->ws, err);
}

static enum rl_status reinforce_plus_plus(struct bench *b, struct rl_error *err)
{
    return rl_reinforce_plus_plus(&b->data->batch, 0.99, false, b->data->turn_rewards, b->out, b->out2, &b->ws, err);
}

static enum rl_status token_baseline(struct bench *b, struct rl_error *err)
{
    const struct rl_token_baseline_input in = {
        .rewards = b->data->turn_rewards, .old_log_prob = b->data->old_log_prob, .sum_pi_squared = b->data->weights};
    struct rl_token_baseline_options options;
    rl_token_baseline_options_init(&options);
    options.compact = true;
    return rl_token_baseline(&b->data->batch, &in, &options, b->out, b->out2, &b->ws, err);
}

/* Treats each turn as a step; the flags are random. */
static enum rl_status prm(struct bench *b, struct rl_error *err)
{
    struct rl_adca_options options;
    const struct rl_batch *batch = &b->data->batch;
    const struct rl_adca_input in = {batch->n_rows, batch->n_tokens, batch->group, batch->turn, b->starts, b->flags, b->starts};
    const struct rl_adca_output out = {.step_rewards = b->step_values, .step_advantages = b->step_sums};
    rl_adca_options_init(&options);
    enum rl_status status = rl_adca_step_starts(batch->n_rows, batch->n_tokens, batch->turn, b->starts, err);
    if (status != RL_OK)
        return status;
    return rl_adca_advantage(&in, &options, b->data->turn_rewards, b->out, &out, &b->ws, err);
}

static enum rl_status stream(struct bench *b, const double *rl_weights, struct rl_error *err)
{
    const struct rl_sequences rows = {ROWS, b->starts, b->data->mask};
    const struct rl_streams in = {.trainer = b->data->log_prob,
                                  .inference = b->data->rollout_log_prob,
                                  .advantages = b->data->advantages,
                                  .rl_weights = rl_weights};
    struct rl_stream_options options;
    struct rl_stream_result result;
    rl_stream_options_init(&options);
    for (size_t i = 0; i <= ROWS; i++)
        b->starts[i] = i * TOKENS;
    return rl_stream_loss(&rows, &in, &options, b->out, b->stream_metrics, &result, err);
}

static enum rl_status prime(struct bench *b, struct rl_error *err)
{
    return stream(b, NULL, err);
}

static enum rl_status correction(struct bench *b, struct rl_error *err)
{
    const struct rl_correction_options options = {.is = RL_IS_TOKEN, .is_threshold = 2};
    struct rl_metric items[RL_METRICS_ENOUGH];
    struct rl_metrics metrics = {.items = items, .capacity = RL_METRICS_ENOUGH};
    return rl_rollout_correction(&b->data->batch, &options, b->data->log_prob, b->data->rollout_log_prob, b->out, b->mask_out,
                                 &metrics, &b->ws, err);
}

static enum rl_status metrics(struct bench *b, struct rl_error *err)
{
    struct rl_metric items[RL_METRICS_ENOUGH];
    struct rl_metrics list = {.items = items, .capacity = RL_METRICS_ENOUGH};
    return rl_offpolicy_metrics(&b->data->batch, b->data->log_prob, b->data->rollout_log_prob, &list, err);
}

static enum rl_status diagnose(struct bench *b, struct rl_error *err)
{
    struct rl_diagnostics out;
    return rl_diagnose(&b->data->batch, b->data->log_prob, b->data->rollout_log_prob, 0.2, 0.2, &out, &b->ws, err);
}

static enum rl_status compose(struct bench *b, struct rl_error *err)
{
    const struct rl_compose_input in = {.log_prob = b->data->log_prob,
                                        .proximal = b->data->old_log_prob,
                                        .behaviour = b->data->ref_log_prob,
                                        .sampler = b->data->rollout_log_prob,
                                        .advantages = b->data->advantages};
    const struct rl_compose_output out = {.mask = b->mask_out, .d_log_prob = b->out};
    struct rl_compose_options options;
    struct rl_compose_result result;
    rl_compose_options_of(&options, NULL);
    return rl_compose_loss(&b->data->batch, &in, &options, &out, &result, &b->ws, err);
}

static enum rl_status k3(struct bench *b, struct rl_error *err)
{
    return rl_kl_penalty(RL_KL_K3, false, cells, b->data->log_prob, b->data->ref_log_prob, b->out, b->out2, err);
}

static enum rl_status value(struct bench *b, struct rl_error *err)
{
    struct rl_value_result result;
    return rl_value_loss(&b->data->batch, &b->options.agg, 0.2, b->data->values, b->data->advantages, b->data->ref_log_prob,
                         b->out, &result, &b->ws, err);
}

/* ---- float ---- */

typedef enum rl_status policy_lossf(const struct rl_batch *, const struct rl_loss_inputf *, const struct rl_loss_options *,
                                    float *, struct rl_loss_result *, struct rl_workspace *, struct rl_error *);

static enum rl_status run_lossf(policy_lossf *loss, struct bench *b, struct rl_error *err)
{
    const struct rl_loss_inputf in = {
        .log_prob = b->single.log_prob, .old_log_prob = b->single.old_log_prob, .advantages = b->single.advantages};
    struct rl_loss_result result;
    return loss(&b->data->batch, &in, &b->options, b->single.out, &result, &b->ws, err);
}

static enum rl_status ppof(struct bench *b, struct rl_error *err)
{
    return run_lossf(rl_ppo_lossf, b, err);
}

static enum rl_status gspof(struct bench *b, struct rl_error *err)
{
    return run_lossf(rl_gspo_lossf, b, err);
}

static enum rl_status cispof(struct bench *b, struct rl_error *err)
{
    return run_lossf(rl_cispo_lossf, b, err);
}

static enum rl_status sapof(struct bench *b, struct rl_error *err)
{
    return run_lossf(rl_sapo_lossf, b, err);
}

static enum rl_status reinforcef(struct bench *b, struct rl_error *err)
{
    return run_lossf(rl_reinforce_lossf, b, err);
}

static enum rl_status geo_meanf(struct bench *b, struct rl_error *err)
{
    return run_lossf(rl_geo_mean_lossf, b, err);
}

static enum rl_status ppo_half(struct bench *b, struct rl_error *err)
{
    struct rl_layout layout = {
        .batch = b->data->batch, .size = sizeof layout, .n_tokens = TOKENS, .bf16 = RL_BF16(0) | RL_BF16(1) | RL_BF16(2)};
    const struct rl_loss_inputf in = {.log_prob = (const float *)(const void *)b->single.half[0],
                                      .old_log_prob = (const float *)(const void *)b->single.half[1],
                                      .advantages = (const float *)(const void *)b->single.half[2]};
    struct rl_loss_result result;
    layout.batch.n_tokens = RL_LAYOUT;
    return rl_ppo_lossf(&layout.batch, &in, &b->options, b->single.out, &result, &b->ws, err);
}

static enum rl_status turn_lossf(struct bench *b, struct rl_error *err)
{
    const struct rl_loss_inputf in = {
        .log_prob = b->single.log_prob, .old_log_prob = b->single.old_log_prob, .advantages = b->single.advantages};
    struct rl_turn_loss_options options;
    struct rl_loss_result result;
    rl_turn_loss_options_init(&options);
    return rl_a2tgpo_turn_lossf(&b->data->batch, &in, b->single.weights, &options, b->single.out, NULL, &result, &b->ws, err);
}

static enum rl_status grpof(struct bench *b, struct rl_error *err)
{
    struct rl_outcome_options options;
    rl_outcome_options_init(&options);
    return rl_outcome_advantagef(&b->data->batch, &options, b->single.rewards, b->single.out, &b->ws, err);
}

static enum rl_status gaef(struct bench *b, struct rl_error *err)
{
    return rl_gaef(&b->data->batch, 0.99, 0.95, b->single.rewards, b->single.values, b->single.out, b->single.out2, &b->ws, err);
}

static enum rl_status k3f(struct bench *b, struct rl_error *err)
{
    return rl_kl_penaltyf(RL_KL_K3, false, cells, b->single.log_prob, b->single.ref_log_prob, b->single.out, b->single.out2, err);
}

static enum rl_status valuef(struct bench *b, struct rl_error *err)
{
    struct rl_value_result result;
    return rl_value_lossf(&b->data->batch, &b->options.agg, 0.2, b->single.values, b->single.advantages, b->single.ref_log_prob,
                          b->single.out, &result, &b->ws, err);
}

/* Operations of an exp (support/vexp.h). */
enum { EXP = 31, EXPF = 21 };

/*
 * Bytes per token: mask 1, turn id 4, a double 8, a float 4, a bfloat16 2. `reference` was measured with PyTorch and
 * 2 threads on a similar machine. flops: operations per token, for the losses and penalties; 0: not counted.
 */
static const struct entry {
    const char *name;
    kernel *run;
    double bytes;
    const char *reference;
    double flops;
} entries[] = {
    {"copy", copy, 16 * COPY_ARRAYS, "", 0},
    {"ppo_loss", ppo, 1 + 4 * 8, "0.011-0.017", 8 + EXP},
    {"gspo_loss", gspo, 1 + 4 * 8, "", 7},
    {"cispo_loss", cispo, 1 + 4 * 8, "", 7 + EXP},
    {"sapo_loss", sapo, 1 + 4 * 8, "", 15 + 2 * EXP},
    {"reinforce_loss", reinforce, 1 + 4 * 8, "", 6 + EXP},
    {"geo_mean_loss", geo_mean, 1 + 4 * 8, "", 14},
    {"a2tgpo_turn_loss", turn_loss, 1 + 4 + 5 * 8, "1.15", 12},
    {"a2tgpo_advantage_v1d", a2tgpo, 1 + 4 + 3 * 8, "2.1", 0},
    {"grpo_advantage", grpo, 1 + 2 * 8, "0.002-0.005", 0},
    {"gae_advantage", gae, 1 + 4 * 8, "", 0},
    {"reinforce_plus_plus", reinforce_plus_plus, 1 + 3 * 8, "", 0},
    {"tir_token_baseline", token_baseline, 1 + 5 * 8, "", 0},
    {"prm_advantage", prm, 4 + 2 * 8, "", 0},
    {"prime_loss", prime, 1 + 4 * 8, "", 0},
    {"rollout_correction", correction, 2 + 3 * 8, "", 0},
    {"offpolicy_metrics", metrics, 1 + 2 * 8, "", 0},
    {"diagnose", diagnose, 1 + 2 * 8, "", 0},
    {"compose_loss", compose, 2 + 6 * 8, "", 0},
    {"kl_penalty_k3", k3, 4 * 8, "", 5 + EXP},
    {"value_loss", value, 1 + 4 * 8, "", 11},
    {"ppo_lossf", ppof, 1 + 4 * 4, "", 8 + EXPF},
    {"ppo_lossf_bf16", ppo_half, 1 + 3 * 2 + 4, "", 8 + EXPF},
    {"gspo_lossf", gspof, 1 + 4 * 4, "", 7},
    {"cispo_lossf", cispof, 1 + 4 * 4, "", 7 + EXPF},
    {"sapo_lossf", sapof, 1 + 4 * 4, "", 15 + 2 * EXPF},
    {"reinforce_lossf", reinforcef, 1 + 4 * 4, "", 6 + EXPF},
    {"geo_mean_lossf", geo_meanf, 1 + 4 * 4, "", 14},
    {"a2tgpo_turn_lossf", turn_lossf, 1 + 4 + 5 * 4, "", 12},
    {"grpo_advantagef", grpof, 1 + 2 * 4, "", 0},
    {"gae_advantagef", gaef, 1 + 4 * 4, "", 0},
    {"kl_penalty_k3f", k3f, 4 * 4, "", 5 + EXPF},
    {"value_lossf", valuef, 1 + 4 * 4, "", 11},
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *name, const struct rl_error *err)
{
    fprintf(stderr, "core_bench: %s: %s\n", name, err->text);
    exit(1);
}

static void take_batch(struct bench *b, size_t i)
{
    b->data = b->all_data[i % BATCHES];
    b->out = b->all_out[i % BATCHES];
    b->out2 = b->all_out2[i % BATCHES];
    b->single = b->all_singles[i % BATCHES];
}

static uint16_t *halves_of(const float *values)
{
    uint16_t *out = test_alloc(cells, sizeof *out);
    for (size_t i = 0; i < cells; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        out[i] = (uint16_t)(bits >> 16);
    }
    return out;
}

static struct singles singles_of(const struct random_batch *r)
{
    struct singles s = {.log_prob = floats_of(r->log_prob, cells),
                        .old_log_prob = floats_of(r->old_log_prob, cells),
                        .ref_log_prob = floats_of(r->ref_log_prob, cells),
                        .advantages = floats_of(r->advantages, cells),
                        .weights = floats_of(r->weights, cells),
                        .values = floats_of(r->values, cells),
                        .rewards = floats_of(r->turn_rewards, cells),
                        .out = floats_of(r->values, cells),
                        .out2 = floats_of(r->values, cells)};
    s.half[0] = halves_of(s.log_prob);
    s.half[1] = halves_of(s.old_log_prob);
    s.half[2] = halves_of(s.advantages);
    return s;
}

static void free_singles(const struct singles *s)
{
    void *const all[] = {s->log_prob, s->old_log_prob, s->ref_log_prob, s->advantages, s->weights, s->values,
                         s->rewards,  s->out,          s->out2,         s->half[0],    s->half[1], s->half[2]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void make_batches(struct bench *b)
{
    struct random_shape shape = {.rows = ROWS, .tokens = TOKENS, .group_size = GROUP, .max_turns = TURNS, .hole_share = 0.02};
    for (size_t i = 0; i < BATCHES; i++) {
        b->all_data[i] = random_batch_new(i, shape);
        b->all_out[i] = test_alloc(cells, sizeof *b->out);
        b->all_out2[i] = test_alloc(cells, sizeof *b->out2);
        memset(b->all_out[i], 1, cells * sizeof *b->out);
        memset(b->all_out2[i], 1, cells * sizeof *b->out2);
        b->all_singles[i] = singles_of(b->all_data[i]);
    }
    take_batch(b, 0);
}

static void free_batches(struct bench *b)
{
    for (size_t i = 0; i < BATCHES; i++) {
        random_batch_free(b->all_data[i]);
        free(b->all_out[i]);
        free(b->all_out2[i]);
        free_singles(&b->all_singles[i]);
    }
}

/* Returns the time of the fastest run, in seconds. */
static double best_time(const struct entry *e, struct bench *b)
{
    struct rl_error err = {0};
    double best = 1e9, begin = now();
    enum rl_status status;
    do
        status = e->run(b, &err);
    while (test_again(&b->ws, status));
    for (size_t i = 0; status == RL_OK && (i < BATCHES || now() - begin < 0.2); i++) {
        take_batch(b, i);
        double start = now();
        status = e->run(b, &err);
        double seconds = now() - start;
        best = seconds < best ? seconds : best;
    }
    if (status != RL_OK)
        fail(e->name, &err);
    return best;
}

static void set_threads(int threads)
{
#ifdef _OPENMP
    omp_set_num_threads(threads);
#else
    (void)threads;
#endif
}

/* ---- what the machine can do ---- */

enum { SQUARE = 384, PRODUCTS = 100 };

/* The names of kernels in float end in f, or in f_bf16. */
static bool is_single(const struct entry *e)
{
    size_t n = strlen(e->name);
    return e->name[n - 1] == 'f' || strstr(e->name, "f_bf16");
}

/* The fastest of many products of square matrices on one thread, in operations per second. */
static double gemm_rate(bool single)
{
    double *x = test_alloc(3 * SQUARE * SQUARE, sizeof *x), best = 0;
    float *y = test_alloc(3 * SQUARE * SQUARE, sizeof *y);
    for (size_t i = 0; i < 2 * SQUARE * SQUARE; i++)
        y[i] = (float)(x[i] = (double)(i % 13) - 6);
    openblas_set_num_threads(1);
    for (int run = 0; run < PRODUCTS; run++) {
        double begin = now();
        if (single)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SQUARE, SQUARE, SQUARE, 1, y, SQUARE, y + SQUARE * SQUARE,
                        SQUARE, 0, y + 2 * SQUARE * SQUARE, SQUARE);
        else
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SQUARE, SQUARE, SQUARE, 1, x, SQUARE, x + SQUARE * SQUARE,
                        SQUARE, 0, x + 2 * SQUARE * SQUARE, SQUARE);
        double rate = 2.0 * SQUARE * SQUARE * SQUARE / (now() - begin);
        best = rate > best ? rate : best;
    }
    free(x);
    free(y);
    return best;
}

static void print_row(bool json, bool first, const struct entry *e, int threads, double seconds, double share,
                      const double gemm[2])
{
    double flops = e->flops * (double)cells / seconds;
    double rate = (double)cells / seconds;
    if (json)
        printf("%s{\"kernel\": \"%s\", \"threads\": %d, \"seconds\": %.9f, \"tokens_per_s\": %.0f, "
               "\"bandwidth_share\": %.4f",
               first ? "[" : ",\n ", e->name, threads, seconds, rate, share);
    if (json && e->flops > 0)
        printf(", \"gflops\": %.3f, \"gemm_share\": %.4f", flops * 1e-9, flops / (gemm[is_single(e)] * threads));
    if (json)
        printf("}");
    else
        printf("%-22s %7d %10.6f %12.3e %9.0f%% %12s\n", e->name, threads, seconds, rate, 100 * share, e->reference);
}

static void run_all(struct bench *b, bool json)
{
    double copy_rate = 0;
    const double gemm[2] = {json ? gemm_rate(false) : 1, json ? gemm_rate(true) : 1};
    if (!json)
        printf("%-22s %7s %10s %12s %10s %12s\n", "kernel", "threads", "seconds", "tokens/s", "bandwidth", "PyTorch s");
    for (int threads = 1; threads <= 2; threads++) {
        set_threads(threads);
        for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
            double seconds = best_time(&entries[i], b);
            double rate = entries[i].bytes * (double)cells / seconds;
            copy_rate = entries[i].run == copy ? rate : copy_rate;
            print_row(json, threads == 1 && i == 0, &entries[i], threads, seconds, rate / copy_rate, gemm);
        }
        if (!json)
            printf("copy on %d threads: %.1f GB/s\n", threads, copy_rate * 1e-9);
    }
    if (json)
        printf("]\n");
}

int main(int argc, char **argv)
{
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
    if (argc > 1 && !json) {
        fprintf(stderr, "usage: %s [--json]\n", argv[0]);
        return 2;
    }
    struct bench b = {0};
    rl_loss_options_init(&b.options);
    make_batches(&b);
    b.mask_out = test_alloc(cells, 1);
    b.stream_metrics = test_alloc(ROWS, sizeof *b.stream_metrics);
    b.starts = test_alloc(ROWS + 1, sizeof *b.starts);
    b.step_values = test_alloc(ROWS * TURNS, sizeof *b.step_values);
    b.step_sums = test_alloc(ROWS * TURNS, sizeof *b.step_sums);
    b.flags = test_alloc(ROWS * TURNS, sizeof *b.flags);
    for (size_t i = 0; i < ROWS * TURNS; i++)
        b.flags[i] = i % 3 > 0;
    for (size_t i = 0; i < 2; i++) {
        b.spare[i] = test_alloc(COPY_ARRAYS * cells, sizeof *b.spare[i]);
        memset(b.spare[i], 1, COPY_ARRAYS * cells * sizeof *b.spare[i]);
    }
    run_all(&b, json);
    for (size_t i = 0; i < 2; i++)
        free(b.spare[i]);
    free(b.mask_out);
    free(b.stream_metrics);
    free(b.starts);
    free(b.step_values);
    free(b.step_sums);
    free(b.flags);
    free(b.ws.data);
    free_batches(&b);
    return 0;
}
