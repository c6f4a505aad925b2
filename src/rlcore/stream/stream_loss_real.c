/*
 * stream_loss_real.c: the loss of three weight streams, sequence by sequence.
 *
 * Sequences are of any length and packed one behind the other, so threads share whole sequences.
 * Each component is divided by its own global count at the end: in a run over several machines
 * those counts are known before the loss is.
 */
#include <rlcore/stream_loss.h>

#include <math.h>

#include "stream/stream_internal.h"

/* What one sequence adds. */
struct part {
    double rl, ce, ref_kl;
    struct rl_stream_metrics metrics;
    enum rl_status status;
    struct rl_error err;
};

static void zero_gradient(const struct rl_streaming *s, const struct rl_stretch *stretch)
{
    size_t first = s->sequences->start[stretch->sequence] + stretch->from;
    for (size_t j = 0; s->gradient && j < stretch->n; j++)
        s->gradient[first + j] = 0;
}

/*
 * The chunk decides first whether it is plain. A refused chunk has added nothing to the sums, but
 * rl may have written its gradient, which the tokens add to: hence the zeroing.
 */
static enum rl_status run_component(const struct rl_streaming *s, enum rl_component component,
                                    size_t sequence, struct rl_stream_sums *sums,
                                    struct rl_error *err)
{
    size_t n = s->sequences->start[sequence + 1] - s->sequences->start[sequence];
    enum rl_status status = RL_OK;
    for (size_t t = 0; status == RL_OK && t < n; t += RL_CHUNK) {
        const struct rl_stretch stretch = {sequence, t, n - t < RL_CHUNK ? n - t : RL_CHUNK};
        if (rl_stream_chunk(s, component, &stretch, sums))
            continue;
        if (component == RL_COMPONENT_RL)
            zero_gradient(s, &stretch);
        status = rl_stream_tokens(s, component, &stretch, sums, err);
    }
    return status;
}

/*
 * max(.., 1): a sequence without members, or without masked ones, has means of 0 and not of 0 / 0.
 */
static void rl_metrics_of(const struct rl_stream_sums *sums, struct rl_stream_metrics *m)
{
    double n = fmax(sums->n, 1), n_out = fmax(sums->out, 1);
    m->masked_mismatch_kl = sums->out_kl / n_out;
    m->unmasked_mismatch_kl = sums->in_kl / fmax(sums->n - sums->out, 1);
    m->is_masked = sums->out / n;
    m->is_masked_low = sums->low / n;
    m->is_masked_high = sums->high / n;
    m->masked_advantage_positive = sums->positive / n_out;
    m->masked_advantage_negative = sums->negative / n_out;
}

static void ref_metrics_of(const struct rl_stream_sums *sums, struct rl_stream_metrics *m)
{
    double n = fmax(sums->n, 1);
    m->ref_kl_ran = sums->n > 0;
    m->ref_masked_mismatch_kl = sums->out_kl / fmax(sums->out, 1);
    m->ref_unmasked_mismatch_kl = sums->in_kl / fmax(sums->n - sums->out, 1);
    m->ref_is_masked = sums->out / n;
    m->ref_kl = sums->other / n;
}

/* rl first: it writes the gradient, the others add to what stands there. */
static struct part run_sequence(const struct rl_streaming *s, size_t sequence)
{
    struct rl_stream_sums rl = {0}, ce = {0}, ref = {0};
    struct part part = {.status = RL_OK};
    part.status = run_component(s, RL_COMPONENT_RL, sequence, &rl, &part.err);
    if (part.status == RL_OK && s->streams->ce_weights)
        part.status = run_component(s, RL_COMPONENT_CE, sequence, &ce, &part.err);
    if (part.status == RL_OK && s->streams->ref_kl_weights)
        part.status = run_component(s, RL_COMPONENT_REF_KL, sequence, &ref, &part.err);
    part.rl = rl.loss;
    part.ce = ce.loss;
    part.ref_kl = ref.loss;
    part.metrics.rl_ran = rl.n > 0 || !s->streams->rl_weights;
    rl_metrics_of(&rl, &part.metrics);
    part.metrics.ce_ran = ce.n > 0;
    part.metrics.nll = ce.other / fmax(ce.n, 1);
    ref_metrics_of(&ref, &part.metrics);
    return part;
}

enum { BLOCK = 64 }; /* sequences that run in parallel, to be added up in their order */

static void run_block(const struct rl_streaming *s, size_t first, size_t n, struct part *parts)
{
    const size_t *start = s->sequences->start + first;
    /* By tokens and not by sequences: below that, starting threads costs more than the work. */
    bool parallel = start[n] - start[0] >= RL_PARALLEL_TOKENS;
    (void)parallel; /* unused without OpenMP */
#pragma omp parallel for schedule(static) if (parallel)
    for (size_t j = 0; j < n; j++)
        parts[j] = run_sequence(s, first + j);
}

/*
 * In the order of sequences, and the first error in that order, so that neither sum nor message
 * depends on threads.
 */
static enum rl_status add_part(const struct part *part, struct rl_stream_result *total,
                               struct rl_error *err)
{
    total->rl += part->rl;
    total->ce += part->ce;
    total->ref_kl += part->ref_kl;
    if (part->status != RL_OK && err)
        *err = part->err;
    return part->status;
}

static enum rl_status run_all(const struct rl_streaming *s, struct rl_stream_metrics *metrics,
                              struct rl_stream_result *total, struct rl_error *err)
{
    /*
     * A block on the stack and no workspace: a batch may have any number of sequences, and their
     * parts are added up at once.
     */
    struct part parts[BLOCK];
    enum rl_status status = RL_OK;
    for (size_t first = 0; status == RL_OK && first < s->sequences->n; first += BLOCK) {
        size_t n = s->sequences->n - first < BLOCK ? s->sequences->n - first : BLOCK;
        run_block(s, first, n, parts);
        for (size_t j = 0; status == RL_OK && j < n; j++) {
            status = add_part(&parts[j], total, err);
            /* Also of the sequence that failed: the caller's array is then full up to it. */
            if (metrics)
                metrics[first + j] = parts[j].metrics;
        }
    }
    return status;
}

/*
 * Starts are checked one by one: they become pointers into every array, and a step back would make
 * a length of almost 2^64.
 */
static enum rl_status check_arrays(const struct rl_sequences *sequences,
                                   const struct rl_streams *streams, struct rl_error *err)
{
    if (sequences->n && !sequences->start)
        return rl_fail(err, RL_EINVAL, "the starts of the sequences are missing");
    for (size_t i = 0; i < sequences->n; i++)
        if (sequences->start[i] > sequences->start[i + 1])
            return rl_fail(err, RL_EINVAL, "start[%zu] is %zu, after the next", i,
                           sequences->start[i]);
    if (sequences->n == 0 || sequences->start[sequences->n] == 0)
        return RL_OK;
    if (!sequences->loss_mask || !streams->trainer)
        return rl_fail(err, RL_EINVAL, "%s is missing",
                       sequences->loss_mask ? "trainer_logprobs" : "loss_mask");
    return RL_OK;
}

static enum rl_status check(const struct rl_sequences *sequences, const struct rl_streams *streams,
                            const struct rl_stream_options *o, struct rl_error *err)
{
    if (!sequences || !streams || !o)
        return rl_fail(err, RL_EINVAL, "sequences, streams or options are missing");
    if (!(o->rl_scale >= 1) || !(o->ce_scale >= 1) || !(o->ref_kl_scale >= 1))
        return rl_fail(err, RL_EINVAL, "scales are %g, %g, %g: token counts must be at least 1",
                       o->rl_scale, o->ce_scale, o->ref_kl_scale);
    if (o->kind != RL_STREAM_DPPO && o->kind != RL_STREAM_IPO)
        return rl_fail(err, RL_EINVAL, "kind of rl loss %d is unknown", (int)o->kind);
    return check_arrays(sequences, streams, err);
}

enum rl_status rl_stream_loss(const struct rl_sequences *sequences,
                              const struct rl_streams *streams,
                              const struct rl_stream_options *options, real *d_trainer,
                              struct rl_stream_metrics *metrics, struct rl_stream_result *result,
                              struct rl_error *err)
{
    if (RL_NEED(err, {"result", result}) != RL_OK)
        return RL_EINVAL;
    const struct rl_streaming s = {sequences, streams, options, d_trainer};
    struct rl_stream_result total = {0};
    enum rl_status status = check(sequences, streams, options, err);
    if (status == RL_OK)
        status = run_all(&s, metrics, &total, err);
    if (status != RL_OK)
        return status;
    /* Last, so that the parts in the result add up to the loss in it. */
    total.rl /= options->rl_scale;
    total.ce /= options->ce_scale;
    total.ref_kl /= options->ref_kl_scale;
    total.loss = total.rl + total.ce + total.ref_kl;
    if (!isfinite(total.loss))
        return rl_fail(err, RL_EVALUE, "the loss overflows: it is %g", total.loss);
    *result = total;
    return RL_OK;
}

/* < and >, and not != 0, which a NaN would pass. */
static bool is_member(const real *weights, size_t i)
{
    return weights && (weights[i] < 0 || weights[i] > 0);
}

void rl_stream_count(const struct rl_sequences *sequences, const struct rl_streams *streams,
                     struct rl_stream_counts *counts)
{
    for (size_t i = 0; i < (sequences->n ? sequences->start[sequences->n] : 0); i++) {
        counts->rl +=
            sequences->loss_mask[i] && (!streams->rl_weights || is_member(streams->rl_weights, i));
        counts->ce += is_member(streams->ce_weights, i);
        counts->ref_kl += is_member(streams->ref_kl_weights, i);
    }
}
