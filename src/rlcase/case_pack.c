/*
 * case_pack.c: `lineage core prime_pack`.
 *
 * Reads samples and writes the plan of rlcore/pack.h as lists. Sizes are bounded, because a padded
 * batch may be far larger than the case that describes it, and a small file must not fill the
 * memory of the machine.
 */
#include <rlcore/pack.h>

#include "case_call.h"

enum { MAX_WORKERS = 4096, MAX_TOKENS = 1 << 24 };

/* The first list that is read sets the length of a sample; a list of another length is refused. */
struct reader {
    struct case_call *call;
    const json_t *sample;
    size_t index, seq_len, length; /* length after cutting; SIZE_MAX while unknown */
};

/*
 * A list of the sample, with its length checked; NULL if it is absent. Lengths are compared after
 * cutting to seq_len: lists must agree only as far as they are used.
 */
static const json_t *list(struct reader *r, const char *name, bool optional)
{
    const json_t *value = json_object_get(r->sample, name);
    if (optional && (!value || json_is_null(value)))
        return NULL;
    if (!json_is_array(value)) {
        case_fail(r->call, "inputs.samples[%zu].%s is not a list", r->index, name);
        return NULL;
    }
    size_t length = json_array_size(value) < r->seq_len ? json_array_size(value) : r->seq_len;
    if (r->length == SIZE_MAX)
        r->length = length;
    if (length != r->length)
        case_fail(r->call, "inputs.samples[%zu].%s has %zu tokens, token_ids %zu", r->index, name, length, r->length);
    return length == r->length ? value : NULL;
}

/* The elements of a list of the sample as a type of `size` bytes. A whole number that is written 3.0 is not a token. */
static void *elements(struct reader *r, const char *name, bool optional, enum rl_case_type type, size_t size)
{
    const json_t *values = list(r, name, optional);
    void *out = values ? case_alloc(r->call, r->length, size) : NULL;
    const char *why = type == RL_CASE_INT64   ? "is not a whole number"
                      : type == RL_CASE_UINT8 ? "is not true or false"
                                              : "is not a number";
    for (size_t t = 0; out && t < r->length; t++) {
        const json_t *item = json_array_get(values, t);
        if ((type == RL_CASE_INT64 && !json_is_integer(item)) || !case_store(item, type, false, out, t))
            case_fail(r->call, "inputs.samples[%zu].%s[%zu] %s", r->index, name, t, why);
    }
    return out;
}

static double *numbers(struct reader *r, const char *name, bool optional)
{
    return elements(r, name, optional, RL_CASE_FLOAT64, sizeof(double));
}

/*
 * Returns true if a token of the sample is a member of rl, including tokens beyond seq_len: the
 * golden vectors require advantages for the whole sample.
 */
static bool has_rl_member(const json_t *sample)
{
    const json_t *mask = json_object_get(sample, "mask"), *weights = json_object_get(sample, "rl_weights");
    for (size_t i = 0; i < json_array_size(mask); i++) {
        const json_t *weight = json_array_get(weights, i);
        const json_t *item = json_array_get(mask, i);
        if ((json_is_true(item) || json_number_value(item) > 0) && (!json_is_array(weights) || json_number_value(weight) != 0))
            return true;
    }
    return false;
}

/*
 * C does not define the order in which initialisers run. Whichever list is read first sets the
 * length and the others must agree, so every order gives the same length or an error.
 */
static struct rl_pack_sample read_sample(struct case_call *call, const json_t *sample, size_t index, size_t seq_len)
{
    struct reader r = {call, sample, index, seq_len, SIZE_MAX};
    const json_t *env_name = json_object_get(sample, "env_name");
    char where[64];
    snprintf(where, sizeof where, "samples[%zu]", index);
    case_check_members(call, "samples", where, sample);
    if (env_name && !json_is_null(env_name) && !json_is_string(env_name))
        case_fail(call, "inputs.%s.env_name is not a text", where);
    struct rl_pack_sample s = {.token_ids = elements(&r, "token_ids", false, RL_CASE_INT64, sizeof(int64_t)),
                               .mask = elements(&r, "mask", false, RL_CASE_UINT8, 1),
                               .logprobs = numbers(&r, "logprobs", false),
                               .temperatures = numbers(&r, "temperatures", false),
                               .advantages = numbers(&r, "advantages", true),
                               .ref_logprobs = numbers(&r, "ref_logprobs", true),
                               .rl_weights = numbers(&r, "rl_weights", true),
                               .ce_weights = numbers(&r, "ce_weights", true),
                               .ref_kl_weights = numbers(&r, "ref_kl_weights", true),
                               .env_name = json_string_value(env_name)};
    s.n_tokens = r.length == SIZE_MAX ? 0 : r.length;
    if (!s.advantages && has_rl_member(sample))
        case_fail(call, "inputs.samples[%zu]: advantages are missing for a token of the rl stream", index);
    return s;
}

static json_t *integer_list(const int64_t *values, size_t n)
{
    json_t *out = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(out, json_integer(values[i]));
    return out;
}

static json_t *size_list(const size_t *values, size_t n)
{
    json_t *out = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(out, json_integer((json_int_t)values[i]));
    return out;
}

/* Returns null for an absent stream, like prime-rl's None. */
static json_t *real_list(const double *values, bool present, size_t n)
{
    json_t *out = present ? json_array() : json_null();
    for (size_t i = 0; present && i < n; i++)
        json_array_append_new(out, case_real_value(values[i]));
    return out;
}

/* Padding belongs to no sample and gets "" as its environment. */
static json_t *micro_batch(const struct rl_pack_micro_batch *m, const struct rl_pack_sample *samples)
{
    json_t *mask = json_array(), *names = json_array();
    for (size_t t = 0; t < m->n_tokens; t++) {
        bool padding = m->sample[t] == SIZE_MAX;
        json_array_append_new(mask, json_boolean(m->mask[t]));
        json_array_append_new(names, json_string(padding ? "" : samples[m->sample[t]].env_name));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "input_ids",
                     integer_list(m->token_ids, m->n_tokens), "loss_mask", mask, "advantages",
                     real_list(m->advantages, true, m->n_tokens), "inference_logprobs", real_list(m->logprobs, true, m->n_tokens),
                     "position_ids", integer_list(m->position_ids, m->n_tokens), "sequence_lengths",
                     size_list(m->lengths, m->n_samples), "seq_lens", size_list(m->lengths, m->n_samples), "temperatures",
                     real_list(m->temperatures, true, m->n_tokens), "env_names", names, "ref_logprobs",
                     real_list(m->ref_logprobs, m->has_ref_logprobs, m->n_tokens), "rl_weights",
                     real_list(m->rl_weights, m->has_rl_weights, m->n_tokens), "ce_weights",
                     real_list(m->ce_weights, m->has_ce_weights, m->n_tokens), "ref_kl_weights",
                     real_list(m->ref_kl_weights, m->has_ref_kl_weights, m->n_tokens));
}

static struct rl_pack_micro_batch new_micro_batch(struct case_call *call, size_t n, size_t n_samples)
{
    struct rl_pack_micro_batch m = {.lengths = case_alloc(call, n_samples, sizeof *m.lengths),
                                    .mask = case_alloc(call, n, sizeof *m.mask),
                                    .sample = case_alloc(call, n, sizeof *m.sample),
                                    .token_ids = case_alloc(call, n, sizeof *m.token_ids),
                                    .position_ids = case_alloc(call, n, sizeof *m.position_ids)};
    double **streams[] = {&m.advantages, &m.logprobs,   &m.temperatures,  &m.ref_logprobs,
                          &m.rl_weights, &m.ce_weights, &m.ref_kl_weights};
    for (size_t k = 0; k < sizeof streams / sizeof *streams; k++)
        *streams[k] = case_alloc(call, n, sizeof **streams[k]);
    return m;
}

/*
 * The tokens are counted first, and all micro batches share the memory of one, because they are
 * written one at a time.
 */
static void put_workers(struct case_call *call, const struct rl_pack_sample *samples, const size_t *lengths, size_t n,
                        const struct rl_pack_options *options, const struct rl_pack_plan *plan)
{
    size_t most = 0, all = 0, per_worker = plan->n_slots / options->n_workers;
    for (size_t slot = 0; slot < plan->n_slots; slot++) {
        size_t tokens = rl_pack_tokens(lengths, options, plan, slot);
        most = tokens > most ? tokens : most;
        all += tokens;
    }
    if (all > MAX_TOKENS) {
        case_fail(call, "%zu micro batches hold %zu tokens with their padding, more than %d", plan->n_slots, all, MAX_TOKENS);
        return;
    }
    json_t *workers = json_array();
    struct rl_pack_micro_batch m = new_micro_batch(call, most, n);
    for (size_t slot = 0; slot < plan->n_slots && !call->failed; slot++) {
        /* The slots of a worker are consecutive in the plan. */
        if (slot % per_worker == 0)
            json_array_append_new(workers, json_array());
        rl_pack_fill(samples, options, plan, slot, &m);
        CASE_RUN(call, rl_pack_verify(samples, options, plan, slot, &m, &call->err));
        json_array_append_new(json_array_get(workers, slot / per_worker), micro_batch(&m, samples));
    }
    case_put(call, "workers", workers);
}

/* Returns 1 after a failure, so that sizes computed from it stay small. */
static size_t positive(struct case_call *call, const char *name, int most)
{
    int64_t value = case_integer(call, name);
    if (value >= 1 && value <= most)
        return (size_t)value;
    case_fail(call, "inputs.%s is %lld, not from 1 to %d", name, (long long)value, most);
    return 1;
}

/* Negative or huge sizes are refused before they are used, because the plan has memory per worker. */
void case_pack(struct case_call *call)
{
    const json_t *list_in = case_input(call, "samples");
    struct rl_pack_options options = {.seq_len = positive(call, "seq_len", INT32_MAX),
                                      .n_workers = positive(call, "num_train_workers", MAX_WORKERS),
                                      .pad_multiple = positive(call, "pad_to_multiple_of", INT32_MAX),
                                      .cost_linear = case_number_or(call, "cost_linear", 1),
                                      .cost_quadratic = case_number_or(call, "cost_quadratic", 0)};
    size_t n = json_array_size(list_in);
    if (!json_is_array(list_in))
        case_fail(call, "inputs.samples is not a list");
    struct rl_pack_sample *samples = case_alloc(call, n, sizeof *samples);
    size_t *lengths = case_alloc(call, n, sizeof *lengths);
    for (size_t i = 0; i < n && !call->failed; i++) {
        samples[i] = read_sample(call, json_array_get(list_in, i), i, options.seq_len);
        lengths[i] = samples[i].n_tokens;
    }
    struct rl_pack_plan plan = {.order = case_alloc(call, n, sizeof *plan.order),
                                .bin_start = case_alloc(call, n + 1, sizeof *plan.bin_start),
                                .slots = case_alloc(call, n + options.n_workers, sizeof *plan.slots)};
    CASE_RUN(call, rl_pack_check(samples, n, &options, &call->err));
    if (call->failed)
        return;
    CASE_RUN(call, rl_pack_plan(lengths, n, &options, &plan, &call->ws, &call->err));
    if (!call->failed)
        put_workers(call, samples, lengths, n, &options, &plan);
}
