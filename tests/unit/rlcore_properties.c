/*
 * rlcore_properties.c: tests properties of every kernel over a batch, on random batches. Reordering the rows reorders
 * the results; more padding changes nothing; and if the kernel works group by group, a batch split at group borders
 * gives the same results as the whole. Advantages of a group add up to zero where they must.
 */
#include "support/unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/a2tgpo.h>
#include <rlcore/adca.h>
#include <rlcore/advantage.h>
#include <rlcore/distill.h>
#include <rlcore/offpolicy.h>
#include <rlcore/process.h>

#include "support/random_batch.h"

enum { ROWS = 16, TOKENS = 30, PADDED = 43, GROUP = 4, SEEDS = 6 };

/* One call of a kernel. out [B*T] receives one value per token. */
struct call {
    const struct random_batch *in;
    double *out;
    struct rl_workspace *ws;
    int variant; /* number of the kernel's variant */
};

typedef enum rl_status run_fn(const struct call *c);

static enum rl_status group_advantage(const struct call *c)
{
    struct rl_outcome_options options;
    rl_outcome_options_init(&options);
    options.estimator = (enum rl_estimator)c->variant;
    return rl_outcome_advantage(&c->in->batch, &options, c->in->turn_rewards, c->out, c->ws, NULL);
}

static enum rl_status reinforce_plus_plus(const struct call *c)
{
    return rl_reinforce_plus_plus(&c->in->batch, 0.9, c->variant, c->in->turn_rewards, c->out, NULL, c->ws, NULL);
}

static enum rl_status remax(const struct call *c)
{
    return rl_remax(&c->in->batch, c->in->turn_rewards, c->in->scores, c->out, NULL, NULL);
}

static enum rl_status gae(const struct call *c)
{
    return rl_gae(&c->in->batch, 0.9, 0.8, c->in->turn_rewards, c->in->values, c->out, NULL, c->ws, NULL);
}

static enum rl_status token_baseline(const struct call *c)
{
    const struct rl_token_baseline_input in = {
        .rewards = c->in->turn_rewards, .old_log_prob = c->in->old_log_prob, .sum_pi_squared = c->in->weights};
    struct rl_token_baseline_options options;
    rl_token_baseline_options_init(&options);
    options.compact = c->variant & 1;
    options.handle_zero_tail = c->variant & 2;
    return rl_token_baseline(&c->in->batch, &in, &options, c->out, NULL, c->ws, NULL);
}

static enum rl_status a2tgpo(const struct call *c)
{
    struct rl_a2tgpo_options options;
    rl_a2tgpo_options_init(&options);
    options.mode = (enum rl_a2tgpo_mode)c->variant;
    options.gamma = 0.9;
    return rl_a2tgpo_advantage(&c->in->batch, &options, c->in->turn_rewards, c->out, NULL, NULL, c->ws, NULL);
}

static enum rl_status clip_scale(const struct call *c)
{
    struct rl_a2tgpo_options options;
    double *advantages = test_alloc(c->in->batch.n_rows * c->in->batch.n_tokens, sizeof(double));
    rl_a2tgpo_options_init(&options);
    enum rl_status status =
        rl_a2tgpo_advantage(&c->in->batch, &options, c->in->turn_rewards, advantages, c->out, NULL, c->ws, NULL);
    free(advantages);
    return status;
}

static struct rl_loss_input loss_input(const struct call *c)
{
    return (struct rl_loss_input){
        .log_prob = c->in->log_prob, .old_log_prob = c->in->old_log_prob, .advantages = c->in->advantages};
}

static enum rl_status turn_loss(const struct call *c)
{
    const struct rl_loss_input in = loss_input(c);
    struct rl_turn_loss_options options;
    struct rl_loss_result result;
    rl_turn_loss_options_init(&options);
    return rl_a2tgpo_turn_loss(&c->in->batch, &in, c->in->weights, &options, c->out, NULL, &result, c->ws, NULL);
}

static enum rl_status policy_loss(const struct call *c)
{
    static enum rl_status (*const losses[])(const struct rl_batch *, const struct rl_loss_input *, const struct rl_loss_options *,
                                            double *, struct rl_loss_result *, struct rl_workspace *, struct rl_error *) = {
        rl_ppo_loss, rl_gspo_loss, rl_cispo_loss, rl_sapo_loss, rl_gpg_loss, rl_reinforce_loss, rl_geo_mean_loss};
    const struct rl_loss_input in = loss_input(c);
    struct rl_loss_options options;
    struct rl_loss_result result;
    rl_loss_options_init(&options);
    return losses[c->variant](&c->in->batch, &in, &options, c->out, &result, c->ws, NULL);
}

static enum rl_status value_loss(const struct call *c)
{
    const struct rl_agg agg = {.mode = (enum rl_agg_mode)c->variant};
    struct rl_value_result result;
    return rl_value_loss(&c->in->batch, &agg, 0.3, c->in->values, c->in->advantages, c->in->ref_log_prob, c->out, &result, c->ws,
                         NULL);
}

/* Variant 0 returns the weights, variant 1 the remaining mask. */
static enum rl_status correction(const struct call *c)
{
    const struct rl_correction_options options = {.is = RL_IS_SEQUENCE,
                                                  .is_threshold = 2,
                                                  .is_batch_normalize = true,
                                                  .rs = "token_k1,seq_mean_k3",
                                                  .rs_threshold = "0.6_1.6,0.08"};
    size_t n = c->in->batch.n_rows * c->in->batch.n_tokens;
    uint8_t *mask = test_alloc(n, 1);
    struct rl_metrics metrics = {0};
    enum rl_status status = rl_rollout_correction(&c->in->batch, &options, c->in->log_prob, c->in->rollout_log_prob, c->out, mask,
                                                  &metrics, c->ws, NULL);
    for (size_t i = 0; c->variant && i < n; i++)
        c->out[i] = mask[i];
    free(mask);
    return status;
}

/* Variants: the advantages, plain or normalised, and the gradient of the loss. */
static enum rl_status distill(const struct call *c)
{
    const struct rl_distill_options options = {
        .pass_rate_threshold = 0.6, .horizon = 9, .normalise = c->variant > 0, .kd_coef = 0.5};
    const struct rl_batch *batch = &c->in->batch;
    struct rl_distill_result result;
    double *other = test_alloc(batch->n_rows * batch->n_tokens, sizeof(double));
    double *pass_rate = test_alloc(batch->n_rows, sizeof(double));
    uint8_t *eligible = test_alloc(batch->n_rows, 1);
    bool slope = c->variant == 2;
    enum rl_status status = rl_distill(batch, &options, c->in->log_prob, c->in->ref_log_prob, c->in->advantages, c->in->scores,
                                       slope ? other : c->out, slope ? c->out : other, pass_rate, eligible, &result, c->ws, NULL);
    free(other);
    free(pass_rate);
    free(eligible);
    return status;
}

/* Marks the rewards, which are at the last tokens of turns; the last reward of a row is its outcome. */
static void mark_events(const struct random_batch *in, uint8_t *event)
{
    size_t n = in->batch.n_tokens;
    for (size_t row = 0; row < in->batch.n_rows; row++) {
        int32_t next = -1;
        for (size_t i = (row + 1) * n; i-- > row * n;) {
            event[i] = RL_EVENT_NONE;
            if (in->turn[i] < 0 || in->turn[i] == next)
                continue;
            event[i] = next < 0 ? RL_EVENT_OUTCOME : RL_EVENT_PROCESS;
            next = in->turn[i];
        }
    }
}

static enum rl_status process(const struct call *c)
{
    uint8_t *event = test_alloc(c->in->batch.n_rows * c->in->batch.n_tokens, 1);
    mark_events(c->in, event);
    enum rl_status status = rl_process_advantage(&c->in->batch, event, c->in->turn_rewards, c->out, c->ws, NULL);
    free(event);
    return status;
}

/* Treats turns as steps. Flags depend only on row and step. The variants are schemes and weightings. */
static enum rl_status prm(const struct call *c)
{
    const struct rl_batch *batch = &c->in->batch;
    size_t *start = test_alloc(batch->n_rows + 1, sizeof *start);
    enum rl_status status = rl_adca_step_starts(batch->n_rows, batch->n_tokens, batch->turn, start, NULL);
    assert_int_equal(status, RL_OK);
    size_t steps = start[batch->n_rows];
    uint8_t *flags = test_alloc(steps, 1);
    for (size_t row = 0; row < batch->n_rows; row++)
        for (size_t j = start[row]; j < start[row + 1]; j++)
            flags[j] = (int)fabs(c->in->scores[row] * 1000) % (int)(2 + j - start[row]) == 0;
    const struct rl_adca_input in = {batch->n_rows, batch->n_tokens, batch->group, batch->turn, start, flags, start};
    const struct rl_adca_output out = {.step_rewards = test_alloc(steps, sizeof(double)),
                                       .step_advantages = test_alloc(steps, sizeof(double))};
    struct rl_adca_options options;
    rl_adca_options_init(&options);
    options.scheme = c->variant & 1 ? RL_ADCA_ALLOCATION : RL_ADCA_DECOUPLE;
    options.equal_trajectory_weight = c->variant & 2;
    status = rl_adca_advantage(&in, &options, c->in->turn_rewards, c->out, &out, c->ws, NULL);
    free(out.step_rewards);
    free(out.step_advantages);
    free(start);
    free(flags);
    return status;
}

/* by_group has a bit for each variant in which groups do not influence each other. */
static const struct kernel {
    const char *name;
    run_fn *run;
    int n_variants;
    unsigned by_group; /* bit per variant */
} kernels[] = {
    {"group_advantage", group_advantage, 8, 0x3f}, /* all except GPG and REINFORCE++ with baseline */
    {"reinforce_plus_plus", reinforce_plus_plus, 2, 0},
    {"remax", remax, 1, 1},
    {"gae", gae, 1, 0},
    {"token_baseline", token_baseline, 4, 0xf},
    {"a2tgpo", a2tgpo, 4, 0xb}, /* turn-group rescales over the batch */
    {"clip_scale", clip_scale, 1, 1},
    {"turn_loss", turn_loss, 1, 0},
    {"policy_loss", policy_loss, 7, 0},
    {"value_loss", value_loss, 3, 0}, /* seq-mean-token-sum-norm divides by the padded length */
    {"correction", correction, 2, 2},
    {"distill", distill, 3, 1},
    {"process", process, 1, 1},
    {"prm", prm, 4, 0xf},
};

static struct random_batch *new_batch(uint64_t seed)
{
    return random_batch_new(
        seed, (struct random_shape){.rows = ROWS, .tokens = TOKENS, .group_size = GROUP, .hole_share = 0.2, .empty_share = 0.1});
}

static double *run(const struct kernel *k, int variant, const struct random_batch *in)
{
    struct rl_workspace ws = {0};
    struct call c = {in, test_alloc(in->batch.n_rows * in->batch.n_tokens, sizeof(double)), &ws, variant};
    enum rl_status status;
    do
        status = k->run(&c);
    while (test_again(&ws, status));
    if (status != RL_OK)
        fail_msg("%s, variant %d: %s", k->name, variant, rl_status_text(status));
    free(ws.data);
    return c.out;
}

static void copy_row(struct random_batch *to, size_t row, const struct random_batch *from, size_t source)
{
    const double *const in[] = {from->log_prob,   from->old_log_prob, from->ref_log_prob, from->rollout_log_prob,
                                from->advantages, from->weights,      from->values,       from->turn_rewards};
    double *const out[] = {to->log_prob,   to->old_log_prob, to->ref_log_prob, to->rollout_log_prob,
                           to->advantages, to->weights,      to->values,       to->turn_rewards};
    size_t n = from->batch.n_tokens, a = row * to->batch.n_tokens, b = source * n;
    memcpy(to->mask + a, from->mask + b, n);
    memcpy(to->turn + a, from->turn + b, n * sizeof *to->turn);
    for (size_t k = 0; k < sizeof in / sizeof *in; k++)
        memcpy(out[k] + a, in[k] + b, n * sizeof(double));
    to->group[row] = from->group[source];
    to->scores[row] = from->scores[source];
}

/*
 * Returns the given rows padded to n_tokens. Rewards and values are 0 in the padding; the other arrays are arbitrary
 * there.
 */
static struct random_batch *rows_of(const struct random_batch *r, const size_t *rows, size_t n, size_t n_tokens)
{
    struct random_batch *out = random_batch_new(99, (struct random_shape){.rows = n, .tokens = n_tokens});
    for (size_t i = 0; i < n * n_tokens; i++) {
        out->mask[i] = 0;
        out->turn[i] = -1;
        out->turn_rewards[i] = out->values[i] = 0;
    }
    for (size_t row = 0; row < n; row++)
        copy_row(out, row, r, rows[row]);
    return out;
}

/* Compares the values at the tokens of rows with those that the rows had before they were moved. */
static void assert_same_rows(const struct kernel *k, int variant, const double *got, size_t got_tokens, const double *want,
                             const size_t *rows, size_t n)
{
    double largest = 1;
    for (size_t i = 0; i < n * TOKENS; i++)
        largest = fmax(largest, fabs(want[rows[i / TOKENS] * TOKENS + i % TOKENS]));
    for (size_t row = 0; row < n; row++)
        for (size_t t = 0; t < TOKENS; t++) {
            double a = got[row * got_tokens + t], b = want[rows[row] * TOKENS + t];
            if (!(fabs(a - b) <= 1e-11 * largest))
                fail_msg("%s, variant %d: row %zu, token %zu: %.17g, not %.17g", k->name, variant, rows[row], t, a, b);
        }
}

typedef void check_fn(const struct kernel *k, int variant, const struct random_batch *in, const double *whole);

static void for_all(check_fn *check)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        for (int variant = 0; variant < kernels[i].n_variants; variant++)
            for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                struct random_batch *in = new_batch(seed);
                double *whole = run(&kernels[i], variant, in);
                check(&kernels[i], variant, in, whole);
                free(whole);
                random_batch_free(in);
            }
}

static void compare_rows(const struct kernel *k, int variant, const struct random_batch *in, const double *whole,
                         const size_t *rows, size_t n, size_t n_tokens)
{
    struct random_batch *other = rows_of(in, rows, n, n_tokens);
    double *got = run(k, variant, other);
    assert_same_rows(k, variant, got, n_tokens, whole, rows, n);
    free(got);
    random_batch_free(other);
}

static void check_order(const struct kernel *k, int variant, const struct random_batch *in, const double *whole)
{
    size_t rows[ROWS];
    for (size_t row = 0; row < ROWS; row++)
        rows[row] = (5 * row + 3) % ROWS;
    compare_rows(k, variant, in, whole, rows, ROWS, TOKENS);
}

static void reordering_rows_reorders_results(void **state)
{
    (void)state;
    for_all(check_order);
}

static void check_padding(const struct kernel *k, int variant, const struct random_batch *in, const double *whole)
{
    size_t rows[ROWS];
    for (size_t row = 0; row < ROWS; row++)
        rows[row] = row;
    compare_rows(k, variant, in, whole, rows, ROWS, PADDED);
}

static void padding_changes_nothing(void **state)
{
    (void)state;
    for_all(check_padding);
}

/* Splits the batch into batches of one group each, and runs the kernel on each. */
static void check_split(const struct kernel *k, int variant, const struct random_batch *in, const double *whole)
{
    size_t rows[ROWS], n_seen = 0;
    for (size_t first = 0; first < ROWS && k->by_group >> variant & 1; first++) {
        size_t n = 0;
        bool seen = false;
        for (size_t row = 0; row < ROWS; row++) {
            seen |= row < first && in->group[row] == in->group[first];
            if (in->group[row] == in->group[first])
                rows[n++] = row;
        }
        if (seen)
            continue;
        compare_rows(k, variant, in, whole, rows, n, TOKENS);
        n_seen += n;
    }
    assert_int_equal(n_seen, k->by_group >> variant & 1 ? ROWS : 0);
}

static void splitting_at_group_borders_changes_nothing(void **state)
{
    (void)state;
    for_all(check_split);
}

/*
 * Returns a weighted sum over the rows of one group. A row counts with its value at its first response token; its weight
 * is its length if by_length, else 1.
 */
static double group_sum(const struct random_batch *in, const double *values, size_t of_row, bool by_length, double *size)
{
    double sum = 0;
    *size = 0;
    for (size_t row = 0; row < ROWS; row++) {
        double length = 0, value = 0;
        for (size_t i = (row + 1) * TOKENS; i-- > row * TOKENS;)
            if (in->mask[i]) {
                length++;
                value = values[i];
            }
        if (in->group[row] != in->group[of_row])
            continue;
        sum += by_length ? length * value : value;
        *size += fabs(by_length ? length * value : value);
    }
    return sum;
}

static void assert_groups_cancel(const struct kernel *k, int variant, bool by_length)
{
    double moved = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random_batch *in =
            random_batch_new(seed, (struct random_shape){.rows = ROWS, .tokens = TOKENS, .group_size = GROUP});
        double *values = run(k, variant, in), size;
        for (size_t row = 0; row < ROWS; row++) {
            double sum = group_sum(in, values, row, by_length, &size);
            if (!(fabs(sum) <= 1e-12 * fmax(1, size)))
                fail_msg("%s, variant %d: a group sums to %g", k->name, variant, sum);
            moved += size;
        }
        free(values);
        random_batch_free(in);
    }
    assert_true(moved > 1);
}

static const struct kernel *kernel_named(const char *name)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    fail_msg("no kernel %s", name);
    return NULL;
}

/* The first token of a row has the sum over the row's steps or events, so only first tokens are added up. */
static void advantages_of_a_group_cancel(void **state)
{
    (void)state;
    static const enum rl_estimator centred[] = {RL_GRPO, RL_GRPO_VECTORIZED, RL_RLOO, RL_RLOO_VECTORIZED, RL_GPG};
    for (size_t i = 0; i < sizeof centred / sizeof *centred; i++)
        assert_groups_cancel(kernel_named("group_advantage"), (int)centred[i], false);
    assert_groups_cancel(kernel_named("group_advantage"), RL_OPO, true);
    assert_groups_cancel(kernel_named("process"), 0, false);
    assert_groups_cancel(kernel_named("prm"), 0, false);
    assert_groups_cancel(kernel_named("prm"), 1, false);
}

static void whitened_advantages_sum_to_zero(void **state)
{
    (void)state;
    const struct kernel *whitened[] = {kernel_named("reinforce_plus_plus"), kernel_named("gae"), kernel_named("group_advantage")};
    const int variants[] = {0, 0, RL_REINFORCE_PLUS_PLUS_BASELINE};
    for (size_t k = 0; k < sizeof whitened / sizeof *whitened; k++) {
        struct random_batch *in = new_batch(k + 1);
        double *values = run(whitened[k], variants[k], in), sum = 0, squares = 0, n = 0;
        for (size_t i = 0; i < ROWS * TOKENS; i++) {
            sum += in->mask[i] ? values[i] : 0;
            squares += in->mask[i] ? values[i] * values[i] : 0;
            n += in->mask[i];
        }
        assert_true(fabs(sum) < 1e-6 && fabs(squares / (n - 1) - 1) < 1e-6);
        free(values);
        random_batch_free(in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reordering_rows_reorders_results),
        cmocka_unit_test(padding_changes_nothing),
        cmocka_unit_test(splitting_at_group_borders_changes_nothing),
        cmocka_unit_test(advantages_of_a_group_cancel),
        cmocka_unit_test(whitened_advantages_sum_to_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
