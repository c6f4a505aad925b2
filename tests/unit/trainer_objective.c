/* trainer_objective.c: tests minibatches, each loss against the core, and the gradient of the whole loss. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/a2tgpo.h>
#include <rlcore/loss.h>
#include <rlcore/offpolicy.h>
#include <rlcore/stream_loss.h>

#include "support/error.h"
#include "support/rng.h"
#include "learn/minibatch_loss.h"
#include "recipe/recipe_needs.h"
#include "support/small_recipe.h"

enum { ROWS = 12, WIDTH = 24, PROMPT = 3 };

/* The kind of loss that trains a row. */
enum kind { RL, DISTILLED, IMITATED, ECHOED };

struct given {
    struct trainer_rollouts *r;
    struct minibatch *b;
    struct trainer_task tasks[2]; /* every third row is of the second one, which has another clip range and a limit */
    struct workspace workspace;
    float log_prob[ROWS * WIDTH], entropy[ROWS * WIDTH],
        advantage[ROWS * WIDTH]; /* indexed by the token's place in the rollouts */
};

static float between(struct trainer_rng *rng, double low, double high)
{
    return (float)(low + (high - low) * trainer_rng_uniform(rng));
}

/*
 * Marks a row: a few searches of 2 to 3 tokens, each followed by a tool answer of 2 tokens, then a final answer of 1
 * to 2 tokens.
 */
static int32_t mark_row(struct trainer_rollouts *r, size_t row, struct trainer_rng *rng)
{
    uint8_t *mask = r->mask + row * WIDTH;
    int32_t *turn = r->turn + row * WIDTH, at = PROMPT, searches = trainer_rng_below(rng, 4);
    memset(mask, 0, WIDTH);
    for (int32_t t = 0; t < WIDTH; t++)
        turn[t] = -1;
    for (int32_t k = 0; k <= searches; k++) {
        int32_t n = k < searches ? 2 + trainer_rng_below(rng, 2) : 1 + trainer_rng_below(rng, 2);
        for (int32_t i = 0; i < n; i++, at++) {
            mask[at] = 1;
            turn[at] = k;
        }
        at += k < searches ? 2 : 0;
    }
    return at;
}

static void fill_token(struct given *g, size_t at, enum kind kind, struct trainer_rng *rng)
{
    struct trainer_rollouts *r = g->r;
    float sampled = between(rng, -2.5, -0.2);
    r->tokens[at] = (int32_t)at;
    r->log_prob[at] = sampled;
    r->old[at] = sampled + between(rng, -0.05, 0.05);
    g->log_prob[at] = r->old[at] + between(rng, -0.35, 0.35);
    g->entropy[at] = between(rng, 0.1, 2);
    r->start[at] = g->log_prob[at] + between(rng, -0.5, 0.5);
    r->reference[at] = between(rng, -2.5, -0.2);
    g->advantage[at] = r->advantage[at] = kind == RL || kind == ECHOED ? between(rng, -2, 2) : 0;
    r->clip_scale[at] = between(rng, 0.8, 1.2);
    r->weight[at] = between(rng, 0.3, 2);
    r->behaviour[at] = sampled + (r->old[at] - sampled) / 4;
    r->kept[at] = r->mask[at];
    r->rl[at] = r->mask[at] && (kind == RL || kind == ECHOED);
    r->ref_kl[at] = r->mask[at] && kind == DISTILLED;
    r->ce[at] = r->mask[at] && kind == IMITATED;
    r->kd[at] = 0;
}

static void fill_row(struct given *g, size_t row, enum kind kind, struct trainer_rng *rng)
{
    struct trainer_rollouts *r = g->r;
    r->length[row] = mark_row(r, row, rng);
    for (size_t t = 0; t < WIDTH; t++) {
        fill_token(g, row * WIDTH + t, kind, rng);
        bool told = t >= PROMPT && t < (size_t)r->length[row] && !r->mask[row * WIDTH + t];
        if (kind == ECHOED && told)
            r->ce[row * WIDTH + t] = 0.1f;
    }
}

/* Makes rollouts and their minibatch. kinds [n_kinds] are the kinds of the rows, repeated in turn. */
static struct given *given(const enum kind *kinds, size_t n_kinds)
{
    struct given *g = calloc(1, sizeof *g);
    struct trainer_rng rng = {7};
    g->r = rollouts_new(ROWS, WIDTH);
    g->r->n = ROWS;
    g->b = minibatch_new(ROWS, WIDTH);
    g->b->tasks = g->tasks;
    for (size_t i = 0; i < 2; i++)
        g->tasks[i].algorithm.distill =
            (struct trainer_distill){.clip_low = 0.2, .clip_high = i ? 0.1 : 0.28, .clip_gap = i ? 0.5 : 0};
    for (size_t row = 0; row < ROWS; row++)
        g->r->task[row] = row % 3 == 2;
    for (size_t row = 0; row < ROWS; row++)
        fill_row(g, row, kinds[row % n_kinds], &rng);
    return g;
}

static void release(struct given *g)
{
    workspace_free(&g->workspace);
    trainer_rollouts_free(g->r);
    free(g->b);
    free(g);
}

static const enum kind all_rl[] = {RL};
static const enum kind mixed[] = {RL, DISTILLED, ECHOED, IMITATED, RL};

/* Gathers the rows in another order. Unwanted places, which the learner does not write, are poisoned with NaN. */
static void gather(struct given *g)
{
    size_t order[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        order[i] = i * 5 % ROWS;
    minibatch_gather(g->b, g->r, order, ROWS);
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        g->b->log_prob[i] = g->b->wanted[i] ? g->log_prob[g->b->tokens[i]] : NAN;
        g->b->entropy[i] = g->b->wanted[i] ? g->entropy[g->b->tokens[i]] : NAN;
    }
}

static struct loss_result evaluate(struct given *g, const struct trainer_loss *loss)
{
    struct loss_result result;
    struct trainer_error err;
    gather(g);
    if (minibatch_loss(g->b, loss, &g->workspace, &result, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    return result;
}

static struct trainer_loss loss_of(enum trainer_loss_name name)
{
    struct trainer_recipe recipe;
    trainer_recipe_init(&recipe);
    recipe.loss.name = name;
    recipe.loss.dro.beta = 0.2;
    return recipe.loss;
}

/* ---- minibatches ---- */

static void rows_of_the_rl_component_come_first(void **state)
{
    (void)state;
    struct given *g = given(mixed, 5);
    gather(g);
    assert_int_equal(g->b->n, ROWS);
    assert_int_equal(g->b->n_rl, 7);
    uint64_t seen = 0;
    for (size_t i = 0; i < ROWS; i++) {
        size_t from = (size_t)g->b->tokens[i * WIDTH] / WIDTH;
        enum kind kind = mixed[from % 5];
        seen |= UINT64_C(1) << from;
        assert_int_equal(kind == RL || kind == ECHOED, i < 7);
        assert_int_equal(g->b->length[i], g->r->length[from]);
        assert_int_equal(g->b->first[i], i * WIDTH);
        for (size_t t = 0; t < WIDTH; t++) {
            size_t to = i * WIDTH + t, at = from * WIDTH + t;
            assert_int_equal(g->b->written[to], g->r->mask[at]);
            assert_int_equal(g->b->mask[to], i < 7 && g->r->mask[at]);
            assert_int_equal(g->b->wanted[to], g->r->mask[at] || g->r->ce[at] > 0);
            assert_true(g->b->old[to] == g->r->old[at] && g->b->sampled[to] == g->r->log_prob[at]);
            assert_true(g->b->weight[to] == g->r->weight[at] && g->b->start[to] == g->r->start[at]);
        }
    }
    assert_int_equal(seen, (1 << ROWS) - 1);
    assert_int_equal(g->b->first[ROWS], ROWS * WIDTH);
    release(g);
}

/*
 * Rejection may empty a turn or a row. The remaining turns are then numbered without a gap, and empty rows move to
 * the end.
 */
static void rejected_tokens_leave_the_rl_component(void **state)
{
    (void)state;
    struct given *g = given(all_rl, 1);
    size_t three = 0;
    while (g->r->turn[three * WIDTH + (size_t)g->r->length[three] - 1] != 3)
        three++;
    for (size_t t = 0; t < WIDTH; t++) {
        g->r->kept[((three + 1) % ROWS) * WIDTH + t] = 0;
        g->r->kept[three * WIDTH + t] &= g->r->turn[three * WIDTH + t] != 1;
    }
    gather(g);
    assert_int_equal(g->b->n_rl, ROWS - 1);
    for (size_t i = 0; i < ROWS; i++)
        if ((size_t)g->b->tokens[i * WIDTH] / WIDTH == three)
            for (size_t t = 0; t < WIDTH; t++) {
                int32_t turn = g->r->turn[three * WIDTH + t], now = g->b->turn[i * WIDTH + t];
                assert_int_equal(now, turn <= 0 ? turn : turn == 1 ? -1 : turn - 1);
            }
    const struct rl_batch batch = {g->b->n_rl, WIDTH, g->b->mask, g->b->turn, NULL};
    assert_int_equal(rl_batch_check(&batch, RL_NEEDS_TURNS, NULL), RL_OK);
    const struct trainer_loss loss = loss_of(TRAINER_LOSS_TURN);
    struct loss_result result = evaluate(g, &loss);
    assert_true(isfinite(result.loss));
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        assert_true(g->b->mask[i] || g->b->d_log_prob[i] == 0);
    release(g);
}

/* ---- each loss ---- */

typedef enum rl_status policy_loss_fn(const struct rl_batch *, const struct rl_loss_inputf *, const struct rl_loss_options *,
                                      float *, struct rl_loss_result *, struct rl_workspace *, struct rl_error *);

static const struct {
    enum trainer_loss_name name;
    policy_loss_fn *core;
} policy_losses[] = {
    {TRAINER_LOSS_PPO, rl_ppo_lossf},
    {TRAINER_LOSS_GSPO, rl_gspo_lossf},
    {TRAINER_LOSS_CISPO, rl_cispo_lossf},
    {TRAINER_LOSS_SAPO, rl_sapo_lossf},
    {TRAINER_LOSS_GPG, rl_gpg_lossf},
    {TRAINER_LOSS_GEO_MEAN, rl_geo_mean_lossf},
    {TRAINER_LOSS_REINFORCE, rl_reinforce_lossf},
    {TRAINER_LOSS_DPPO_TV, rl_dppo_tv_lossf},
    {TRAINER_LOSS_DPPO_KL, rl_dppo_kl_lossf},
    {TRAINER_LOSS_DRO, rl_dro_lossf},
    {TRAINER_LOSS_VESPO, rl_vespo_lossf},
    {TRAINER_LOSS_LUSPO, rl_gspo_lossf},
};

static const struct {
    enum trainer_aggregation name;
    enum rl_agg_mode core;
} aggregations[] = {
    {TRAINER_TOKEN_MEAN, RL_AGG_TOKEN_MEAN},
    {TRAINER_SEQ_MEAN_TOKEN_SUM, RL_AGG_SEQ_MEAN_TOKEN_SUM},
    {TRAINER_SEQ_MEAN_TOKEN_MEAN, RL_AGG_SEQ_MEAN_TOKEN_MEAN},
    {TRAINER_SEQ_MEAN_TOKEN_SUM_NORM, RL_AGG_SEQ_MEAN_TOKEN_SUM_NORM},
};

static void assert_gradient(const struct given *g, const float *expected)
{
    double size = 0;
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        double here = g->b->mask[i] ? (double)expected[i] : 0;
        assert_near((double)g->b->d_log_prob[i], here, 1e-7);
        size += fabs(here);
    }
    assert_true(size > 0.1);
}

static void check_policy_loss(struct given *g, size_t i, size_t a)
{
    float expected[ROWS * WIDTH];
    struct trainer_loss loss = loss_of(policy_losses[i].name);
    struct rl_loss_options options;
    struct rl_loss_result out;
    enum rl_status status;
    loss.aggregation = aggregations[a].name;
    loss.clip_low = 0.15;
    loss.clip_high = 0.25;
    loss.clip_c = 1.2;
    loss.dro.beta = 0.3;
    loss.vespo = (struct trainer_vespo){1.5, 2.5, 2, 1.5};
    struct loss_result result = evaluate(g, &loss);
    rl_loss_options_init(&options);
    options.agg.mode = policy_losses[i].name == TRAINER_LOSS_GSPO    ? RL_AGG_SEQ_MEAN_TOKEN_MEAN
                       : policy_losses[i].name == TRAINER_LOSS_LUSPO ? RL_AGG_SEQ_MEAN_TOKEN_SUM
                                                                     : aggregations[a].core;
    options.dro_beta = 0.3;
    options.vespo_k_pos = 1.5;
    options.vespo_lambda_pos = 2.5;
    options.vespo_k_neg = 2;
    options.vespo_lambda_neg = 1.5;
    options.clip_low = 0.15;
    options.clip_high = 0.25;
    options.clip_c = 1.2;
    const struct rl_batch batch = {ROWS, WIDTH, g->b->mask, g->b->turn, NULL};
    const struct rl_loss_inputf in = {.log_prob = g->b->log_prob,
                                      .old_log_prob = g->b->old,
                                      .advantages = g->b->advantage,
                                      .weights = g->b->weight,
                                      .clip_scale = g->b->clip_scaled ? g->b->clip_scale : NULL};
    CORE_CALL(status, &g->workspace, policy_losses[i].core(&batch, &in, &options, expected, &out, &g->workspace.ws, NULL));
    assert_int_equal(status, RL_OK);
    assert_near(result.loss, out.loss, 1e-9);
    assert_near(result.clip_fraction, out.pg_clipfrac, 1e-9);
    assert_gradient(g, expected);
}

static void policy_losses_are_those_of_the_core(void **state)
{
    (void)state;
    struct given *g = given(all_rl, 1);
    for (size_t i = 0; i < sizeof policy_losses / sizeof *policy_losses; i++)
        for (size_t a = 0; a < 4; a++)
            for (int scaled = 0; scaled <= recipe_loss_clips(policy_losses[i].name); scaled++) {
                g->b->clip_scaled = scaled;
                check_policy_loss(g, i, a);
            }
    release(g);
}

/* A loss that turn-group-v1d may be combined with must not train as if all clip scales were 1. */
static void clip_scales_change_every_loss_with_a_clip_range(void **state)
{
    (void)state;
    float plain[ROWS * WIDTH];
    for (enum trainer_loss_name name = 0; name < TRAINER_N_LOSSES; name++)
        for (int own_clip = 0; own_clip < 2 && recipe_loss_clips(name); own_clip++) {
            struct given *g = given(all_rl, 1);
            struct trainer_loss loss = loss_of(name);
            loss.after_tool.own_clip = own_clip && (name == TRAINER_LOSS_PPO || name == TRAINER_LOSS_CISPO);
            evaluate(g, &loss);
            memcpy(plain, g->b->d_log_prob, sizeof plain);
            g->b->clip_scaled = true;
            evaluate(g, &loss);
            if (memcmp(plain, g->b->d_log_prob, sizeof plain) == 0)
                fail_msg("loss %d ignores its clip scales", (int)name);
            release(g);
        }
}

static void the_turn_loss_is_that_of_the_core(void **state)
{
    (void)state;
    float expected[ROWS * WIDTH];
    struct given *g = given(all_rl, 1);
    g->b->clip_scaled = true;
    for (size_t a = 0; a < 4; a++) {
        struct trainer_loss loss = loss_of(TRAINER_LOSS_TURN);
        struct rl_turn_loss_options options;
        struct rl_loss_result out;
        enum rl_status status;
        loss.aggregation = aggregations[a].name;
        loss.clip_low = 0.1;
        loss.clip_high = 0.13;
        struct loss_result result = evaluate(g, &loss);
        rl_turn_loss_options_init(&options);
        options.mode = aggregations[a].core;
        options.clip_low = 0.1;
        options.clip_high = 0.13;
        const struct rl_batch batch = {ROWS, WIDTH, g->b->mask, g->b->turn, NULL};
        const struct rl_loss_inputf in = {
            .log_prob = g->b->log_prob, .old_log_prob = g->b->old, .advantages = g->b->advantage, .weights = g->b->weight};
        CORE_CALL(status, &g->workspace,
                  rl_a2tgpo_turn_lossf(&batch, &in, g->b->clip_scale, &options, expected, NULL, &out, &g->workspace.ws, NULL));
        assert_int_equal(status, RL_OK);
        assert_near(result.loss, out.loss, 1e-9);
        assert_true(result.clip_fraction > 0);
        assert_near(result.clip_fraction, out.pg_clipfrac, 1e-9);
        assert_gradient(g, expected);
    }
    release(g);
}

/*
 * Checks each token of the rl stream against its formula, -[not out] A r W + kl_tau l^2 W, divided by the number of
 * members.
 */
static void check_rl_stream(enum trainer_loss_name name, double low, double high, double kl_tau)
{
    struct given *g = given(all_rl, 1);
    struct trainer_loss loss = loss_of(name);
    bool ipo = name == TRAINER_LOSS_IPO;
    if (kl_tau >= 0) {
        loss.dppo = (struct trainer_dppo){low, high};
        loss.ipo.threshold = high;
        loss.kl_tau = kl_tau;
    } else
        kl_tau = 1e-3; /* the defaults */
    struct loss_result result = evaluate(g, &loss);
    double expected = 0, members = 0;
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        members += g->b->mask[i];
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        if (!g->b->mask[i])
            continue;
        double now = (double)g->b->log_prob[i], then = (double)g->b->sampled[i], a = (double)g->b->advantage[i];
        double l = now - then, moved = exp(now) - exp(then), weight = (double)g->b->weight[i] / members;
        bool out = ipo ? fabs(moved) > high : a > 0 ? moved > high : moved < -low;
        expected += weight * ((out ? 0 : -a * exp(l)) + kl_tau * l * l);
        assert_near((double)g->b->d_log_prob[i], weight * ((out ? 0 : -a * exp(l)) + 2 * kl_tau * l), 1e-6);
    }
    assert_near(result.loss, expected, 1e-6);
    release(g);
}

static void streams_take_the_samplers_log_probs(void **state)
{
    (void)state;
    check_rl_stream(TRAINER_LOSS_DPPO, 0.2, 0.2, -1);
    check_rl_stream(TRAINER_LOSS_IPO, 0, 0.1, -1); /* prime-rl's default, which is not that of dppo */
    check_rl_stream(TRAINER_LOSS_DPPO, 0.01, 0.04, 0.05);
    check_rl_stream(TRAINER_LOSS_IPO, 0, 0.02, 0);
}

/* ---- the whole objective ---- */

/*
 * Returns the loss after moving the log-prob of one token. The reference moves with it, because the loss takes their
 * difference as a constant.
 */
static double moved_loss(struct given *g, const struct trainer_loss *loss, size_t at, float by)
{
    float log_prob = g->log_prob[at], reference = g->r->reference[at];
    g->log_prob[at] += by;
    g->r->reference[at] += g->log_prob[at] - log_prob;
    double value = evaluate(g, loss).loss;
    g->log_prob[at] = log_prob;
    g->r->reference[at] = reference;
    return value;
}

/*
 * Returns the largest error of the gradient as a share of the gradient's largest element. Tokens with a kink within
 * the step are only counted.
 */
static double gradient_error_of(struct given *g, const struct trainer_loss *loss, size_t *kinks)
{
    const float step = 4e-3f;
    float gradient[ROWS * WIDTH] = {0}, most = 0;
    double worst = 0, here = evaluate(g, loss).loss;
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        gradient[g->b->tokens[i]] = g->b->d_log_prob[i];
        most = fmaxf(most, fabsf(g->b->d_log_prob[i]));
    }
    *kinks = 0;
    for (size_t at = 0; at < ROWS * WIDTH; at++) {
        double above = (moved_loss(g, loss, at, step) - here) / (double)step;
        double below = (here - moved_loss(g, loss, at, -step)) / (double)step;
        if (fabs(above - below) > 0.2 * fabs((double)gradient[at]) + 0.01 * (double)most)
            ++*kinks;
        else
            worst = fmax(worst, fabs((above + below) / 2 - (double)gradient[at]) / (double)most);
    }
    return worst;
}

static void check_gradient(enum trainer_loss_name name, double kl_coef)
{
    struct given *g = given(mixed, 5);
    struct trainer_loss loss = loss_of(name);
    size_t kinks;
    loss.kl_coef = kl_coef;
    double error = gradient_error_of(g, &loss, &kinks);
    if (error > 5e-3 || kinks > 12)
        fail_msg("loss %d: error %g, %zu kinks", (int)name, error, kinks);
    release(g);
}

static void the_gradient_is_the_central_difference(void **state)
{
    (void)state;
    const enum trainer_loss_name exact[] = {TRAINER_LOSS_PPO,       TRAINER_LOSS_SAPO,    TRAINER_LOSS_GPG,
                                            TRAINER_LOSS_GEO_MEAN,  TRAINER_LOSS_DPPO,    TRAINER_LOSS_IPO,
                                            TRAINER_LOSS_REINFORCE, TRAINER_LOSS_COMPOSE, TRAINER_LOSS_DRO};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        check_gradient(exact[i], 0);
        check_gradient(exact[i], 0.5);
    }
}

static void check_gradient_with(const struct trainer_loss *loss, const char *what)
{
    struct given *g = given(mixed, 5);
    size_t kinks;
    double error = gradient_error_of(g, loss, &kinks);
    /* a kink that the step only just crosses is not counted, but gives no larger error */
    if (error > 1e-2 || kinks > 12)
        fail_msg("%s: error %g, %zu kinks", what, error, kinks);
    release(g);
}

static void options_have_exact_gradients(void **state)
{
    (void)state;
    struct trainer_loss loss = loss_of(TRAINER_LOSS_PPO);
    loss.after_tool = (struct trainer_after_tool){true, 0.05, 0.1};
    check_gradient_with(&loss, "a range after the tool");
    loss = loss_of(TRAINER_LOSS_PPO);
    loss.opsm = (struct trainer_opsm){TRAINER_OPSM_TURN, true, 0.9, 1.1, false};
    check_gradient_with(&loss, "OPSM");
    loss = loss_of(TRAINER_LOSS_COMPOSE);
    loss.compose = (struct trainer_compose){1.01, 1.01, true};
    check_gradient_with(&loss, "compose, per turn");
    for (enum rl_kl kind = RL_KL_K1; kind <= RL_KL_K3; kind++)
        for (int place = TRAINER_KL_LOSS; place <= TRAINER_KL_WEIGHTED; place++) {
            if (kind == RL_KL_ABS) /* its kink is at 0, within the range of the tokens' log-ratios */
                continue;
            loss = loss_of(TRAINER_LOSS_PPO);
            loss.kl_coef = 1;
            loss.kl_estimator = kind;
            loss.kl_place = (enum trainer_kl_place)place;
            check_gradient_with(&loss, place == TRAINER_KL_LOSS ? "KL" : "KL, weighted");
        }
}

/*
 * The weighted penalty is min(r k, clip(r) k), summed here by hand. A penalty in the reward adds nothing to the loss.
 */
static void a_penalty_may_be_weighted_or_in_the_reward(void **state)
{
    (void)state;
    struct given *g = given(mixed, 5);
    struct trainer_loss loss = loss_of(TRAINER_LOSS_PPO);
    double plain = evaluate(g, &loss).loss, n = 0, sum = 0, capped = 0;
    loss.kl_coef = 0.7;
    loss.kl_place = TRAINER_KL_REWARD;
    assert_true(evaluate(g, &loss).loss == plain);
    loss.kl_place = TRAINER_KL_WEIGHTED;
    double weighted = evaluate(g, &loss).loss;
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        if (!g->b->written[i])
            continue;
        double now = (double)g->log_prob[g->b->tokens[i]], d = (double)g->b->start[i] - now;
        double ratio = exp(now - (double)g->b->old[i]), k = exp(d) - d - 1;
        n++;
        capped += ratio > 1 + loss.clip_high;
        sum += fmin(ratio, 1 + loss.clip_high) * k;
    }
    assert_true(capped > 0 && capped < n);
    assert_near(weighted - plain, 0.7 * sum / n, 1e-6);
    release(g);
}

/* Summed by hand; the ratio is to the sampler, from which the old policy differs here. */
static void the_unbiased_penalty_has_the_ratio_to_the_sampler(void **state)
{
    (void)state;
    struct given *g = given(mixed, 5);
    struct trainer_loss loss = loss_of(TRAINER_LOSS_PPO);
    float before[ROWS * WIDTH];
    double plain = evaluate(g, &loss).loss, n = 0, sum = 0;
    memcpy(before, g->b->d_log_prob, sizeof before);
    loss.kl_coef = 0.7;
    loss.kl_place = TRAINER_KL_UNBIASED;
    double unbiased = evaluate(g, &loss).loss;
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        n += g->b->written[i];
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        if (!g->b->written[i]) {
            assert_true(memcmp(&before[i], &g->b->d_log_prob[i], sizeof *before) == 0);
            continue;
        }
        double now = (double)g->log_prob[g->b->tokens[i]], d = (double)g->b->start[i] - now;
        double ratio = exp(now - (double)g->b->sampled[i]);
        sum += ratio * (exp(d) - d - 1);
        assert_near((double)g->b->d_log_prob[i] - (double)before[i], 0.7 * ratio * -d / n, 1e-6);
    }
    assert_near(unbiased - plain, 0.7 * sum / n, 1e-6);
    release(g);
}

/* A hook or a filter takes rows out of every component; the penalty and the means leave them out, too. */
static void the_penalty_leaves_out_what_is_not_trained(void **state)
{
    (void)state;
    struct given *g = given(mixed, 5);
    struct trainer_loss loss = loss_of(TRAINER_LOSS_PPO);
    double whole[] = {0, 0, 0, 0};
    loss.kl_coef = 0.7;
    for (int dropped = 0; dropped < 3; dropped++) {
        for (size_t i = 0; i < ROWS * WIDTH && dropped; i++)
            if (dropped == 2 || i / WIDTH % 2 == 0)
                g->r->rl[i] = g->r->ce[i] = g->r->ref_kl[i] = 0;
        for (int place = TRAINER_KL_LOSS; place <= TRAINER_KL_UNBIASED; place++) {
            loss.kl_place = (enum trainer_kl_place)place;
            struct loss_result result = evaluate(g, &loss);
            double trained = 0;
            for (size_t i = 0; i < ROWS * WIDTH; i++) {
                size_t at = (size_t)g->b->tokens[i];
                bool is_trained = g->r->mask[at] && (dropped == 0 || (dropped == 1 && at / WIDTH % 2 == 1));
                trained += is_trained;
                assert_true(is_trained || !g->r->mask[at] || fabsf(g->b->d_log_prob[i]) <= 0);
            }
            assert_true(result.n_tokens > (uint64_t)trained || dropped == 0);
            whole[place] = dropped == 0 ? result.loss : whole[place];
            assert_true(dropped < 2 ? dropped == 0 || fabs(result.loss - whole[place]) > 0 : fabs(result.loss) <= 0);
        }
    }
    release(g);
}

/* Tokens of the policy stay, however likely they are, and so do the tool's of a task without this setting. */
static void likely_tokens_of_the_tool_may_be_left_out(void **state)
{
    (void)state;
    struct given *g = given(mixed, 5);
    size_t left = 0, kept = 0;
    g->tasks[0].algorithm.echo_below = 0.3;
    g->tasks[1].algorithm.echo_below = 1;
    gather(g);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        g->entropy[i] = (double)g->b->ce[i] > 0 ? 1 : 0; /* what had a weight */
    minibatch_leave_out_likely(g->b);
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        bool had = g->entropy[i] > 0, likely = exp((double)g->b->log_prob[i]) >= 0.3;
        bool out = had && !g->b->written[i] && likely && g->b->task[i / WIDTH] == 0;
        assert_true((g->b->ce[i] > 0) == (had && !out));
        left += out;
        kept += had && !out && !g->b->written[i];
    }
    assert_true(left > 0 && kept > 0);
    release(g);
}

static void tokens_after_the_tool_have_their_own_range(void **state)
{
    (void)state;
    struct given *g = given(mixed, 5);
    struct trainer_loss loss = loss_of(TRAINER_LOSS_PPO);
    float whole[ROWS * WIDTH];
    struct loss_result plain = evaluate(g, &loss);
    memcpy(whole, g->b->d_log_prob, sizeof whole);
    assert_true(plain.offpolicy.after_tool == 0);
    loss.after_tool = (struct trainer_after_tool){true, loss.clip_low, loss.clip_high};
    struct loss_result same = evaluate(g, &loss);
    assert_near(same.loss, plain.loss, 1e-6);
    assert_near(same.clip_fraction, plain.clip_fraction, 1e-6);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        assert_near((double)whole[i], (double)g->b->d_log_prob[i], 1e-7);
    double told = 0, all = 0;
    for (size_t i = 0; i < g->b->n_rl * WIDTH; i++) {
        all += g->b->mask[i];
        told += g->b->mask[i] && g->b->turn[i] > 0;
    }
    assert_near(same.offpolicy.after_tool, told / all, 1e-12);
    loss.after_tool.clip_low = loss.after_tool.clip_high = 0.01;
    struct loss_result narrow = evaluate(g, &loss);
    assert_true(narrow.offpolicy.after_tool_clip_fraction > same.offpolicy.after_tool_clip_fraction + 0.1);
    for (size_t i = 0; i < g->b->n_rl * WIDTH; i++) /* the gradient at tokens before the tool's answer is unchanged */
        if (g->b->mask[i] && g->b->turn[i] == 0)
            assert_near((double)whole[i], (double)g->b->d_log_prob[i], 1e-7);
    release(g);
}

static double dropped(enum trainer_opsm_unit unit, bool negative_only, double low, double high)
{
    struct given *g = given(mixed, 5);
    struct trainer_loss loss = loss_of(TRAINER_LOSS_PPO);
    float whole[ROWS * WIDTH];
    double gone = 0, all = 0;
    (void)evaluate(g, &loss);
    memcpy(whole, g->b->d_log_prob, sizeof whole);
    for (size_t i = 0; i < g->b->n_rl * WIDTH; i++)
        all += g->b->mask[i];
    loss.opsm = (struct trainer_opsm){unit, true, low, high, negative_only};
    double share = evaluate(g, &loss).offpolicy.opsm_dropped;
    for (size_t i = 0; i < g->b->n_rl * WIDTH; i++) {
        gone += g->b->written[i] && !g->b->mask[i];
        if (!g->b->mask[i] && !(g->b->ce[i] > 0) && !(g->b->ref_kl[i] > 0))
            assert_true(g->b->d_log_prob[i] == 0);
    }
    assert_near(share, gone / all, 1e-12);
    if (!(gone > 0))
        assert_memory_equal(whole, g->b->d_log_prob, sizeof whole);
    release(g);
    return share;
}

static void opsm_drops_what_leaves_its_bounds(void **state)
{
    (void)state;
    double rows = dropped(TRAINER_OPSM_ROLLOUT, false, 0.95, 1.05);
    double turns = dropped(TRAINER_OPSM_TURN, false, 0.95, 1.05);
    double negative = dropped(TRAINER_OPSM_TURN, true, 0.95, 1.05);
    assert_true(rows > 0 && rows < 1 && turns > 0 && turns < 1 && turns != rows);
    assert_true(negative > 0 && negative < turns);
    assert_true(dropped(TRAINER_OPSM_ROLLOUT, false, 0, 1e9) == 0);
    assert_true(dropped(TRAINER_OPSM_ROLLOUT, false, 1e8, 1e9) == 1); /* all are dropped */
}

/* If all four policies are the same, the loss is PPO's. Otherwise each reported factor is the mean of its own part. */
static void composing_keeps_the_factors_apart(void **state)
{
    (void)state;
    struct given *g = given(mixed, 5);
    struct trainer_loss loss = loss_of(TRAINER_LOSS_COMPOSE);
    struct loss_result apart = evaluate(g, &loss);
    double n = 0, backend = 0, staleness = 0;
    for (size_t i = 0; i < g->b->n_rl * WIDTH; i++)
        if (g->b->mask[i]) {
            n++;
            backend += exp((double)g->b->behaviour[i] - (double)g->b->sampled[i]);
            staleness += exp((double)g->b->old[i] - (double)g->b->behaviour[i]);
        }
    assert_near(apart.offpolicy.backend, backend / n, 1e-5);
    assert_near(apart.offpolicy.staleness, staleness / n, 1e-5);
    assert_true(apart.offpolicy.compose_ess > 0.5 && apart.offpolicy.compose_ess < 1);
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        g->r->behaviour[i] = g->r->old[i] = g->r->log_prob[i];
        g->r->weight[i] = 1;
    }
    double composed = evaluate(g, &loss).loss;
    loss.name = TRAINER_LOSS_PPO;
    assert_near(composed, evaluate(g, &loss).loss, 1e-7);
    release(g);
}

/* For every loss, the penalty adds k3 to the start policy over all tokens of the policy. */
/* The correction is computed from the current policy in every update, so no weight and no rejection of the rows is used. */
static void bypassing_is_the_cores_loss(void **state)
{
    (void)state;
    static const enum trainer_loss_name names[] = {TRAINER_LOSS_PPO, TRAINER_LOSS_REINFORCE};
    static const enum rl_bypass_kind kinds[] = {RL_BYPASS_PPO_CLIP, RL_BYPASS_REINFORCE};
    static float expected[ROWS * WIDTH], plain[ROWS * WIDTH];
    for (size_t k = 0; k < 2; k++)
        for (int sequence = 0; sequence < 2; sequence++) {
            struct given *g = given(all_rl, 1);
            struct trainer_loss loss = loss_of(names[k]);
            struct trainer_correction correction = {
                .sequence_level = sequence, .cap = 1.1, .reject = "token_k1", .reject_threshold = "0.8_1.25"};
            evaluate(g, &loss);
            memcpy(plain, g->b->d_log_prob, sizeof plain);
            g->b->bypass = &correction;
            struct loss_result result = evaluate(g, &loss);
            const struct rl_correction_options options = {
                .is = sequence ? RL_IS_SEQUENCE : RL_IS_TOKEN, .is_threshold = 1.1, .rs = "token_k1", .rs_threshold = "0.8_1.25"};
            const struct rl_batch batch = {ROWS, WIDTH, g->b->mask, g->b->turn, NULL};
            struct rl_metric items[RL_METRICS_ENOUGH];
            struct rl_metrics metrics = {items, 0, RL_METRICS_ENOUGH};
            struct rl_loss_options clip;
            struct rl_loss_result out;
            enum rl_status status;
            rl_loss_options_init(&clip);
            clip.clip_low = loss.clip_low;
            clip.clip_high = loss.clip_high;
            CORE_CALL(status, &g->workspace,
                      rl_bypass_lossf(&batch, kinds[k], &options, &clip, g->b->log_prob, g->b->sampled, g->b->advantage, expected,
                                      &out, &metrics, &g->workspace.ws, NULL));
            assert_int_equal(status, RL_OK);
            assert_near(result.loss, out.loss, 1e-9);
            assert_gradient(g, expected);
            assert_memory_not_equal(plain, g->b->d_log_prob, sizeof plain);
            release(g);
        }
}

/* verl's k1+, k3+ and abs+: the value of the estimator, and the gradient of k2. */
static void a_straight_through_penalty_has_the_gradient_of_k2(void **state)
{
    (void)state;
    static float k2[ROWS * WIDTH];
    struct given *g = given(all_rl, 1);
    struct trainer_loss loss = loss_of(TRAINER_LOSS_PPO);
    loss.kl_coef = 0.4;
    loss.kl_estimator = RL_KL_K2;
    evaluate(g, &loss);
    memcpy(k2, g->b->d_log_prob, sizeof k2);
    loss.kl_estimator = RL_KL_K3;
    double plain = evaluate(g, &loss).loss;
    assert_memory_not_equal(k2, g->b->d_log_prob, sizeof k2);
    loss.kl_straight_through = true;
    assert_near(evaluate(g, &loss).loss, plain, 1e-12);
    assert_gradient(g, k2);
    release(g);
}

static void the_penalty_is_added_to_every_loss(void **state)
{
    (void)state;
    float without[ROWS * WIDTH];
    for (enum trainer_loss_name name = 0; name < TRAINER_N_LOSSES; name++) {
        struct given *g = given(mixed, 5);
        struct trainer_loss loss = loss_of(name);
        double plain = evaluate(g, &loss).loss, n = 0, k3 = 0;
        memcpy(without, g->b->d_log_prob, sizeof without);
        loss.kl_coef = 0.7;
        double penalised = evaluate(g, &loss).loss;
        for (size_t i = 0; i < ROWS * WIDTH; i++)
            n += g->b->written[i];
        for (size_t i = 0; i < ROWS * WIDTH; i++) {
            double d = (double)(g->b->start[i] - g->log_prob[g->b->tokens[i]]);
            double slope = g->b->written[i] ? 0.7 * (1 - exp(d)) / n : 0;
            k3 += g->b->written[i] ? (exp(d) - d - 1) / n : 0;
            assert_near((double)(g->b->d_log_prob[i] - without[i]), slope, 1e-6);
        }
        assert_near(penalised - plain, 0.7 * k3, 1e-6);
        release(g);
    }
}

/*
 * The loss adds half of the weighted squared distance at taught tokens. Beyond the edge of the task's own clip range, which
 * is not that of the policy loss, this term has no gradient. A distance counts up to the task's limit.
 */
static void a_teachers_square_distance_is_added(void **state)
{
    (void)state;
    float without[ROWS * WIDTH];
    struct given *g = given(all_rl, 1);
    struct trainer_loss loss = loss_of(TRAINER_LOSS_PPO);
    double plain = evaluate(g, &loss).loss, n = 0, square = 0, edges = 0, limited = 0;
    memcpy(without, g->b->d_log_prob, sizeof without);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        g->r->kd[i] = g->r->mask[i] && i % 3 ? (i % 2 ? 0.5f : 2) : 0;
    struct loss_result result = evaluate(g, &loss);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        n += g->b->kd[i] > 0;
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        double gap = (double)g->b->log_prob[i] - (double)g->b->reference[i];
        double ratio = exp((double)g->b->log_prob[i] - (double)g->b->old[i]);
        bool second = g->b->row[i / WIDTH] % 3 == 2;
        bool edge = gap < 0 ? ratio > (second ? 1.1 : 1.28) : ratio < 0.8;
        limited += second && g->b->kd[i] > 0 && fabs(gap) > 0.5;
        gap = second ? fmax(-0.5, fmin(0.5, gap)) : gap;
        if (!(g->b->kd[i] > 0)) {
            assert_true(g->b->d_log_prob[i] == without[i]);
            continue;
        }
        square += (double)g->b->kd[i] * gap * gap / 2 / n;
        edges += edge / n;
        assert_near((double)g->b->d_log_prob[i] - (double)without[i], edge ? 0 : (double)g->b->kd[i] * gap / n, 1e-6);
    }
    assert_true(edges > 0.05 && edges < 0.6);
    assert_true(limited > 3);
    assert_near(result.distilled, square, 1e-9);
    assert_near(result.distill_clipped, edges, 1e-9);
    assert_near(result.loss - plain, square, 1e-9);
    release(g);
}

/* Sums over rows of means over a row's tokens, as prime-rl's telemetry averages. */
static void check_streams(const struct given *g, const struct trainer_streams *streams)
{
    const struct minibatch *b = g->b;
    struct trainer_streams sums = {0};
    for (size_t row = 0; row < ROWS; row++) {
        double ce = 0, ref = 0, out = 0, nll = 0, distance = 0, masked = 0, unmasked = 0;
        for (size_t i = row * WIDTH; i < (row + 1) * WIDTH; i++) {
            double now = (double)b->log_prob[i], l = now - (double)b->sampled[i], mismatch = exp(l) - l - 1;
            if (b->ce[i] > 0) {
                ce++;
                nll -= now;
            }
            if (!(b->ref_kl[i] > 0))
                continue;
            bool is_out = exp(now) - exp((double)b->sampled[i]) < -0.2;
            ref++;
            out += is_out;
            distance += (double)b->reference[i] - now;
            *(is_out ? &masked : &unmasked) += mismatch;
        }
        sums.n_ce += ce > 0;
        sums.n_ref_kl += ref > 0;
        sums.nll += nll / fmax(1, ce);
        sums.ref_kl += distance / fmax(1, ref);
        sums.ref_is_masked += out / fmax(1, ref);
        sums.ref_masked_mismatch_kl += masked / fmax(1, out);
        sums.ref_unmasked_mismatch_kl += unmasked / fmax(1, ref - out);
    }
    assert_true(sums.n_ce > 1 && sums.n_ref_kl > 1 && sums.ref_is_masked > 0);
    const double *is = &streams->n_rl, *must_be = &sums.n_rl;
    for (size_t i = 0; i < sizeof sums / sizeof *is; i++)
        assert_near(is[i], must_be[i], 1e-6);
}

/* Distilled rows change only the order of the other rows, and vice versa. */
static void components_are_independent(void **state)
{
    (void)state;
    struct given *g = given(mixed, 5);
    const struct trainer_loss loss = loss_of(TRAINER_LOSS_PPO);
    for (size_t i = 0; i < ROWS * WIDTH; i += 3)
        if (g->r->ref_kl[i] > 0) { /* outside the trust region */
            g->r->log_prob[i] = -0.2f;
            g->log_prob[i] = -0.7f;
        }
    const struct loss_result result = evaluate(g, &loss);
    double whole = result.loss, imitated = 0, distilled = 0, ce = 0, ref_kl = 0;
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        if (!g->b->wanted[i])
            continue;
        double now = (double)g->b->log_prob[i], then = (double)g->b->sampled[i];
        double k = (double)g->b->reference[i] - now, l = now - then;
        bool out = exp(now) - exp(then) < -0.2;
        ce += g->b->ce[i] > 0;
        ref_kl += g->b->ref_kl[i] > 0;
        imitated -= (double)g->b->ce[i] * now;
        distilled += (double)g->b->ref_kl[i] * ((out ? 0 : -k * exp(l)) + 1e-3 * l * l);
    }
    check_streams(g, &result.streams);
    memset(g->r->ce, 0, ROWS * WIDTH * sizeof *g->r->ce);
    memset(g->r->ref_kl, 0, ROWS * WIDTH * sizeof *g->r->ref_kl);
    double rl = evaluate(g, &loss).loss;
    assert_true(ce > 0 && ref_kl > 0);
    assert_near(whole, rl + imitated / ce + distilled / ref_kl, 1e-6);
    release(g);
}

static void statistics_are_over_the_policys_tokens(void **state)
{
    (void)state;
    struct given *g = given(mixed, 5);
    const struct trainer_loss loss = loss_of(TRAINER_LOSS_PPO);
    struct loss_result result = evaluate(g, &loss);
    double n = 0, entropy = 0, kl = 0;
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        if (g->r->mask[i]) {
            n++;
            entropy += (double)g->entropy[i];
            kl += (double)(g->r->old[i] - g->log_prob[i]);
        }
    assert_int_equal(result.n_tokens, (uint64_t)n);
    assert_near(result.entropy, entropy / n, 1e-6);
    assert_near(result.kl, kl / n, 1e-6);
    release(g);
}

static void nothing_to_train_gives_loss_zero(void **state)
{
    (void)state;
    struct given *g = given(all_rl, 1);
    for (enum trainer_loss_name name = 0; name < TRAINER_N_LOSSES; name++) {
        const struct trainer_loss loss = loss_of(name);
        memset(g->r->kept, 0, ROWS * WIDTH);
        struct loss_result result = evaluate(g, &loss);
        assert_true(result.loss == 0);
        for (size_t i = 0; i < ROWS * WIDTH; i++)
            assert_true(g->b->d_log_prob[i] == 0);
    }
    release(g);
}

static void bad_log_probs_are_an_error(void **state)
{
    (void)state;
    for (enum trainer_loss_name name = 0; name < TRAINER_N_LOSSES; name++) {
        struct given *g = given(all_rl, 1);
        const struct trainer_loss loss = loss_of(name);
        struct loss_result result;
        struct trainer_error err;
        gather(g);
        size_t at = 0;
        while (!g->b->mask[at])
            at++;
        g->b->log_prob[at] = NAN;
        assert_int_equal(minibatch_loss(g->b, &loss, &g->workspace, &result, &err), TRAINER_ENUMERIC);
        assert_non_null(strstr(err.text, "loss"));
        release(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_the_rl_component_come_first),
        cmocka_unit_test(rejected_tokens_leave_the_rl_component),
        cmocka_unit_test(policy_losses_are_those_of_the_core),
        cmocka_unit_test(clip_scales_change_every_loss_with_a_clip_range),
        cmocka_unit_test(the_turn_loss_is_that_of_the_core),
        cmocka_unit_test(streams_take_the_samplers_log_probs),
        cmocka_unit_test(the_gradient_is_the_central_difference),
        cmocka_unit_test(options_have_exact_gradients),
        cmocka_unit_test(a_penalty_may_be_weighted_or_in_the_reward),
        cmocka_unit_test(the_unbiased_penalty_has_the_ratio_to_the_sampler),
        cmocka_unit_test(the_penalty_leaves_out_what_is_not_trained),
        cmocka_unit_test(likely_tokens_of_the_tool_may_be_left_out),
        cmocka_unit_test(tokens_after_the_tool_have_their_own_range),
        cmocka_unit_test(opsm_drops_what_leaves_its_bounds),
        cmocka_unit_test(composing_keeps_the_factors_apart),
        cmocka_unit_test(bypassing_is_the_cores_loss),
        cmocka_unit_test(a_straight_through_penalty_has_the_gradient_of_k2),
        cmocka_unit_test(the_penalty_is_added_to_every_loss),
        cmocka_unit_test(a_teachers_square_distance_is_added),
        cmocka_unit_test(components_are_independent),
        cmocka_unit_test(statistics_are_over_the_policys_tokens),
        cmocka_unit_test(nothing_to_train_gives_loss_zero),
        cmocka_unit_test(bad_log_probs_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
