/* rlcore_mixed_batch.c: tests environments with different algorithms in one batch, from rollouts to the loss. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/samples.h>
#include <rlcore/pack.h>
#include <rlcore/stream_loss.h>

#include "support/random_batch.h"
#include "support/rollout_case.h"

enum { ENVIRONMENTS = 5, MAX_SAMPLES = 32, ROOM = 64 };

static const struct {
    const char *name, *algorithm;
    size_t n_rollouts;
} environments[ENVIRONMENTS] = {
    {"math", "grpo", 3}, {"search", "echo", 2}, {"chat", "opd", 2}, {"demo", "sft", 1}, {"play", "reward", 1}};

struct mixed {
    struct rollout_case *cases[ENVIRONMENTS];
    size_t n, lengths[MAX_SAMPLES], order[MAX_SAMPLES], bin_start[MAX_SAMPLES + 1];
    struct rl_pack_sample samples[MAX_SAMPLES];
    struct rl_pack_options options;
    size_t slots[2 * MAX_SAMPLES];
    double reference[4 * FIRST_LENGTH];
    struct rl_pack_plan plan;
    struct rl_error err;
    int64_t ids[ROOM], positions[ROOM];
    uint8_t mask[ROOM];
    double streams[7][ROOM];
    size_t bin_lengths[MAX_SAMPLES], sample[ROOM];
    struct rl_pack_micro_batch out;
};

static const double temperatures[FIRST_LENGTH] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static void add_environment(struct mixed *m, size_t e)
{
    struct rollout_case *c = m->cases[e] = rollout_case_new(environments[e].n_rollouts);
    for (size_t t = 0; t < 4 * FIRST_LENGTH; t++)
        m->reference[t] = -0.3 - 0.01 * (double)t;
    c->scores.ref_logprobs = m->reference;
    assert_int_equal(rollout_case_run(c, environments[e].algorithm), RL_OK);
    for (size_t i = 0; i < c->samples.n; i++) {
        struct rl_pack_sample *s = &m->samples[m->n];
        rl_samples_view(&c->samples, i, s);
        s->temperatures = temperatures;
        s->env_name = environments[e].name;
        m->lengths[m->n++] = s->n_tokens;
    }
}

static void plan(struct mixed *m)
{
    struct rl_workspace ws = {0};
    enum rl_status status;
    m->plan = (struct rl_pack_plan){.order = m->order, .bin_start = m->bin_start, .slots = m->slots};
    assert_int_equal(rl_pack_check(m->samples, m->n, &m->options, &m->err), RL_OK);
    do
        status = rl_pack_plan(m->lengths, m->n, &m->options, &m->plan, &ws, &m->err);
    while (test_again(&ws, status));
    assert_int_equal(status, RL_OK);
    free(ws.data);
}

static struct mixed *mixed_new(size_t seq_len, size_t n_workers)
{
    struct mixed *m = test_alloc(1, sizeof *m);
    for (size_t e = 0; e < ENVIRONMENTS; e++)
        add_environment(m, e);
    m->options = (struct rl_pack_options){.seq_len = seq_len, .n_workers = n_workers, .pad_multiple = 4, .cost_linear = 1};
    plan(m);
    m->out = (struct rl_pack_micro_batch){.token_ids = m->ids,
                                          .position_ids = m->positions,
                                          .mask = m->mask,
                                          .advantages = m->streams[0],
                                          .logprobs = m->streams[1],
                                          .temperatures = m->streams[2],
                                          .ref_logprobs = m->streams[3],
                                          .rl_weights = m->streams[4],
                                          .ce_weights = m->streams[5],
                                          .ref_kl_weights = m->streams[6],
                                          .lengths = m->bin_lengths,
                                          .sample = m->sample};
    return m;
}

static void mixed_free(struct mixed *m)
{
    for (size_t e = 0; e < ENVIRONMENTS; e++)
        rollout_case_free(m->cases[e]);
    free(m);
}

/* The arrays of a sample or of a micro batch that a trainer reads. */
struct seen {
    struct rl_sequences sequences;
    struct rl_streams streams;
    size_t start[MAX_SAMPLES + 1];
    double trainer[ROOM];
};

/*
 * Fills in what the trainer reads. Its log-probs depend only on the token id, so a token contributes the same in a
 * sample as in a micro batch.
 */
static void look(struct seen *s, const struct rl_pack_sample *tokens, const size_t *lengths, size_t n)
{
    s->start[0] = 0;
    for (size_t i = 0; i < n; i++)
        s->start[i + 1] = s->start[i] + lengths[i];
    for (size_t t = 0; t < s->start[n]; t++)
        s->trainer[t] = -0.1 - 0.05 * (double)(tokens->token_ids[t] % 13);
    s->sequences = (struct rl_sequences){n, s->start, tokens->mask};
    s->streams = (struct rl_streams){s->trainer,         tokens->logprobs,   tokens->advantages,    tokens->ref_logprobs,
                                     tokens->rl_weights, tokens->ce_weights, tokens->ref_kl_weights};
}

/* Returns a whole micro batch as one sequence. */
static struct rl_pack_sample all_tokens(const struct rl_pack_micro_batch *b)
{
    return (struct rl_pack_sample){.n_tokens = b->n_tokens,
                                   .token_ids = b->token_ids,
                                   .mask = b->mask,
                                   .logprobs = b->logprobs,
                                   .advantages = b->advantages,
                                   .ref_logprobs = b->has_ref_logprobs ? b->ref_logprobs : NULL,
                                   .rl_weights = b->has_rl_weights ? b->rl_weights : NULL,
                                   .ce_weights = b->has_ce_weights ? b->ce_weights : NULL,
                                   .ref_kl_weights = b->has_ref_kl_weights ? b->ref_kl_weights : NULL};
}

static void add_loss(const struct seen *s, struct rl_stream_result *total, struct rl_stream_counts *counts)
{
    struct rl_stream_options options;
    struct rl_stream_result result;
    struct rl_stream_counts own;
    rl_stream_options_init(&options);
    assert_int_equal(rl_stream_loss(&s->sequences, &s->streams, &options, NULL, NULL, &result, NULL), RL_OK);
    rl_stream_count(&s->sequences, &s->streams, &own);
    counts->rl += own.rl;
    counts->ce += own.ce;
    counts->ref_kl += own.ref_kl;
    total->rl += result.rl;
    total->ce += result.ce;
    total->ref_kl += result.ref_kl;
}

static void add_samples(const struct mixed *m, struct rl_stream_result *total, struct rl_stream_counts *counts)
{
    for (size_t i = 0; i < m->n; i++) {
        struct seen s;
        look(&s, &m->samples[i], &m->lengths[i], 1);
        add_loss(&s, total, counts);
    }
}

static void add_micro_batches(struct mixed *m, struct rl_stream_result *total, struct rl_stream_counts *counts)
{
    for (size_t slot = 0; slot < m->plan.n_slots; slot++) {
        struct seen s;
        rl_pack_fill(m->samples, &m->options, &m->plan, slot, &m->out);
        struct rl_pack_sample tokens = all_tokens(&m->out);
        look(&s, &tokens, m->out.lengths, m->out.n_samples);
        add_loss(&s, total, counts);
    }
}

static void mixed_batches_verify(void **state)
{
    (void)state;
    for (size_t seq_len = FIRST_LENGTH; seq_len <= 50; seq_len += 5)
        for (size_t workers = 1; workers <= 3; workers++) {
            struct mixed *m = mixed_new(seq_len, workers);
            for (size_t slot = 0; slot < m->plan.n_slots; slot++) {
                rl_pack_fill(m->samples, &m->options, &m->plan, slot, &m->out);
                assert_int_equal(rl_pack_verify(m->samples, &m->options, &m->plan, slot, &m->out, &m->err), RL_OK);
            }
            mixed_free(m);
        }
}

static void packing_changes_no_loss(void **state)
{
    (void)state;
    for (size_t seq_len = FIRST_LENGTH; seq_len <= 50; seq_len += 5) {
        struct mixed *m = mixed_new(seq_len, 1 + seq_len % 3);
        struct rl_stream_result alone = {0}, packed = {0};
        struct rl_stream_counts alone_counts = {0}, packed_counts = {0};
        add_samples(m, &alone, &alone_counts);
        add_micro_batches(m, &packed, &packed_counts);
        assert_true(alone_counts.rl == packed_counts.rl && alone_counts.rl == 30);
        assert_true(alone_counts.ce == packed_counts.ce && alone_counts.ce == 13);
        assert_true(alone_counts.ref_kl == packed_counts.ref_kl && alone_counts.ref_kl == 10);
        assert_true(fabs(alone.rl - packed.rl) < 1e-12);
        assert_true(fabs(alone.ce - packed.ce) < 1e-12);
        assert_true(fabs(alone.ref_kl - packed.ref_kl) < 1e-12);
        assert_true(alone.rl != 0 && alone.ce != 0 && alone.ref_kl != 0);
        mixed_free(m);
    }
}

/* Returns the index of the first sample of an environment. */
static size_t first_of(const struct mixed *m, const char *environment)
{
    size_t i = 0;
    while (strcmp(m->samples[i].env_name, environment) != 0)
        i++;
    return i;
}

static void streams_of_neighbours_get_defaults(void **state)
{
    (void)state;
    struct mixed *m = mixed_new(ROOM, 1);
    struct rl_pack_sample samples[2] = {m->samples[first_of(m, "math")], m->samples[first_of(m, "chat")]};
    memcpy(m->samples, samples, sizeof samples);
    m->n = 2;
    for (size_t i = 0; i < 2; i++)
        m->lengths[i] = samples[i].n_tokens;
    plan(m);
    assert_int_equal(m->plan.n_bins, 1);
    rl_pack_fill(m->samples, &m->options, &m->plan, 0, &m->out);
    for (size_t t = 0; t < m->out.n_tokens; t++) {
        bool math = m->out.sample[t] == 0, chat = m->out.sample[t] == 1;
        assert_true(m->out.rl_weights[t] == (math ? 1 : 0));
        assert_true(m->out.ref_kl_weights[t] == (chat && m->out.mask[t] ? 1 : 0));
        assert_true((m->out.ref_logprobs[t] != 0) == (chat && m->out.mask[t]));
        assert_true(!chat || m->out.advantages[t] == 0);
    }
    assert_false(m->out.has_ce_weights);
    mixed_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mixed_batches_verify), cmocka_unit_test(packing_changes_no_loss),
                                       cmocka_unit_test(streams_of_neighbours_get_defaults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
