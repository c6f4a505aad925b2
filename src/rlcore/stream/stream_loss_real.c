/*
 * stream_loss_real.c: the loss of three weight streams, sequence by sequence.
 *
 * Sequences have any length and are packed end to end, so threads share whole sequences. Each
 * component is divided by its own global count at the end; in a run on several machines these
 * counts are known before the loss is.
 */
#include <float.h>

#include <rlcore/stream_loss.h>

#include "stream/stream_internal.h"

/* The contribution of one sequence. */
struct part {
    double rl, ce, ref_kl;
    double members[3]; /* of rl, ce, ref_kl */
    struct rl_stream_metrics metrics;
    enum rl_status status;
    struct rl_error err;
};

static void zero_gradient(const struct rl_streaming *s, const struct rl_stretch *stretch)
{
    size_t first = rl_row_at(&s->batch, stretch->sequence) + stretch->from;
    for (size_t j = 0; s->gradient && j < stretch->n; j++)
        s->gradient[first + j] = 0;
}

/*
 * The wide loops are tried first. A chunk that they refuse has added nothing to the sums, but rl
 * may have written its gradient, to which the exact path adds; the gradient is therefore set to 0.
 */
static enum rl_status run_component(const struct rl_streaming *s, enum rl_component component, size_t sequence,
                                    struct rl_stream_sums *sums, struct rl_error *err)
{
    size_t n = rl_row_length(&s->batch, sequence);
    for (size_t t = 0; t < n; t += RL_CHUNK) {
        const struct rl_stretch stretch = {sequence, t, n - t < RL_CHUNK ? n - t : RL_CHUNK};
        if (rl_stream_chunk(s, component, &stretch, sums))
            continue;
        if (component == RL_COMPONENT_RL)
            zero_gradient(s, &stretch);
        RL_TRY(rl_stream_tokens(s, component, &stretch, sums, err));
    }
    return RL_OK;
}

/*
 * With max(.., 1) the means are 0 instead of 0 / 0 if a sequence has no members, or no masked
 * members.
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

/* rl runs first because it writes the gradient; the others add to it. */
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
    part.members[0] = rl.n, part.members[1] = ce.n, part.members[2] = ref.n;
    part.metrics.rl_ran = rl.n > 0 || !s->streams->rl_weights;
    rl_metrics_of(&rl, &part.metrics);
    part.metrics.ce_ran = ce.n > 0;
    part.metrics.nll = ce.other / fmax(ce.n, 1);
    ref_metrics_of(&ref, &part.metrics);
    return part;
}

enum { BLOCK = 64 }; /* sequences that run in parallel before they are added up in order */

static void run_block(const struct rl_streaming *s, size_t first, size_t n, struct part *parts)
{
    /* The number of tokens decides: for few tokens, starting threads costs more than the work. */
    bool parallel = rl_row_end(&s->batch, first + n - 1) - rl_row_at(&s->batch, first) >= RL_PARALLEL_TOKENS;
    (void)parallel; /* unused without OpenMP */
#pragma omp parallel for schedule(static) if (parallel)
    for (size_t j = 0; j < n; j++)
        parts[j] = run_sequence(s, first + j);
}

/*
 * Parts are added in the order of sequences and the first error in that order is reported, so that
 * neither depends on threads.
 */
static enum rl_status add_part(const struct part *part, struct rl_stream_result *total, double members[3], struct rl_error *err)
{
    for (size_t k = 0; k < 3; k++)
        members[k] += part->members[k];
    total->rl += part->rl;
    total->ce += part->ce;
    total->ref_kl += part->ref_kl;
    if (part->status != RL_OK && err)
        *err = part->err;
    return part->status;
}

/* A count of all micro batches that is below the count of this one would give the loss another scale. 1 is the default. */
static enum rl_status check_scales(const struct rl_stream_options *o, const double members[3], struct rl_error *err)
{
    static const char *const names[] = {"rl_scale", "ce_scale", "ref_kl_scale"};
    const double scales[] = {o->rl_scale, o->ce_scale, o->ref_kl_scale};
    for (size_t k = 0; k < 3; k++)
        if (scales[k] > 1 && scales[k] < members[k])
            return rl_fail(err, RL_EINVAL, "%s is %g, but this part alone has %g members: it counts the whole batch", names[k],
                           scales[k], members[k]);
    return RL_OK;
}

static enum rl_status run_all(const struct rl_streaming *s, struct rl_stream_metrics *metrics, struct rl_stream_result *total,
                              struct rl_error *err)
{
    double members[3] = {0};
    /*
     * Parts are kept on the stack in blocks, because the function has no workspace and a batch may
     * have any number of sequences.
     */
    struct part parts[BLOCK];
    for (size_t first = 0; first < s->batch.n_rows; first += BLOCK) {
        size_t n = s->batch.n_rows - first < BLOCK ? s->batch.n_rows - first : BLOCK;
        run_block(s, first, n, parts);
        for (size_t j = 0; j < n; j++) {
            /*
             * The sequence that failed is included, so that the caller's array is complete up to
             * that sequence.
             */
            if (metrics)
                metrics[first + j] = parts[j].metrics;
            RL_TRY(add_part(&parts[j], total, members, err));
        }
    }
    return check_scales(s->options, members, err);
}

/* Bounds are checked of the kind that reads them; an infinite one masks nothing. */
static enum rl_status check(const struct rl_streams *streams, const struct rl_stream_options *o, struct rl_error *err)
{
    if (!streams || !o)
        return rl_fail(err, RL_EINVAL, "streams or options are missing");
    if (!(o->rl_scale >= 1) || !(o->ce_scale >= 1) || !(o->ref_kl_scale >= 1))
        return rl_fail(err, RL_EINVAL, "scales are %g, %g, %g: token counts must be at least 1", o->rl_scale, o->ce_scale,
                       o->ref_kl_scale);
    if (o->kind != RL_STREAM_DPPO && o->kind != RL_STREAM_IPO)
        return rl_fail(err, RL_EINVAL, "kind of rl loss %d is unknown", (int)o->kind);
    const bool ipo = o->kind == RL_STREAM_IPO;
    const struct {
        const char *name;
        double value, most;
    } read[] = {{"dppo_mask_low", ipo ? 0 : o->dppo_mask_low, INFINITY},
                {"dppo_mask_high", ipo ? 0 : o->dppo_mask_high, INFINITY},
                {"ipo_threshold", ipo ? o->ipo_threshold : 0, INFINITY},
                {"adv_tau", o->adv_tau, DBL_MAX},
                {"kl_tau", o->kl_tau, DBL_MAX}};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        if (!(read[i].value >= 0 && read[i].value <= read[i].most))
            return rl_fail(err, RL_EINVAL, "%s is %g, negative or not %s", read[i].name, read[i].value,
                           isinf(read[i].most) ? "a number" : "finite");
    return RL_OK;
}

/*
 * Masks of bytes are checked while they are read, when the token is known. Wider masks are checked
 * in advance, because only their lowest byte is read later.
 */
static enum rl_status open_batch(struct rl_grid *grid, const struct rl_batch *batch, struct rl_error *err)
{
    bool single = sizeof(real) == sizeof(float);
    enum rl_status status = rl_grid_view(grid, batch, RL_NEEDS_MASK, single, err);
    return status == RL_OK && grid->mask_step != 1 ? rl_grid_open(grid, batch, RL_NEEDS_MASK, single, err) : status;
}

enum rl_status rl_batch_stream_loss(const struct rl_batch *batch, const struct rl_streams *streams,
                                    const struct rl_stream_options *options, real *d_trainer, struct rl_stream_metrics *metrics,
                                    struct rl_stream_result *result, struct rl_error *err)
{
    struct rl_streaming s = {.streams = streams, .options = options, .gradient = d_trainer};
    struct rl_stream_result total = {0};
    RL_TRY(RL_NEED(err, {"result", result}));
    RL_TRY(check(streams, options, err));
    RL_TRY(open_batch(&s.batch, batch, err));
    if (s.batch.n_rows && s.batch.n_tokens)
        RL_TRY(RL_NEED(err, {"trainer_logprobs", streams->trainer}));
    RL_TRY(run_all(&s, metrics, &total, err));
    /* The components are scaled at the end, so that those in the result add up to its loss. */
    total.rl /= options->rl_scale;
    total.ce /= options->ce_scale;
    total.ref_kl /= options->ref_kl_scale;
    total.loss = total.rl + total.ce + total.ref_kl;
    if (!isfinite(total.loss))
        return rl_fail(err, RL_EVALUE, "the loss overflows: it is %g", total.loss);
    *result = total;
    return RL_OK;
}

/* Sequences are the rows of a ragged batch. */
static struct rl_layout layout_of(const struct rl_sequences *sequences)
{
    return (struct rl_layout){.batch = {.n_rows = sequences->n, .n_tokens = RL_LAYOUT, .mask = sequences->loss_mask},
                              .size = sizeof(struct rl_layout),
                              .start = sequences->start};
}

enum rl_status rl_stream_loss(const struct rl_sequences *sequences, const struct rl_streams *streams,
                              const struct rl_stream_options *options, real *d_trainer, struct rl_stream_metrics *metrics,
                              struct rl_stream_result *result, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"sequences", sequences}));
    if (sequences->n && !sequences->start)
        return rl_fail(err, RL_EINVAL, "the starts of the sequences are missing");
    const struct rl_layout layout = layout_of(sequences);
    return rl_batch_stream_loss(&layout.batch, streams, options, d_trainer, metrics, result, err);
}

/* The test uses < and >, because a NaN would pass a test for != 0. */
static bool is_member(const struct rl_grid *batch, unsigned k, const real *weights, size_t i)
{
    real w = weights ? rl_real_at(batch, k, weights, i) : 0;
    return w < 0 || w > 0;
}

static void count_token(const struct rl_grid *batch, const struct rl_streams *streams, size_t i, struct rl_stream_counts *counts)
{
    counts->rl += rl_on(batch, i) && (!streams->rl_weights || is_member(batch, RL_RL_WEIGHTS, streams->rl_weights, i));
    counts->ce += is_member(batch, RL_CE_WEIGHTS, streams->ce_weights, i);
    counts->ref_kl += is_member(batch, RL_REF_KL_WEIGHTS, streams->ref_kl_weights, i);
}

enum rl_status rl_batch_stream_count(const struct rl_batch *batch, const struct rl_streams *streams,
                                     struct rl_stream_counts *counts, struct rl_error *err)
{
    struct rl_grid grid;
    RL_TRY(RL_NEED(err, {"streams", streams}, {"counts", counts}));
    RL_TRY(open_batch(&grid, batch, err));
    *counts = (struct rl_stream_counts){0};
    for (size_t row = 0; row < grid.n_rows; row++)
        for (size_t i = rl_row_at(&grid, row), end = rl_row_end(&grid, row); i < end; i++)
            count_token(&grid, streams, i, counts);
    return RL_OK;
}

/* Returns no status, because callers then run the loss on the same arrays, which reports errors. */
void rl_stream_count(const struct rl_sequences *sequences, const struct rl_streams *streams, struct rl_stream_counts *counts)
{
    const struct rl_layout layout = layout_of(sequences);
    *counts = (struct rl_stream_counts){0};
    enum rl_status status = rl_batch_stream_count(&layout.batch, streams, counts, NULL);
    (void)status;
}
