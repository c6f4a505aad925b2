/*
 * rlcore_layouts.c: runs every kernel over tokens on one batch in several layouts: padded; with a larger stride;
 * ragged; with masks and turns of 32 and 64 bits; in float with bfloat16 inputs. All layouts must give the bits of
 * the padded batch, and elements between rows must be neither read nor written. Then the same with outputs in the
 * place of inputs, where the headers allow it.
 *
 * This file is compiled in double; rlcore_layoutsf.c compiles it in float.
 */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/compose.h>
#include <rlcore/process.h>
#include <rlcore/stream_loss.h>

#include "support/random_batch.h"
#include "support/real.h"

enum { ROWS = 9, GROUP = 3, GAP = 5, INPUTS = 6, OUTPUTS = 4, SEEDS = 8, NUMBERS = 4096 };

/* One batch in one layout, with all inputs and outputs that a kernel may use. */
struct laid {
    struct rl_layout layout;
    const struct rl_batch *batch;
    const real *in[INPUTS]; /* 0 to 3: log-probs; 4: advantages or values; 5: weights */
    const real *rewards;    /* kernels that read rewards get these as input 0 */
    uint8_t *tool, *event;
    real *out[OUTPUTS];
    uint8_t *mask_out;
    int32_t *turn_out;
    int64_t *group;
    double *scores;
    real *baselines;
    size_t *starts;
    unsigned char numbers[NUMBERS]; /* results that are not arrays */
    struct rl_workspace ws;
};

typedef enum rl_status kernel(struct laid *x, struct rl_error *err);

static enum rl_status keep(struct laid *x, const void *result, size_t size, enum rl_status status)
{
    assert_true(size <= NUMBERS);
    if (status == RL_OK)
        memcpy(x->numbers, result, size);
    return status;
}

static struct rl_loss_input loss_in(const struct laid *x)
{
    return (struct rl_loss_input){
        .log_prob = x->in[0], .old_log_prob = x->in[1], .advantages = x->in[2], .weights = x->in[3], .entropy = x->in[4]};
}

#define LOSS(name, aggregation)                                                                                                  \
    static enum rl_status run_##name(struct laid *x, struct rl_error *err)                                                       \
    {                                                                                                                            \
        const struct rl_loss_input in = loss_in(x);                                                                              \
        struct rl_loss_options options;                                                                                          \
        struct rl_loss_result out;                                                                                               \
        rl_loss_options_init(&options);                                                                                          \
        options.agg.mode = aggregation;                                                                                          \
        options.dro_beta = 0.3;                                                                                                  \
        return keep(x, &out, sizeof out, rl_##name(x->batch, &in, &options, x->out[0], &out, &x->ws, err));                      \
    }
LOSS(ppo_loss, RL_AGG_TOKEN_MEAN)
LOSS(gspo_loss, RL_AGG_TOKEN_MEAN)
LOSS(cispo_loss, RL_AGG_SEQ_MEAN_TOKEN_SUM_NORM)
LOSS(sapo_loss, RL_AGG_SEQ_MEAN_TOKEN_SUM)
LOSS(gpg_loss, RL_AGG_SEQ_MEAN_TOKEN_MEAN)
LOSS(reinforce_loss, RL_AGG_SEQ_MEAN_TOKEN_SUM)
LOSS(geo_mean_loss, RL_AGG_TOKEN_MEAN)
LOSS(dppo_tv_loss, RL_AGG_TOKEN_MEAN)
LOSS(dppo_kl_loss, RL_AGG_TOKEN_MEAN)
LOSS(dro_loss, RL_AGG_TOKEN_MEAN)
LOSS(vespo_loss, RL_AGG_TOKEN_MEAN)

static enum rl_status run_turn_loss(struct laid *x, struct rl_error *err)
{
    struct rl_loss_input in = loss_in(x);
    struct rl_turn_loss_options options;
    struct rl_loss_result out;
    rl_turn_loss_options_init(&options);
    return keep(x, &out, sizeof out,
                rl_a2tgpo_turn_loss(x->batch, &in, x->in[5], &options, x->out[0], x->out[1], &out, &x->ws, err));
}

static enum rl_status run_agg(struct laid *x, struct rl_error *err)
{
    const struct rl_agg agg = {.mode = RL_AGG_SEQ_MEAN_TOKEN_MEAN};
    double out = 0;
    return keep(x, &out, sizeof out, rl_agg_loss(x->batch, &agg, x->in[0], x->out[0], &out, &x->ws, err));
}

static enum rl_status run_value(struct laid *x, struct rl_error *err)
{
    const struct rl_agg agg = {.mode = RL_AGG_TOKEN_MEAN};
    struct rl_value_result out;
    return keep(x, &out, sizeof out,
                rl_value_loss(x->batch, &agg, 0.3, x->in[0], x->in[1], x->in[2], x->out[0], &out, &x->ws, err));
}

static enum rl_status run_kl(struct laid *x, struct rl_error *err)
{
    return rl_token_kl(x->batch, RL_KL_K3, false, x->in[0], x->in[1], x->out[0], x->out[1], err);
}

static enum rl_status run_unbiased_kl(struct laid *x, struct rl_error *err)
{
    return rl_unbiased_kl(x->batch, RL_KL_K3, x->in[0], x->in[1], x->in[2], x->out[0], x->out[1], err);
}

static enum rl_status run_check(struct laid *x, struct rl_error *err)
{
    return rl_batch_check_reals("log_prob", x->in[0], x->batch, err);
}

#define OUTCOME(name, kind)                                                                                                      \
    static enum rl_status run_##name(struct laid *x, struct rl_error *err)                                                       \
    {                                                                                                                            \
        struct rl_outcome_options options;                                                                                       \
        rl_outcome_options_init(&options);                                                                                       \
        options.estimator = kind;                                                                                                \
        return rl_outcome_advantage(x->batch, &options, x->in[0], x->out[0], &x->ws, err);                                       \
    }
OUTCOME(grpo, RL_GRPO)
OUTCOME(opo, RL_OPO)
OUTCOME(baseline, RL_REINFORCE_PLUS_PLUS_BASELINE)

static enum rl_status run_reinforce(struct laid *x, struct rl_error *err)
{
    return rl_reinforce_plus_plus(x->batch, 0.9, false, x->in[0], x->out[0], x->out[1], &x->ws, err);
}

static enum rl_status run_remax(struct laid *x, struct rl_error *err)
{
    struct rl_layout layout = x->layout;
    layout.bf16 &= ~RL_BF16(1); /* baselines [B] */
    return rl_remax(x->batch == &x->layout.batch ? &layout.batch : x->batch, x->in[0], x->baselines, x->out[0], x->out[1], err);
}

static enum rl_status run_gae(struct laid *x, struct rl_error *err)
{
    return rl_gae(x->batch, 0.9, 0.8, x->in[0], x->in[1], x->out[0], x->out[1], &x->ws, err);
}

static enum rl_status run_token_baseline(struct laid *x, bool compact, struct rl_error *err)
{
    const struct rl_token_baseline_input in = {
        .rewards = x->in[0], .old_log_prob = x->in[1], .sum_pi_squared = x->in[5], .weights = NULL};
    struct rl_layout layout = x->layout;
    struct rl_token_baseline_options options;
    /* The sum of squares is the kernel's third array but our input 5, so its bit must move. */
    layout.bf16 = (x->layout.bf16 & 3) | (x->layout.bf16 >> 5 & 1) << 2;
    rl_token_baseline_options_init(&options);
    options.compact = compact;
    return rl_token_baseline(x->batch == &x->layout.batch ? &layout.batch : x->batch, &in, &options, x->out[0], x->out[1], &x->ws,
                             err);
}

static enum rl_status run_otb(struct laid *x, struct rl_error *err)
{
    return run_token_baseline(x, false, err);
}

static enum rl_status run_tir(struct laid *x, struct rl_error *err)
{
    return run_token_baseline(x, true, err);
}

static enum rl_status run_a2tgpo(struct laid *x, struct rl_error *err)
{
    struct rl_a2tgpo_options options;
    struct rl_a2tgpo_stats stats;
    rl_a2tgpo_options_init(&options);
    return keep(x, &stats, sizeof stats,
                rl_a2tgpo_advantage(x->batch, &options, x->in[0], x->out[0], x->out[1], &stats, &x->ws, err));
}

static enum rl_status run_turns(struct laid *x, struct rl_error *err)
{
    double values[ROWS * 8];
    size_t lengths[ROWS * 8], starts[ROWS + 1];
    enum rl_status status = rl_turn_starts(x->batch, starts, err);
    if (status == RL_OK)
        status = rl_turn_rewards(x->batch, starts, x->in[0], values, lengths, err);
    if (status != RL_OK)
        return status;
    memcpy(x->numbers, values, starts[ROWS] * sizeof *values);
    memcpy(x->numbers + sizeof values, lengths, starts[ROWS] * sizeof *lengths);
    return rl_turn_spread(x->batch, starts, values, -7, x->out[0], err);
}

static enum rl_status run_adca(struct laid *x, struct rl_error *err)
{
    uint8_t flags[ROWS * 8];
    double rewards[ROWS * 8], sums[ROWS * 8];
    size_t starts[ROWS + 1];
    const struct rl_adca_input in = {.start = starts, .flags = flags, .flag_start = starts};
    const struct rl_adca_output out = {.step_rewards = rewards, .step_advantages = sums};
    struct rl_adca_options options;
    for (size_t i = 0; i < sizeof flags; i++)
        flags[i] = i % 3 > 0;
    rl_adca_options_init(&options);
    enum rl_status status = rl_adca_batch_starts(x->batch, starts, err);
    if (status == RL_OK)
        status = rl_adca_batch_advantage(x->batch, &in, &options, x->in[0], x->out[0], &out, &x->ws, err);
    if (status == RL_OK)
        memcpy(x->numbers, sums, starts[ROWS] * sizeof *sums);
    return status == RL_OK ? rl_adca_batch_spread(x->batch, starts, rewards, x->out[1], err) : status;
}

static enum rl_status run_process(struct laid *x, struct rl_error *err)
{
    return rl_process_advantage(x->batch, x->event, x->in[0], x->out[0], &x->ws, err);
}

static enum rl_status run_distill(struct laid *x, struct rl_error *err)
{
    const struct rl_distill_options options = {.pass_rate_threshold = 0.7, .horizon = 5, .normalise = true, .kd_coef = 0.5};
    struct rl_distill_result result = {0};
    double pass_rate[ROWS];
    uint8_t eligible[ROWS];
    return keep(x, &result, sizeof result,
                rl_distill(x->batch, &options, x->in[0], x->in[1], x->in[2], x->scores, x->out[0], x->out[1], pass_rate, eligible,
                           &result, &x->ws, err));
}

/* Compares only the values of metrics, because names are padded with arbitrary bytes. */
static void keep_metrics(struct laid *x, const struct rl_metrics *metrics)
{
    assert_true(metrics->n <= metrics->capacity);
    for (size_t i = 0; i < metrics->n && i < NUMBERS / sizeof(double); i++)
        memcpy(x->numbers + i * sizeof(double), &metrics->items[i].value, sizeof(double));
}

static enum rl_status run_metrics(struct laid *x, struct rl_error *err)
{
    struct rl_metric items[RL_METRICS_ENOUGH];
    struct rl_metrics metrics = {.items = items, .capacity = RL_METRICS_ENOUGH};
    enum rl_status status = rl_offpolicy_metrics(x->batch, x->in[0], x->in[1], &metrics, err);
    keep_metrics(x, &metrics);
    return status;
}

static const struct rl_correction_options corrections[] = {
    {.is = RL_IS_TOKEN,
     .is_threshold = 1.5,
     .is_batch_normalize = true,
     .rs = "token_k1,seq_mean_k3",
     .rs_threshold = "0.5_1.9,0.3"},
    {.is = RL_IS_SEQUENCE, .is_threshold = 2, .rs = "seq_max_k2", .rs_threshold = "0.9"}};

static enum rl_status correct(struct laid *x, size_t which, struct rl_error *err)
{
    struct rl_metric items[RL_METRICS_ENOUGH];
    struct rl_metrics metrics = {.items = items, .capacity = RL_METRICS_ENOUGH};
    enum rl_status status =
        rl_rollout_correction(x->batch, &corrections[which], x->in[0], x->in[1], x->out[0], x->mask_out, &metrics, &x->ws, err);
    keep_metrics(x, &metrics);
    return status;
}

static enum rl_status run_correction(struct laid *x, struct rl_error *err)
{
    return correct(x, 0, err);
}

static enum rl_status run_sequence(struct laid *x, struct rl_error *err)
{
    return correct(x, 1, err);
}

static enum rl_status bypass(struct laid *x, enum rl_bypass_kind kind, struct rl_error *err)
{
    struct rl_metric items[RL_METRICS_ENOUGH];
    struct rl_metrics metrics = {.items = items, .capacity = RL_METRICS_ENOUGH};
    struct rl_loss_options options;
    struct rl_loss_result out;
    rl_loss_options_init(&options);
    return keep(x, &out, sizeof out,
                rl_bypass_loss(x->batch, kind, &corrections[0], &options, x->in[0], x->in[1], x->in[2], x->out[0], &out, &metrics,
                               &x->ws, err));
}

static enum rl_status run_bypass(struct laid *x, struct rl_error *err)
{
    return bypass(x, RL_BYPASS_REINFORCE, err);
}

static enum rl_status run_bypass_ppo(struct laid *x, struct rl_error *err)
{
    return bypass(x, RL_BYPASS_PPO_CLIP, err);
}

static enum rl_status run_decoupled(struct laid *x, struct rl_error *err)
{
    struct rl_metric items[RL_METRICS_ENOUGH];
    struct rl_metrics metrics = {.items = items, .capacity = RL_METRICS_ENOUGH};
    struct rl_loss_options options;
    struct rl_loss_result out;
    rl_loss_options_init(&options);
    return keep(x, &out, sizeof out,
                rl_decoupled_loss(x->batch, &corrections[0], &options, x->in[0], x->in[1], x->in[2], x->in[3], x->out[1],
                                  x->mask_out, x->out[0], &out, &metrics, &x->ws, err));
}

static enum rl_status opsm(struct laid *x, enum rl_opsm_unit unit, struct rl_error *err)
{
    const struct rl_opsm_options options = {.unit = unit, .per_token = true, .lower = 0.9, .upper = 1.2, .negative_only = true};
    struct rl_opsm_result result = {0};
    return keep(x, &result, sizeof result,
                rl_opsm(x->batch, &options, x->in[0], x->in[1], x->in[2], x->mask_out, x->out[0], &result, err));
}

static enum rl_status run_opsm(struct laid *x, struct rl_error *err)
{
    return opsm(x, RL_OPSM_ROW, err);
}

static enum rl_status run_opsm_turns(struct laid *x, struct rl_error *err)
{
    return opsm(x, RL_OPSM_TURN, err);
}

static enum rl_status run_diagnose(struct laid *x, struct rl_error *err)
{
    struct rl_diagnostics out;
    return keep(x, &out, sizeof out, rl_diagnose(x->batch, x->in[0], x->in[1], 0.2, 0.2, &out, &x->ws, err));
}

static enum rl_status compose(struct laid *x, bool per_turn, struct rl_error *err)
{
    const struct rl_compose_input in = {.log_prob = x->in[0],
                                        .proximal = x->in[1],
                                        .behaviour = per_turn ? NULL : x->in[2],
                                        .sampler = x->in[3],
                                        .advantages = x->in[4],
                                        .data = {.tool = x->tool}};
    const struct rl_compose_output out = {
        .mask = x->mask_out, .d_log_prob = x->out[0], .backend = x->out[1], .staleness = x->out[2], .ratio = x->out[3]};
    struct rl_compose_options options;
    struct rl_compose_result result;
    memset(&result, 0, sizeof result);
    rl_compose_options_of(&options, NULL);
    options.per_turn = per_turn;
    options.use_opsm = true;
    options.opsm = (struct rl_opsm_options){.unit = per_turn ? RL_OPSM_TURN : RL_OPSM_ROW, .upper = 3};
    return keep(x, &result, sizeof result, rl_compose_loss(x->batch, &in, &options, &out, &result, &x->ws, err));
}

static enum rl_status run_compose(struct laid *x, struct rl_error *err)
{
    return compose(x, false, err);
}

static enum rl_status run_compose_turns(struct laid *x, struct rl_error *err)
{
    return compose(x, true, err);
}

static enum rl_status run_tools(struct laid *x, struct rl_error *err)
{
    return rl_mask_tools(x->batch, x->tool, x->mask_out, x->turn_out, err);
}

/* Routes have several numbers per token. Here they have one, so they are laid out like the other arrays. */
static enum rl_status run_routes(struct laid *x, struct rl_error *err)
{
    uint16_t experts[2][ROWS * 512];
    double per_layer[1];
    struct rl_route_agreement out = {0};
    for (size_t i = 0; i < sizeof experts[0] / sizeof **experts; i++)
        experts[0][i] = experts[1][i] = 3;
    const struct rl_routes a = {.n_layers = 1, .top_k = 1, .n_experts = 4, .experts = experts[0]},
                           b = {.n_layers = 1, .top_k = 1, .n_experts = 4, .experts = experts[1]};
    enum rl_status status = rl_routes_replayed(x->batch, &a, &b, err);
    return status == RL_OK ? keep(x, &out, sizeof out, rl_routes_compare(x->batch, &a, &b, per_layer, NULL, &out, &x->ws, err))
                           : status;
}

static enum rl_status run_stream(struct laid *x, struct rl_error *err)
{
    const struct rl_streams in = {.trainer = x->in[0],
                                  .inference = x->in[1],
                                  .advantages = x->in[2],
                                  .ref = x->in[3],
                                  .rl_weights = NULL,
                                  .ce_weights = x->in[5],
                                  .ref_kl_weights = x->in[5]};
    struct rl_layout layout = x->layout;
    struct rl_stream_options options;
    struct rl_stream_result result;
    struct rl_stream_counts counts = {0};
    layout.bf16 = (x->layout.bf16 & 15) | (x->layout.bf16 >> 5 & 1 ? RL_BF16(5) | RL_BF16(6) : 0);
    const struct rl_batch *batch = x->batch == &x->layout.batch ? &layout.batch : x->batch;
    rl_stream_options_init(&options);
    enum rl_status status = rl_batch_stream_count(batch, &in, &counts, err);
    memcpy(x->numbers + sizeof result, &counts, sizeof counts);
    return status == RL_OK
               ? keep(x, &result, sizeof result, rl_batch_stream_loss(batch, &in, &options, x->out[0], NULL, &result, err))
               : status;
}

static enum rl_status run_whiten(struct laid *x, struct rl_error *err)
{
    for (size_t row = 0; row < ROWS; row++)
        for (size_t t = 0; t < (x->layout.start ? x->starts[row + 1] - x->starts[row] : x->layout.n_tokens); t++) {
            size_t i = (x->layout.start ? x->starts[row] : row * x->layout.stride) + t;
            x->out[0][i] = (real)((i - (x->layout.start ? x->starts[row] : row * x->layout.stride)) * (row + 1) % 17);
        }
    struct rl_layout layout = x->layout;
    layout.bf16 = 0; /* the only array is an output, and outputs are never bfloat16 */
    return rl_whiten(x->batch == &x->layout.batch ? &layout.batch : x->batch, true, x->out[0], &x->ws, err);
}

/*
 * The kernels. Input 0 holds log-probs or, with `rewards`, rewards at the ends of turns. `aliases` lists the inputs
 * whose array each output may overwrite.
 */
static const struct entry {
    const char *name;
    kernel *run;
    bool rewards;
    unsigned aliases[OUTPUTS]; /* bit k: this output may use the array of input k */
} entries[] = {
    {"ppo_loss", run_ppo_loss, .aliases = {31}},
    {"gspo_loss", run_gspo_loss, .aliases = {31}},
    {"cispo_loss", run_cispo_loss, .aliases = {31}},
    {"dppo_tv_loss", run_dppo_tv_loss, .aliases = {31}},
    {"dppo_kl_loss", run_dppo_kl_loss, .aliases = {31}},
    {"dro_loss", run_dro_loss, .aliases = {31}},
    {"vespo_loss", run_vespo_loss, .aliases = {31}},
    {"sapo_loss", run_sapo_loss, .aliases = {31}},
    {"gpg_loss", run_gpg_loss, .aliases = {31}},
    {"reinforce_loss", run_reinforce_loss, .aliases = {31}},
    {"geo_mean_loss", run_geo_mean_loss, .aliases = {31}},
    {"a2tgpo_turn_loss", run_turn_loss, .aliases = {63, 63}},
    {"agg_loss", run_agg, .aliases = {1}},
    {"value_loss", run_value, .aliases = {7}},
    {"token_kl", run_kl, .aliases = {3, 3}},
    {"unbiased_kl", run_unbiased_kl, .aliases = {7, 7}},
    {"check_reals", run_check, .aliases = {0}},
    {"grpo", run_grpo, .rewards = true, .aliases = {1}},
    {"opo", run_opo, .rewards = true, .aliases = {1}},
    {"reinforce_plus_plus_baseline", run_baseline, .rewards = true, .aliases = {1}},
    {"reinforce_plus_plus", run_reinforce, .rewards = true, .aliases = {1, 1}},
    {"remax", run_remax, .rewards = true, .aliases = {1, 1}},
    {"gae", run_gae, .rewards = true, .aliases = {3, 3}},
    {"optimal_token_baseline", run_otb, .rewards = true, .aliases = {3, 3}},
    {"tir_token_baseline", run_tir, .rewards = true, .aliases = {3, 3}},
    {"a2tgpo_advantage", run_a2tgpo, .rewards = true, .aliases = {1, 1}},
    {"turns", run_turns, .rewards = true, .aliases = {0}},
    {"adca", run_adca, .rewards = true, .aliases = {1}},
    {"process", run_process, .rewards = true, .aliases = {1}},
    {"distill", run_distill, .aliases = {4, 3}},
    {"offpolicy_metrics", run_metrics, .aliases = {0}},
    {"rollout_correction", run_correction, .aliases = {0}},
    {"rollout_correction_sequence", run_sequence, .aliases = {0}},
    {"bypass_loss", run_bypass, .aliases = {7}},
    {"bypass_loss_ppo", run_bypass_ppo, .aliases = {7}},
    {"decoupled_loss", run_decoupled, .aliases = {15}},
    {"opsm", run_opsm, .aliases = {3}},
    {"opsm_turns", run_opsm_turns, .aliases = {3}},
    {"diagnose", run_diagnose, .aliases = {0}},
    {"compose", run_compose, .aliases = {31}},
    {"compose_turns", run_compose_turns, .aliases = {31}},
    {"mask_tools", run_tools, .aliases = {0}},
    {"routes", run_routes, .aliases = {0}},
    {"stream_loss", run_stream, .aliases = {0}},
    {"whiten", run_whiten, .aliases = {0}},
};

/* ---- one batch in many layouts ---- */

struct shape {
    size_t tokens, length[ROWS]; /* length: number of tokens of a row without its padding */
};

enum form { PADDED, STRIDED, RAGGED };

static real rounded(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits &= 0xffff0000u;
    memcpy(&f, &bits, sizeof bits);
    return (real)f;
}

static size_t place(const struct laid *x, size_t row, size_t t)
{
    return (x->layout.start ? x->starts[row] : row * x->layout.stride) + t;
}

static size_t room(const struct laid *x)
{
    return place(x, ROWS - 1, x->layout.n_tokens) + GAP;
}

/* Lays out reals, as bfloat16 if `bf16`. Elements between rows are NaN. */
static real *lay_reals(const struct laid *x, const struct shape *s, const double *from, bool bf16)
{
    size_t n = room(x);
    real *out = test_alloc(n, sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i] = NAN;
    uint16_t *half = (uint16_t *)(void *)out;
    for (size_t row = 0; row < ROWS; row++)
        for (size_t t = 0; t < (x->layout.start ? s->length[row] : s->tokens); t++) {
            real value = t < s->length[row] ? rounded(from[row * s->tokens + t]) : 0;
            float single = (float)value;
            uint32_t bits;
            memcpy(&bits, &single, sizeof bits);
            if (bf16)
                half[place(x, row, t)] = (uint16_t)(bits >> 16);
            else
                out[place(x, row, t)] = value;
        }
    return out;
}

static void *lay_integers(const struct laid *x, const struct shape *s, enum rl_integers type, size_t usual, int64_t between,
                          const struct random_batch *r)
{
    size_t n = room(x), width = type == RL_INTEGERS_64 ? 8 : type == RL_INTEGERS_32 ? 4 : usual;
    unsigned char *out = test_alloc(n, width);
    for (size_t i = 0; i < n; i++)
        memset(out + i * width, 7, width);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t t = 0; t < (x->layout.start ? s->length[row] : s->tokens); t++) {
            size_t i = row * s->tokens + t;
            int64_t wide = t >= s->length[row] ? between : usual == 1 ? r->mask[i] : r->turn[i];
            int32_t narrow = (int32_t)wide;
            uint8_t byte = (uint8_t)wide;
            memcpy(out + place(x, row, t) * width,
                   width == 8   ? (void *)&wide
                   : width == 4 ? (void *)&narrow
                                : (void *)&byte,
                   width);
        }
    return out;
}

/* Outputs are filled with this byte pattern, which no kernel writes, to find the elements that were left unchanged. */
static const unsigned char untouched = 0x5a;

static struct laid *lay_out(const struct random_batch *r, const struct shape *s, enum form form, enum rl_integers masks,
                            enum rl_integers turns, uint32_t bf16, bool rewards)
{
    struct laid *x = test_alloc(1, sizeof *x);
    const double *sources[INPUTS] = {rewards ? r->turn_rewards : r->log_prob,
                                     rewards ? r->values : r->old_log_prob,
                                     r->advantages,
                                     r->weights,
                                     r->values,
                                     r->weights};
    x->starts = test_alloc(ROWS + 1, sizeof *x->starts);
    x->starts[0] = 2; /* need not be 0 */
    for (size_t row = 0; row < ROWS; row++)
        x->starts[row + 1] = x->starts[row] + s->length[row];
    x->layout = (struct rl_layout){.size = sizeof x->layout,
                                   .n_tokens = s->tokens,
                                   .stride = form == STRIDED ? s->tokens + GAP : s->tokens,
                                   .start = form == RAGGED ? x->starts : NULL,
                                   .mask_type = masks,
                                   .turn_type = turns,
                                   .bf16 = bf16};
    x->group = test_alloc(ROWS, sizeof *x->group);
    x->scores = test_alloc(ROWS, sizeof *x->scores);
    x->baselines = test_alloc(ROWS, sizeof *x->baselines);
    x->tool = test_alloc(room(x), 1);
    x->event = test_alloc(room(x), 1);
    for (size_t row = 0; row < ROWS; row++) {
        x->group[row] = r->group[row];
        x->scores[row] = (double)(row % 2);
        x->baselines[row] = (real)0.25 * (real)row;
        for (size_t t = 0; t < s->length[row]; t++) {
            double reward = r->turn_rewards[row * s->tokens + t];
            x->tool[place(x, row, t)] = (row + t) % 11 == 0;
            x->event[place(x, row, t)] = reward > 0 ? 2 : reward < 0;
        }
    }
    for (unsigned k = 0; k < INPUTS; k++)
        x->in[k] = lay_reals(x, s, sources[k], bf16 >> k & 1);
    for (size_t k = 0; k < OUTPUTS; k++) {
        x->out[k] = test_alloc(room(x), sizeof(real));
        memset(x->out[k], untouched, room(x) * sizeof(real));
    }
    x->mask_out = test_alloc(room(x), 1);
    memset(x->mask_out, untouched, room(x));
    x->turn_out = test_alloc(room(x), sizeof *x->turn_out);
    memset(x->turn_out, untouched, room(x) * sizeof *x->turn_out);
    x->layout.batch = (struct rl_batch){.n_rows = ROWS,
                                        .n_tokens = RL_LAYOUT,
                                        .mask = lay_integers(x, s, masks, 1, 0, r),
                                        .turn = lay_integers(x, s, turns, 4, -1, r),
                                        .group = x->group};
    x->batch = &x->layout.batch;
    if (form == RAGGED)
        x->layout.stride = 0;
    return x;
}

static void release(struct laid *x)
{
    for (size_t k = 0; k < INPUTS; k++)
        free((void *)(uintptr_t)x->in[k]);
    for (size_t k = 0; k < OUTPUTS; k++)
        free(x->out[k]);
    free((void *)(uintptr_t)x->layout.batch.mask);
    free((void *)(uintptr_t)x->layout.batch.turn);
    free(x->mask_out);
    free(x->turn_out);
    free(x->group);
    free(x->scores);
    free(x->baselines);
    free(x->tool);
    free(x->event);
    free(x->starts);
    free(x->ws.data);
    free(x);
}

static enum rl_status run(const struct entry *e, struct laid *x, struct rl_error *err)
{
    enum rl_status status;
    do
        status = e->run(x, err);
    while (test_again(&x->ws, status));
    return status;
}

static void assert_same(const char *name, const char *what, const void *a, const void *b, size_t n)
{
    if (memcmp(a, b, n) != 0)
        fail_msg("%s: %s differ", name, what);
}

/* Compares the outputs at the tokens of each row. All other elements must still have the marker. */
static void compare(const struct entry *e, const struct shape *s, const struct laid *a, const struct laid *b)
{
    assert_same(e->name, "numbers", a->numbers, b->numbers, NUMBERS);
    for (size_t row = 0; row < ROWS; row++) {
        size_t i = place(a, row, 0), j = place(b, row, 0), n = s->length[row];
        for (size_t k = 0; k < OUTPUTS; k++)
            assert_same(e->name, "outputs", a->out[k] + i, b->out[k] + j, n * sizeof(real));
        assert_same(e->name, "masks", a->mask_out + i, b->mask_out + j, n);
        assert_same(e->name, "turns", a->turn_out + i, b->turn_out + j, n * sizeof(int32_t));
    }
}

static void assert_untouched(const struct entry *e, const struct shape *s, const struct laid *x)
{
    real marker;
    memset(&marker, untouched, sizeof marker);
    unsigned char *inside = test_alloc(room(x), 1);
    for (size_t row = 0; row < ROWS; row++)
        memset(inside + place(x, row, 0), 1, x->layout.start ? s->length[row] : s->tokens);
    for (size_t i = 0; i < room(x); i++)
        for (size_t k = 0; k < OUTPUTS; k++)
            if (!inside[i] && (memcmp(&x->out[k][i], &marker, sizeof marker) != 0 || x->mask_out[i] != untouched))
                fail_msg("%s: output %zu was written between rows", e->name, k);
    free(inside);
}

static struct shape shape_of(const struct random_batch *r, struct test_rng *rng)
{
    struct shape s = {.tokens = r->batch.n_tokens};
    for (size_t row = 0; row < ROWS; row++) {
        size_t n = s.tokens;
        while (n > 0 && !r->mask[row * s.tokens + n - 1])
            n--;
        s.length[row] = n + test_rng_below(rng, s.tokens - n + 1);
    }
    return s;
}

static struct random_batch *batch_of(uint64_t seed)
{
    static const size_t widths[] = {1, 7, 24, 37, 128, 129, 300};
    const struct random_shape shape = {
        .rows = ROWS, .tokens = widths[seed % 7], .group_size = GROUP, .hole_share = 0.1, .empty_share = seed % 3 == 2 ? 0.2 : 0};
    return random_batch_new(seed, shape);
}

/*
 * The padded batch gives the expected result. If the kernel fails there, it must fail in this layout with the same
 * error.
 */
static void try_layout(const struct entry *e, const struct random_batch *r, const struct shape *s, enum form form,
                       enum rl_integers integers, uint32_t bf16)
{
    struct laid *a = lay_out(r, s, PADDED, RL_INTEGERS, RL_INTEGERS, 0, e->rewards);
    struct laid *b = lay_out(r, s, form, integers, integers, bf16, e->rewards);
    struct rl_error first = {0}, second = {0};
    const struct rl_batch plain = {ROWS, s->tokens, a->layout.batch.mask, a->layout.batch.turn, a->group};
    a->batch = &plain;
    enum rl_status status = run(e, a, &first);
    if (run(e, b, &second) != status)
        fail_msg("%s: %d %s, %d %s", e->name, status, first.text, second.status, second.text);
    if (status == RL_OK)
        compare(e, s, a, b);
    assert_untouched(e, s, b);
    release(a);
    release(b);
}

static void every_layout_gives_the_same_bits(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct random_batch *r = batch_of(seed);
        struct test_rng rng = {seed + 77};
        const struct shape s = shape_of(r, &rng);
        for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
            try_layout(&entries[i], r, &s, STRIDED, RL_INTEGERS, 0);
            try_layout(&entries[i], r, &s, RAGGED, RL_INTEGERS, 0);
            try_layout(&entries[i], r, &s, PADDED, RL_INTEGERS_32, 0);
            try_layout(&entries[i], r, &s, RAGGED, RL_INTEGERS_64, 0);
            if (sizeof(real) == sizeof(float)) {
                try_layout(&entries[i], r, &s, RAGGED, RL_INTEGERS_64, 63);
                try_layout(&entries[i], r, &s, STRIDED, RL_INTEGERS, 1 << seed % 6);
            }
        }
        random_batch_free(r);
    }
}

/* ---- outputs in the place of inputs ---- */

static void try_alias(const struct entry *e, const struct random_batch *r, const struct shape *s, size_t output, unsigned input)
{
    struct laid *a = lay_out(r, s, PADDED, RL_INTEGERS, RL_INTEGERS, 0, e->rewards);
    struct laid *b = lay_out(r, s, PADDED, RL_INTEGERS, RL_INTEGERS, 0, e->rewards);
    struct rl_error err = {0};
    real *own = b->out[output];
    enum rl_status status = run(e, a, &err);
    /*
     * b gets the workspace size that the call on a needed. A call that asks for a larger one must not write anything.
     */
    b->ws = (struct rl_workspace){.data = test_alloc(1, a->ws.size + 1), .size = a->ws.size};
    b->out[output] = (real *)(uintptr_t)b->in[input];
    assert_int_equal(run(e, b, &err), status);
    if (status == RL_OK)
        compare(e, s, a, b);
    b->out[output] = own;
    release(a);
    release(b);
}

static void outputs_may_be_inputs_where_the_headers_allow_it(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct random_batch *r = batch_of(seed);
        struct test_rng rng = {seed + 99};
        const struct shape s = shape_of(r, &rng);
        /* A log-ratio beyond the limit takes another path through the kernel. */
        r->log_prob[seed % r->batch.n_tokens] -= 40;
        for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
            for (size_t output = 0; output < OUTPUTS; output++)
                for (unsigned input = 0; input < INPUTS; input++)
                    if (entries[i].aliases[output] >> input & 1)
                        try_alias(&entries[i], r, &s, output, input);
        random_batch_free(r);
    }
}

/* ---- errors ---- */

static void refuse(const struct rl_layout *layout, const char *text)
{
    struct rl_error err = {0};
    assert_int_equal(rl_batch_check(&layout->batch, RL_NEEDS_MASK, &err), RL_EINVAL);
    assert_string_equal(err.text, text);
}

static void impossible_layouts_are_refused(void **state)
{
    (void)state;
    static const uint8_t mask[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const size_t back[] = {0, 5, 3}, longer[] = {0, 5, 8};
    const struct rl_layout good = {
        .batch = {.n_rows = 2, .n_tokens = RL_LAYOUT, .mask = mask}, .size = sizeof good, .n_tokens = 4};
    struct rl_layout bad = good;
    assert_int_equal(rl_batch_check(&good.batch, RL_NEEDS_MASK, NULL), RL_OK);
    bad.size = 40;
    struct rl_error err = {0};
    assert_int_equal(rl_batch_check(&bad.batch, RL_NEEDS_MASK, &err), RL_EINVAL);
    bad = good;
    bad.stride = 3;
    refuse(&bad, "rows of 4 tokens begin only 3 apart");
    bad = good;
    bad.start = back;
    bad.n_tokens = 0;
    refuse(&bad, "start[1] is 5, after the next");
    bad.start = longer;
    bad.n_tokens = 4;
    refuse(&bad, "row 0 has 5 tokens, n_tokens is 4");
    bad.stride = 6;
    refuse(&bad, "give either row starts or a stride, not both");
    bad = good;
    bad.mask_type = (enum rl_integers)9;
    refuse(&bad, "mask_type 9 or turn_type 0 of the layout is unknown");
    bad = good;
    bad.stride = SIZE_MAX / 2 + 2;
    refuse(&bad, "batch of 2 rows x 9223372036854775809 tokens is too large");
}

/* All bytes of a wide mask element are checked: 256 is neither 0 nor 1. */
static void wide_elements_are_checked_whole(void **state)
{
    (void)state;
    int64_t mask[4] = {1, 0, 256, 1}, turn[4] = {0, -1, -1, 1};
    struct rl_layout layout = {
        .batch = {.n_rows = 1, .n_tokens = RL_LAYOUT, .mask = (const uint8_t *)mask, .turn = (const int32_t *)(const void *)turn},
        .size = sizeof layout,
        .n_tokens = 4,
        .mask_type = RL_INTEGERS_64,
        .turn_type = RL_INTEGERS_64};
    struct rl_error err = {0};
    assert_int_equal(rl_batch_check(&layout.batch, RL_NEEDS_MASK, &err), RL_EVALUE);
    assert_string_equal(err.text, "response mask[0][2] is 256, not 0 or 1");
    mask[2] = 0;
    turn[3] = (INT64_C(1) << 32) + 1;
    assert_int_equal(rl_batch_check(&layout.batch, RL_NEEDS_TURNS, &err), RL_EVALUE);
    turn[3] = 1;
    assert_int_equal(rl_batch_check(&layout.batch, RL_NEEDS_TURNS, &err), RL_OK);
}

static void bfloat16_is_for_single_precision(void **state)
{
    (void)state;
    static const uint8_t mask[4] = {1, 1, 1, 1};
    static const real values[4];
    const struct rl_layout layout = {
        .batch = {.n_rows = 1, .n_tokens = RL_LAYOUT, .mask = mask}, .size = sizeof layout, .n_tokens = 4, .bf16 = RL_BF16(0)};
    assert_int_equal(rl_batch_check_reals("x", values, &layout.batch, NULL), sizeof(real) == sizeof(float) ? RL_OK : RL_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_gives_the_same_bits), cmocka_unit_test(outputs_may_be_inputs_where_the_headers_allow_it),
        cmocka_unit_test(impossible_layouts_are_refused),   cmocka_unit_test(wide_elements_are_checked_whole),
        cmocka_unit_test(bfloat16_is_for_single_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
