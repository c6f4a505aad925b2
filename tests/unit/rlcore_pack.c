/*
 * rlcore_pack.c: tests that packing loses no token and adds none, and that the check of micro batches finds every
 * change.
 */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/pack.h>

#include "support/random_batch.h"

enum { MAX_SAMPLES = 24, MAX_LENGTH = 40, MAX_WORKERS = 4, STREAMS = 7 };
enum { ADVANTAGES, RL, CE, REF_KL, REF, LOGPROBS, TEMPERATURES };

/* Random samples of several algorithms, packed. */
struct packing {
    size_t n, lengths[MAX_SAMPLES];
    struct rl_pack_sample samples[MAX_SAMPLES];
    int64_t ids[MAX_SAMPLES][MAX_LENGTH];
    uint8_t masks[MAX_SAMPLES][MAX_LENGTH];
    double values[MAX_SAMPLES][STREAMS][MAX_LENGTH];
    struct rl_pack_options options;
    size_t order[MAX_SAMPLES], bin_start[MAX_SAMPLES + 1], slots[MAX_SAMPLES + MAX_WORKERS];
    struct rl_pack_plan plan;
    struct rl_pack_micro_batch out;
    struct rl_error err;
};

static void fill_sample(struct packing *p, size_t i, struct test_rng *rng)
{
    size_t n = 1 + test_rng_below(rng, MAX_LENGTH);
    double(*v)[MAX_LENGTH] = p->values[i];
    for (size_t t = 0; t < n; t++) {
        p->ids[i][t] = (int64_t)test_rng_below(rng, 50000);
        p->masks[i][t] = test_rng_below(rng, 4) > 0;
        for (size_t k = 0; k < STREAMS; k++)
            v[k][t] = 0.5 + test_rng_uniform(rng);
    }
    p->lengths[i] = n;
    p->samples[i] = (struct rl_pack_sample){.n_tokens = n,
                                            .token_ids = p->ids[i],
                                            .mask = p->masks[i],
                                            .logprobs = v[LOGPROBS],
                                            .temperatures = v[TEMPERATURES],
                                            .env_name = "env"};
}

/*
 * Gives a sample the streams of an algorithm: grpo has advantages only; opd has rl weights 0, ref_kl and ref; sft has
 * rl weights 0 and ce; echo has advantages and ce.
 */
static void route_sample(struct packing *p, size_t i, size_t algorithm)
{
    struct rl_pack_sample *s = &p->samples[i];
    double(*v)[MAX_LENGTH] = p->values[i];
    bool no_rl = algorithm == 1 || algorithm == 2;
    for (size_t t = 0; no_rl && t < s->n_tokens; t++)
        v[RL][t] = 0;
    s->advantages = no_rl ? NULL : v[ADVANTAGES];
    s->rl_weights = no_rl ? v[RL] : NULL;
    s->ref_kl_weights = algorithm == 1 ? v[REF_KL] : NULL;
    s->ref_logprobs = algorithm == 1 ? v[REF] : NULL;
    s->ce_weights = algorithm >= 2 ? v[CE] : NULL;
}

static void allocate(struct packing *p)
{
    size_t n = p->options.seq_len + p->options.pad_multiple;
    struct rl_pack_micro_batch *m = &p->out;
    double **streams[] = {&m->advantages, &m->logprobs,   &m->temperatures,  &m->ref_logprobs,
                          &m->rl_weights, &m->ce_weights, &m->ref_kl_weights};
    for (size_t k = 0; k < STREAMS; k++)
        *streams[k] = test_alloc(n, sizeof **streams[k]);
    m->token_ids = test_alloc(n, sizeof *m->token_ids);
    m->position_ids = test_alloc(n, sizeof *m->position_ids);
    m->mask = test_alloc(n, sizeof *m->mask);
    m->sample = test_alloc(n, sizeof *m->sample);
    m->lengths = test_alloc(p->n, sizeof *m->lengths);
}

static void packing_free(struct packing *p)
{
    struct rl_pack_micro_batch *m = &p->out;
    void *blocks[] = {m->advantages,     m->logprobs,  m->temperatures, m->ref_logprobs, m->rl_weights, m->ce_weights,
                      m->ref_kl_weights, m->token_ids, m->position_ids, m->mask,         m->sample,     m->lengths};
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
        free(blocks[k]);
    free(p);
}

static void plan(struct packing *p)
{
    struct rl_workspace ws = {0};
    enum rl_status status;
    p->plan = (struct rl_pack_plan){.order = p->order, .bin_start = p->bin_start, .slots = p->slots};
    assert_int_equal(rl_pack_check(p->samples, p->n, &p->options, &p->err), RL_OK);
    do
        status = rl_pack_plan(p->lengths, p->n, &p->options, &p->plan, &ws, &p->err);
    while (test_again(&ws, status));
    assert_int_equal(status, RL_OK);
    free(ws.data);
}

static struct packing *packing_new(uint64_t seed, size_t seq_len)
{
    struct packing *p = test_alloc(1, sizeof *p);
    struct test_rng rng = {seed};
    p->n = 1 + test_rng_below(&rng, MAX_SAMPLES);
    for (size_t i = 0; i < p->n; i++) {
        fill_sample(p, i, &rng);
        route_sample(p, i, test_rng_below(&rng, 4));
    }
    p->options = (struct rl_pack_options){.seq_len = seq_len,
                                          .n_workers = 1 + test_rng_below(&rng, MAX_WORKERS),
                                          .pad_multiple = 1 + test_rng_below(&rng, 8),
                                          .cost_linear = 1,
                                          .cost_quadratic = 0.01};
    plan(p);
    allocate(p);
    return p;
}

static void fill(struct packing *p, size_t slot)
{
    rl_pack_fill(p->samples, &p->options, &p->plan, slot, &p->out);
}

static enum rl_status verify(struct packing *p, size_t slot)
{
    return rl_pack_verify(p->samples, &p->options, &p->plan, slot, &p->out, &p->err);
}

static bool is_copy(const struct packing *p, size_t slot)
{
    return p->slots[slot] >= p->plan.n_bins;
}

/* Asserts that a packed stream has the sample's values, or the default if the sample does not have this stream. */
static void assert_stream(const double *got, const double *want, double fill_in, size_t n)
{
    assert_true(got || !want);
    for (size_t t = 0; got && t < n; t++)
        assert_true(got[t] == (want ? want[t] : fill_in));
}

static void assert_sample(const struct rl_pack_sample *got, const struct rl_pack_sample *want)
{
    size_t n = want->n_tokens;
    assert_int_equal(got->n_tokens, n);
    assert_memory_equal(got->token_ids, want->token_ids, n * sizeof *got->token_ids);
    assert_memory_equal(got->mask, want->mask, n);
    assert_memory_equal(got->logprobs, want->logprobs, n * sizeof *got->logprobs);
    assert_memory_equal(got->temperatures, want->temperatures, n * sizeof *got->temperatures);
    assert_stream(got->advantages, want->advantages, 0, n);
    assert_stream(got->ref_logprobs, want->ref_logprobs, 0, n);
    assert_stream(got->rl_weights, want->rl_weights, 1, n);
    assert_stream(got->ce_weights, want->ce_weights, 0, n);
    assert_stream(got->ref_kl_weights, want->ref_kl_weights, 0, n);
}

static void unpacking_is_the_identity(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct packing *p = packing_new(seed, MAX_LENGTH + seed % 100);
        size_t times[MAX_SAMPLES] = {0};
        for (size_t slot = 0; slot < p->plan.n_slots; slot++) {
            fill(p, slot);
            for (size_t k = 0; k < p->out.n_samples && !is_copy(p, slot); k++) {
                struct rl_pack_sample got;
                size_t index = rl_pack_unpack(&p->out, k, &got);
                assert_true(index < p->n);
                assert_sample(&got, &p->samples[index]);
                times[index]++;
            }
        }
        for (size_t i = 0; i < p->n; i++)
            assert_int_equal(times[i], 1);
        packing_free(p);
    }
}

/* Counts the tokens that train, once per component. The argument may be a sample or a micro batch. */
static size_t count_members(const struct rl_pack_sample *s, size_t n)
{
    size_t members = 0;
    for (size_t t = 0; t < n; t++) {
        members += s->mask[t] && (!s->rl_weights || s->rl_weights[t] != 0);
        members += s->ce_weights && s->ce_weights[t] != 0;
        members += s->ref_kl_weights && s->ref_kl_weights[t] != 0;
    }
    return members;
}

static void every_member_trains_once(void **state)
{
    (void)state;
    for (uint64_t seed = 200; seed < 300; seed++) {
        struct packing *p = packing_new(seed, MAX_LENGTH);
        size_t wanted = 0, found = 0;
        for (size_t i = 0; i < p->n; i++)
            wanted += count_members(&p->samples[i], p->lengths[i]);
        for (size_t slot = 0; slot < p->plan.n_slots; slot++) {
            const struct rl_pack_micro_batch *m = &p->out;
            fill(p, slot);
            struct rl_pack_sample whole = {.mask = m->mask,
                                           .rl_weights = m->has_rl_weights ? m->rl_weights : NULL,
                                           .ce_weights = m->has_ce_weights ? m->ce_weights : NULL,
                                           .ref_kl_weights = m->has_ref_kl_weights ? m->ref_kl_weights : NULL};
            found += count_members(&whole, m->n_tokens);
        }
        assert_int_equal(found, wanted);
        packing_free(p);
    }
}

static void long_samples_are_cut(void **state)
{
    (void)state;
    for (uint64_t seed = 300; seed < 340; seed++) {
        struct packing *p = packing_new(seed, 16);
        for (size_t slot = 0; slot < p->plan.n_slots; slot++) {
            fill(p, slot);
            assert_int_equal(verify(p, slot), RL_OK);
            assert_int_equal(p->out.n_tokens, rl_pack_tokens(p->lengths, &p->options, &p->plan, slot));
            for (size_t k = 0; k < p->out.n_samples; k++) {
                struct rl_pack_sample got;
                size_t index = rl_pack_unpack(&p->out, k, &got);
                assert_int_equal(got.n_tokens, p->lengths[index] < 16 ? p->lengths[index] : 16);
            }
        }
        packing_free(p);
    }
}

static void workers_get_equally_many_micro_batches(void **state)
{
    (void)state;
    for (uint64_t seed = 400; seed < 440; seed++) {
        struct packing *p = packing_new(seed, MAX_LENGTH);
        size_t seen[MAX_SAMPLES + MAX_WORKERS] = {0};
        assert_int_equal(p->plan.n_slots % p->options.n_workers, 0);
        assert_true(p->plan.n_slots - p->plan.n_bins < p->options.n_workers);
        for (size_t slot = 0; slot < p->plan.n_slots; slot++)
            assert_int_equal(seen[p->slots[slot]]++, 0);
        packing_free(p);
    }
}

static void filled_micro_batches_verify(void **state)
{
    (void)state;
    for (uint64_t seed = 500; seed < 600; seed++) {
        struct packing *p = packing_new(seed, MAX_LENGTH + seed % 50);
        for (size_t slot = 0; slot < p->plan.n_slots; slot++) {
            fill(p, slot);
            assert_int_equal(verify(p, slot), RL_OK);
        }
        packing_free(p);
    }
}

/* Changes one of the arrays that a micro batch may have, at one token. */
static bool damage(struct rl_pack_micro_batch *m, size_t what, size_t t)
{
    double *streams[] = {m->advantages,
                         m->logprobs,
                         m->temperatures,
                         m->has_ref_logprobs ? m->ref_logprobs : NULL,
                         m->has_rl_weights ? m->rl_weights : NULL,
                         m->has_ce_weights ? m->ce_weights : NULL,
                         m->has_ref_kl_weights ? m->ref_kl_weights : NULL};
    switch (what) {
    case STREAMS: m->token_ids[t] += 1; return true;
    case STREAMS + 1: m->position_ids[t] += 1; return true;
    case STREAMS + 2: m->mask[t] ^= 1; return true;
    case STREAMS + 3: m->sample[t] ^= 1; return true;
    case STREAMS + 4: m->lengths[0] += 1; return true;
    case STREAMS + 5: m->n_tokens += 1; return true;
    default: break;
    }
    if (streams[what])
        streams[what][t] += 1;
    return streams[what] != NULL;
}

static void any_damage_is_found(void **state)
{
    (void)state;
    size_t found[STREAMS + 6] = {0};
    for (uint64_t seed = 600; seed < 660; seed++) {
        struct packing *p = packing_new(seed, MAX_LENGTH);
        for (size_t what = 0; what < STREAMS + 6; what++) {
            struct rl_pack_sample last;
            fill(p, 0);
            rl_pack_unpack(&p->out, p->out.n_samples - 1, &last);
            size_t real = (size_t)(last.mask - p->out.mask) + last.n_tokens;
            if (damage(&p->out, what, seed % real)) {
                assert_int_equal(verify(p, 0), RL_EVALUE);
                found[what]++;
            }
        }
        packing_free(p);
    }
    for (size_t what = 0; what < STREAMS + 6; what++)
        assert_true(found[what] > 0);
}

static void padding_that_trains_is_found(void **state)
{
    (void)state;
    size_t found = 0;
    for (uint64_t seed = 700; seed < 720; seed++) {
        struct packing *p = packing_new(seed, MAX_LENGTH);
        fill(p, 0);
        size_t last = p->out.n_tokens - 1;
        if (p->out.sample[last] == SIZE_MAX) {
            p->out.mask[last] = 1;
            assert_int_equal(verify(p, 0), RL_EVALUE);
            assert_non_null(strstr(p->err.text, "trains its padding"));
            found++;
        }
        packing_free(p);
    }
    assert_true(found > 0);
}

/*
 * One sample lacks reference log-probs. Packed beside samples that have them, it would get the default 0 and train
 * towards it.
 */
static void members_without_reference_are_found(void **state)
{
    (void)state;
    struct packing *p = packing_new(1, MAX_LENGTH);
    for (size_t i = 0; i < p->n; i++)
        route_sample(p, i, 1);
    p->samples[p->order[0]].ref_logprobs = NULL;
    size_t slot = 0;
    while (p->slots[slot] != 0)
        slot++;
    fill(p, slot);
    assert_int_equal(verify(p, slot), RL_EVALUE);
    assert_non_null(strstr(p->err.text, "has no ref_logprobs"));
    packing_free(p);
}

static void assert_unfit(struct packing *p, enum rl_status status, const char *text)
{
    assert_int_equal(rl_pack_check(p->samples, p->n, &p->options, &p->err), status);
    assert_non_null(strstr(p->err.text, text));
    packing_free(p);
}

static void invalid_samples_are_named(void **state)
{
    (void)state;
    struct packing *p = packing_new(2, MAX_LENGTH);
    route_sample(p, 0, 0);
    p->samples[0].advantages = NULL;
    p->masks[0][0] = 1;
    assert_unfit(p, RL_EINVAL, "sample 0 has no advantages, but token 0 trains with rl");
    p = packing_new(2, MAX_LENGTH);
    p->samples[0].env_name = "all";
    assert_unfit(p, RL_EINVAL, "sample 0: the environment name 'all'");
    p = packing_new(2, MAX_LENGTH);
    route_sample(p, 0, 3);
    p->values[0][CE][0] = NAN;
    assert_unfit(p, RL_EVALUE, "ce_weights of sample 0");
    p = packing_new(2, MAX_LENGTH);
    p->masks[0][0] = 2;
    assert_unfit(p, RL_EVALUE, "mask of sample 0");
    p = packing_new(2, MAX_LENGTH);
    p->options.seq_len = 0;
    assert_unfit(p, RL_EINVAL, "seq_len");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unpacking_is_the_identity),    cmocka_unit_test(every_member_trains_once),
        cmocka_unit_test(long_samples_are_cut),         cmocka_unit_test(workers_get_equally_many_micro_batches),
        cmocka_unit_test(filled_micro_batches_verify),  cmocka_unit_test(any_damage_is_found),
        cmocka_unit_test(padding_that_trains_is_found), cmocka_unit_test(members_without_reference_are_found),
        cmocka_unit_test(invalid_samples_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
