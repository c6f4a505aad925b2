/*
 * case_stream_loss_real.c: `lineage core prime_loss`; its inputs are lists of lists of unequal
 * lengths.
 *
 * Sequences are never padded: prime-rl packs them end to end, and its metrics are one value per
 * sequence.
 */
#include <rlcore/stream_loss.h>

#include "case_real.h"

/* The sequences of a case; the first input sets their lengths. */
struct sequences {
    struct case_dim n;
    size_t *start;
};

/* Reads an input; returns NULL for null. */
static real *read_ragged(struct case_call *call, const char *name, struct sequences *s)
{
    return case_present(call, name) ? case_ragged(call, name, OWN_TYPE, &s->n, &s->start) : NULL;
}

/* Any value other than 0 and 1 becomes 2, which the core refuses with its position. */
static uint8_t *read_mask(struct case_call *call, struct sequences *s)
{
    real *values = read_ragged(call, "loss_mask", s);
    uint8_t *mask = case_alloc(call, s->start[s->n.n], sizeof *mask);
    if (!values)
        case_fail(call, "inputs.loss_mask is missing");
    for (size_t i = 0; values && mask && i < s->start[s->n.n]; i++)
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

void case_stream_loss(struct case_call *call)
{
    struct sequences s = {0};
    const real *trainer = case_ragged(call, "trainer_logprobs", OWN_TYPE, &s.n, &s.start);
    if (call->failed)
        return;
    struct rl_stream_options options = read_options(call);
    struct rl_sequences sequences = {s.n.n, s.start, read_mask(call, &s)};
    struct rl_streams streams = {.trainer = trainer,
                                 .inference = read_ragged(call, "inference_logprobs", &s),
                                 .advantages = read_ragged(call, "advantages", &s),
                                 .ref = read_ragged(call, "ref_logprobs", &s),
                                 .rl_weights = read_ragged(call, "rl_weights", &s),
                                 .ce_weights = read_ragged(call, "ce_weights", &s),
                                 .ref_kl_weights = read_ragged(call, "ref_kl_weights", &s)};
    real *gradient = case_alloc(call, s.start[s.n.n], sizeof *gradient);
    struct rl_stream_metrics *metrics = case_alloc(call, s.n.n, sizeof *metrics);
    struct rl_stream_result result;
    struct rl_stream_counts counts;
    if (!call->failed && (!streams.inference || !streams.advantages))
        case_fail(call, "inputs.%s is missing", streams.inference ? "advantages" : "inference_logprobs");
    CASE_RUN(call, rl_stream_loss(&sequences, &streams, &options, gradient, metrics, &result, &call->err));
    if (call->failed)
        return;
    /* Each component is a separate result, because two errors can cancel in their sum. */
    case_put_number(call, "loss", result.loss);
    case_put(call, "components", json_pack("{s:f, s:f, s:f}", "rl", result.rl, "ce", result.ce, "ref_kl", result.ref_kl));
    case_put_ragged(call, "d_trainer_logprobs", OWN_TYPE, gradient, s.start, s.n.n);
    rl_stream_count(&sequences, &streams, &counts);
    case_put(call, "counts",
             json_pack("{s:I, s:I, s:I}", "rl", (json_int_t)counts.rl, "ce", (json_int_t)counts.ce, "ref_kl",
                       (json_int_t)counts.ref_kl));
    case_put(call, "metrics", metrics_json(metrics, s.n.n, options.kind));
}
