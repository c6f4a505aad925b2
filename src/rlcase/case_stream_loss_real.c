/*
 * case_stream_loss_real.c: `lineage core prime_loss`; its inputs are lists of lists of unequal
 * lengths.
 *
 * Sequences are never padded: prime-rl packs them end to end, and its metrics are one value per
 * sequence.
 */
#include <rlcore/stream_loss.h>

#include "case_real.h"

struct ragged {
    size_t n;
    size_t *start;
};

/* The first input sets the shape; all others are compared with it before they are read. */
static struct ragged read_lengths(struct case_call *call, const char *name)
{
    const struct rl_case_array *given = case_array(call, name);
    const json_t *rows = case_input(call, name);
    struct ragged shape = {.n = given ? given->n_rows : json_array_size(rows)};
    if (given) {
        shape.start = case_ragged_as(call, given, OWN_TYPE) ? case_alloc(call, shape.n + 1, sizeof *shape.start) : NULL;
        if (shape.start)
            memcpy(shape.start, given->start, (shape.n + 1) * sizeof *shape.start);
        return shape;
    }
    if (!json_is_array(rows))
        case_fail(call, "inputs.%s is missing or not a list", name);
    shape.start = case_alloc(call, shape.n + 1, sizeof *shape.start);
    for (size_t i = 0; shape.start && i < shape.n; i++) {
        if (!json_is_array(json_array_get(rows, i)))
            case_fail(call, "inputs.%s[%zu] is not a list", name, i);
        shape.start[i + 1] = shape.start[i] + json_array_size(json_array_get(rows, i));
    }
    return shape;
}

/* Masks may have booleans, which count as 0 and 1, and so may weights, which often are masks; elsewhere they are a mistake. */
static bool may_be_mask(const char *name)
{
    return strcmp(name, "loss_mask") == 0 || strcmp(name, "rl_weights") == 0 || strcmp(name, "ce_weights") == 0 ||
           strcmp(name, "ref_kl_weights") == 0;
}

/* Reads an input of the given shape; returns NULL for null. */
static real *read_ragged(struct case_call *call, const char *name, const struct ragged *shape)
{
    const bool mask = may_be_mask(name);
    const struct rl_case_array *given = case_array(call, name);
    if (given) {
        size_t bytes = (shape->n + 1) * sizeof *shape->start;
        real *values = case_ragged_as(call, given, OWN_TYPE);
        if (values && (given->n_rows != shape->n || memcmp(given->start, shape->start, bytes) != 0))
            case_fail(call, "inputs.%s has rows of other lengths than trainer_logprobs", name);
        return values;
    }
    const json_t *rows = case_input(call, name);
    real *out = case_present(call, name) ? case_alloc(call, shape->start[shape->n], sizeof *out) : NULL;
    if (out && json_array_size(rows) != shape->n)
        case_fail(call, "inputs.%s has %zu sequences where %zu are expected", name, json_array_size(rows), shape->n);
    for (size_t i = 0; out && !call->failed && i < shape->n; i++) {
        const json_t *row = json_array_get(rows, i);
        size_t length = shape->start[i + 1] - shape->start[i];
        if (json_array_size(row) != length)
            case_fail(call, "inputs.%s[%zu] has %zu tokens where %zu are expected", name, i, json_array_size(row), length);
        for (size_t j = 0; !call->failed && j < length; j++) {
            const json_t *item = json_array_get(row, j);
            if (!json_is_number(item) && !(mask && json_is_boolean(item)))
                case_fail(call, "inputs.%s[%zu][%zu] is not a number", name, i, j);
            out[shape->start[i] + j] = (real)(json_is_true(item) ? 1 : json_number_value(item));
        }
    }
    return out;
}

/* Any value other than 0 and 1 becomes 2, which the core refuses with its position. */
static uint8_t *read_mask(struct case_call *call, const struct ragged *shape)
{
    real *values = read_ragged(call, "loss_mask", shape);
    uint8_t *mask = case_alloc(call, shape->start[shape->n], sizeof *mask);
    if (!values)
        case_fail(call, "inputs.loss_mask is missing");
    for (size_t i = 0; values && mask && i < shape->start[shape->n]; i++)
        mask[i] = values[i] == 0 ? 0 : values[i] == 1 ? 1 : 2;
    return mask;
}

static struct rl_stream_options read_options(struct case_call *call)
{
    static const char *const kinds[] = {"default", "ipo", NULL};
    struct rl_stream_options o;
    rl_stream_options_init(&o);
    o.kind = (enum rl_stream_kind)case_choice(call, "rl_loss", kinds);
    o.dppo_mask_low = case_number_or(call, "dppo_mask_low", o.dppo_mask_low);
    o.dppo_mask_high = case_number_or(call, "dppo_mask_high", o.dppo_mask_high);
    o.ipo_threshold = case_number_or(call, "ipo_threshold", o.ipo_threshold);
    o.adv_tau = case_number_or(call, "adv_tau", o.adv_tau);
    o.kl_tau = case_number_or(call, "kl_tau", o.kl_tau);
    o.rl_scale = case_number_or(call, "rl_scale", 1);
    o.ce_scale = case_number_or(call, "ce_scale", 1);
    o.ref_kl_scale = case_number_or(call, "ref_kl_scale", 1);
    return o;
}

/* Append a metric of one sequence. */
static void add_metric(json_t *object, const char *name, double value)
{
    json_t *list = json_object_get(object, name);
    if (!list) {
        list = json_array();
        json_object_set_new(object, name, list);
    }
    json_array_append_new(list, json_real(value));
}

static json_t *metrics_json(const struct rl_stream_metrics *metrics, size_t n, enum rl_stream_kind kind)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++) {
        const struct rl_stream_metrics *m = &metrics[i];
        if (m->rl_ran) {
            add_metric(object, "masked_mismatch_kl", m->masked_mismatch_kl);
            add_metric(object, "unmasked_mismatch_kl", m->unmasked_mismatch_kl);
            add_metric(object, "is_masked", m->is_masked);
        }
        if (m->rl_ran && kind == RL_STREAM_DPPO) {
            add_metric(object, "is_masked_low", m->is_masked_low);
            add_metric(object, "is_masked_high", m->is_masked_high);
            add_metric(object, "masked_advantage_positive", m->masked_advantage_positive);
            add_metric(object, "masked_advantage_negative", m->masked_advantage_negative);
        }
        if (m->ce_ran)
            add_metric(object, "nll", m->nll);
        if (m->ref_kl_ran) {
            add_metric(object, "ref_kl/masked_mismatch_kl", m->ref_masked_mismatch_kl);
            add_metric(object, "ref_kl/unmasked_mismatch_kl", m->ref_unmasked_mismatch_kl);
            add_metric(object, "ref_kl/is_masked", m->ref_is_masked);
            add_metric(object, "ref_kl", m->ref_kl);
        }
    }
    return object;
}

/* Each component is a separate result, because two errors can cancel in their sum. */
static void put_result(struct case_call *call, const struct rl_stream_result *result, const real *gradient,
                       const struct ragged *shape)
{
    case_put_number(call, "loss", result->loss);
    case_put(call, "components", json_pack("{s:f, s:f, s:f}", "rl", result->rl, "ce", result->ce, "ref_kl", result->ref_kl));
    if (call->keeps_arrays) {
        case_keep(call, &(struct rl_case_array){.name = "d_trainer_logprobs",
                                                .type = OWN_TYPE,
                                                .n_dims = 1,
                                                .shape = {shape->start[shape->n]},
                                                .data = gradient,
                                                .start = shape->start,
                                                .n_rows = shape->n});
        return;
    }
    json_t *rows = json_array();
    for (size_t i = 0; i < shape->n; i++) {
        json_t *row = json_array();
        for (size_t j = shape->start[i]; j < shape->start[i + 1]; j++)
            if (json_array_append_new(row, json_real((double)gradient[j])) != 0)
                case_fail(call, "result d_trainer_logprobs[%zu][%zu] is not finite", i, j - shape->start[i]);
        json_array_append_new(rows, row);
    }
    case_put(call, "d_trainer_logprobs", rows);
}

void case_stream_loss(struct case_call *call)
{
    struct ragged shape = read_lengths(call, "trainer_logprobs");
    if (call->failed)
        return;
    struct rl_stream_options options = read_options(call);
    struct rl_sequences sequences = {shape.n, shape.start, read_mask(call, &shape)};
    struct rl_streams streams = {.trainer = read_ragged(call, "trainer_logprobs", &shape),
                                 .inference = read_ragged(call, "inference_logprobs", &shape),
                                 .advantages = read_ragged(call, "advantages", &shape),
                                 .ref = read_ragged(call, "ref_logprobs", &shape),
                                 .rl_weights = read_ragged(call, "rl_weights", &shape),
                                 .ce_weights = read_ragged(call, "ce_weights", &shape),
                                 .ref_kl_weights = read_ragged(call, "ref_kl_weights", &shape)};
    real *gradient = case_alloc(call, shape.start[shape.n], sizeof *gradient);
    struct rl_stream_metrics *metrics = case_alloc(call, shape.n, sizeof *metrics);
    struct rl_stream_result result;
    struct rl_stream_counts counts;
    if (!call->failed && (!streams.inference || !streams.advantages))
        case_fail(call, "inputs.%s is missing", streams.inference ? "advantages" : "inference_logprobs");
    CASE_RUN(call, rl_stream_loss(&sequences, &streams, &options, gradient, metrics, &result, &call->err));
    if (call->failed)
        return;
    put_result(call, &result, gradient, &shape);
    rl_stream_count(&sequences, &streams, &counts);
    case_put(call, "counts",
             json_pack("{s:I, s:I, s:I}", "rl", (json_int_t)counts.rl, "ce", (json_int_t)counts.ce, "ref_kl",
                       (json_int_t)counts.ref_kl));
    case_put(call, "metrics", metrics_json(metrics, shape.n, options.kind));
}
