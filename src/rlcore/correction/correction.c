/*
 * correction.c: a correction from its options to its metrics.
 *
 * The order of the parts follows from what they need: the sums over rows come first, because the
 * weights depend on them; then the weights of all tokens; rejection comes last, and its metrics are
 * computed from the ratios of all tokens, including rejected ones.
 */
#include "correction/correction_internal.h"

static struct rl_correction_memory take(struct rl_scratch *s, size_t n_rows)
{
    struct rl_correction_memory m;
    m.ratios = rl_scratch_take(s, n_rows, sizeof *m.ratios);
    m.weights = rl_scratch_take(s, n_rows, sizeof *m.weights);
    m.rejected = rl_scratch_take(s, n_rows, sizeof *m.rejected);
    return m;
}

size_t rl_correction_bytes(size_t n_rows)
{
    struct rl_scratch s = rl_scratch_begin(NULL);
    take(&s, n_rows);
    return s.used;
}

static enum rl_status check(struct rl_correcting *c, struct rl_error *err)
{
    const struct rl_correction_options *o = c->options;
    if (c->p->batch.n_tokens && !c->keep)
        return rl_fail(err, RL_EINVAL, "the array for the modified mask is missing");
    if (o->is != RL_IS_NONE && c->p->batch.n_tokens && !c->sink.weights)
        return rl_fail(err, RL_EINVAL, "rollout_is: the array for the weights is missing");
    if (o->is != RL_IS_NONE && (!(o->is_threshold > 0) || !isfinite(o->is_threshold)))
        return rl_fail(err, RL_EINVAL, "rollout_is_threshold is %g, not above 0", o->is_threshold);
    if (o->is != RL_IS_NONE && (!(o->is_lower >= 0) || o->is_lower > o->is_threshold))
        return rl_fail(err, RL_EINVAL, "rollout_is_threshold begins at %g, not between 0 and %g", o->is_lower, o->is_threshold);
    return rl_rejections_parse(o->rs, o->rs_threshold, c->rejections, &c->n_rejections, err);
}

enum rl_status rl_correction_run(struct rl_correcting *c, struct rl_workspace *ws, struct rl_error *err)
{
    RL_TRY(check(c, err));
    struct rl_scratch s = rl_scratch_begin(ws);
    struct rl_distance d = rl_distance_empty();
    c->m = take(&s, c->p->batch.n_rows);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    rl_correction_walk(c);
    rl_distance_add(&d, c->m.ratios, c->p->batch.n_rows);
    /* Every metric is a mean over response tokens, so there must be at least one. */
    if (!(d.n_tokens > 0))
        return rl_fail(err, RL_EINVAL, "response mask has no response token");
    RL_TRY(rl_distance_check(c->p, &d, err));
    if (c->options->is != RL_IS_NONE)
        RL_TRY(rl_correction_weights(c, &d, err));
    rl_correction_reject(c, &d);
    rl_distance_report(&d, c->metrics);
    return RL_OK;
}
