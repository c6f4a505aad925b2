/* stream_loss.c: one pass per component over the tokens of each sequence. */
#include <rlcore/stream_loss.h>

#include <math.h>

#include "internal.h"
#include "real.h"

static const double ref_mask_low = 0.2, ref_kl_tau = 1e-3;

struct RL(streaming) {
    const struct rl_sequences *sequences;
    const struct RL(rl_streams) * streams;
    const struct rl_stream_options *options;
    real *gradient; /* or NULL */
    struct rl_error *err;
};

static bool in_rl(const struct RL(streaming) * s, size_t i)
{
    return s->sequences->loss_mask[i] &&
           (!s->streams->rl_weights || s->streams->rl_weights[i] != 0);
}

static bool in_stream(const real *weights, size_t i)
{
    return weights && weights[i] != 0;
}

static enum rl_status bad(const struct RL(streaming) * s, size_t sequence, size_t i,
                          const char *name, double value)
{
    return rl_fail(s->err, RL_EVALUE, "%s[%zu][%zu] is %g, not a finite number", name, sequence,
                   i - s->sequences->start[sequence], value);
}

/* A ratio beyond double is refused like any value that is not finite. */
static enum rl_status check_pair(const struct RL(streaming) * s, size_t sequence, size_t i,
                                 double l)
{
    if (!isfinite(s->streams->trainer[i]))
        return bad(s, sequence, i, "trainer_logprobs", (double)s->streams->trainer[i]);
    if (!isfinite(s->streams->inference[i]))
        return bad(s, sequence, i, "inference_logprobs", (double)s->streams->inference[i]);
    return isfinite(exp(l)) ? RL_OK : bad(s, sequence, i, "importance ratio", exp(l));
}

static void add_gradient(const struct RL(streaming) * s, size_t i, double value)
{
    if (s->gradient)
        s->gradient[i] = (real)((double)s->gradient[i] + value);
}

/* Sums of one component in one sequence. */
struct RL(stream_sums) {
    double loss, n, out_kl, in_kl, out, low, high, positive, negative, other;
};

static bool is_out(const struct rl_stream_options *o, double advantage, double difference)
{
    if (o->kind == RL_STREAM_IPO)
        return fabs(difference) > o->ipo_threshold;
    return advantage > 0 ? difference > o->dppo_mask_high : difference < -o->dppo_mask_low;
}

static enum rl_status rl_token(const struct RL(streaming) * s, size_t sequence, size_t i,
                               struct RL(stream_sums) * sums)
{
    const struct rl_stream_options *o = s->options;
    double l = (double)s->streams->trainer[i] - (double)s->streams->inference[i], ratio = exp(l);
    double weight = s->streams->rl_weights ? (double)s->streams->rl_weights[i] : 1;
    enum rl_status status = check_pair(s, sequence, i, l);
    if (status != RL_OK)
        return status;
    double advantage = (double)s->streams->advantages[i];
    if (!isfinite(advantage))
        return bad(s, sequence, i, "advantages", advantage);
    double difference = exp((double)s->streams->trainer[i]) - exp((double)s->streams->inference[i]);
    bool out = is_out(o, advantage, difference);
    double policy = out ? 0 : o->adv_tau * advantage * ratio;
    sums->loss += weight * (o->kl_tau * l * l - policy);
    add_gradient(s, i, weight * (2 * o->kl_tau * l - policy) / o->rl_scale);
    sums->n++;
    *(out ? &sums->out_kl : &sums->in_kl) += ratio - l - 1;
    sums->out += out;
    sums->low += advantage < 0 && difference < -o->dppo_mask_low;
    sums->high += advantage > 0 && difference > o->dppo_mask_high;
    sums->positive += out && advantage > 0;
    sums->negative += out && advantage < 0;
    return RL_OK;
}

static enum rl_status ce_token(const struct RL(streaming) * s, size_t sequence, size_t i,
                               struct RL(stream_sums) * sums)
{
    double weight = (double)s->streams->ce_weights[i], log_prob = (double)s->streams->trainer[i];
    if (!isfinite(log_prob))
        return bad(s, sequence, i, "trainer_logprobs", log_prob);
    sums->loss -= weight * log_prob;
    sums->other -= log_prob;
    sums->n++;
    add_gradient(s, i, -weight / s->options->ce_scale);
    return RL_OK;
}

static enum rl_status ref_token(const struct RL(streaming) * s, size_t sequence, size_t i,
                                struct RL(stream_sums) * sums)
{
    double l = (double)s->streams->trainer[i] - (double)s->streams->inference[i], ratio = exp(l);
    double weight = (double)s->streams->ref_kl_weights[i];
    enum rl_status status = check_pair(s, sequence, i, l);
    if (status != RL_OK)
        return status;
    if (!s->streams->ref)
        return rl_fail(s->err, RL_EINVAL, "ref_logprobs are missing for ref_kl_weights[%zu][%zu]",
                       sequence, i - s->sequences->start[sequence]);
    if (!isfinite(s->streams->ref[i]))
        return bad(s, sequence, i, "ref_logprobs", (double)s->streams->ref[i]);
    double gap = (double)s->streams->ref[i] - (double)s->streams->trainer[i];
    bool out =
        exp((double)s->streams->trainer[i]) - exp((double)s->streams->inference[i]) < -ref_mask_low;
    double pull = out ? 0 : gap * ratio;
    sums->loss += weight * (ref_kl_tau * l * l - pull);
    add_gradient(s, i, weight * (2 * ref_kl_tau * l - pull) / s->options->ref_kl_scale);
    sums->n++;
    *(out ? &sums->out_kl : &sums->in_kl) += ratio - l - 1;
    sums->out += out;
    sums->other += gap;
    return RL_OK;
}

static void rl_metrics_of(const struct RL(streaming) * s, const struct RL(stream_sums) * sums,
                          struct rl_stream_metrics *m)
{
    double n = fmax(sums->n, 1), n_out = fmax(sums->out, 1);
    m->rl_ran = sums->n > 0 || !s->streams->rl_weights;
    m->masked_mismatch_kl = sums->out_kl / n_out;
    m->unmasked_mismatch_kl = sums->in_kl / fmax(sums->n - sums->out, 1);
    m->is_masked = sums->out / n;
    m->is_masked_low = sums->low / n;
    m->is_masked_high = sums->high / n;
    m->masked_advantage_positive = sums->positive / n_out;
    m->masked_advantage_negative = sums->negative / n_out;
}

static void ref_metrics_of(const struct RL(stream_sums) * sums, struct rl_stream_metrics *m)
{
    double n = fmax(sums->n, 1);
    m->ref_kl_ran = sums->n > 0;
    m->ref_masked_mismatch_kl = sums->out_kl / fmax(sums->out, 1);
    m->ref_unmasked_mismatch_kl = sums->in_kl / fmax(sums->n - sums->out, 1);
    m->ref_is_masked = sums->out / n;
    m->ref_kl = sums->other / n;
}

static enum rl_status one_sequence(const struct RL(streaming) * s, size_t sequence,
                                   struct rl_stream_metrics *m, struct rl_stream_result *total)
{
    struct RL(stream_sums) rl = {0}, ce = {0}, ref = {0};
    enum rl_status status = RL_OK;
    for (size_t i = s->sequences->start[sequence];
         status == RL_OK && i < s->sequences->start[sequence + 1]; i++) {
        if (s->sequences->loss_mask[i] > 1)
            return rl_fail(s->err, RL_EVALUE, "loss_mask[%zu][%zu] is %u, not 0 or 1", sequence,
                           i - s->sequences->start[sequence], s->sequences->loss_mask[i]);
        if (in_rl(s, i))
            status = rl_token(s, sequence, i, &rl);
        if (status == RL_OK && in_stream(s->streams->ce_weights, i))
            status = ce_token(s, sequence, i, &ce);
        if (status == RL_OK && in_stream(s->streams->ref_kl_weights, i))
            status = ref_token(s, sequence, i, &ref);
    }
    rl_metrics_of(s, &rl, m);
    m->ce_ran = ce.n > 0;
    m->nll = ce.other / fmax(ce.n, 1);
    ref_metrics_of(&ref, m);
    total->rl += rl.loss;
    total->ce += ce.loss;
    total->ref_kl += ref.loss;
    return status;
}

static enum rl_status check_weights(const char *name, const real *weights,
                                    const struct rl_sequences *sequences, struct rl_error *err)
{
    for (size_t i = 0; weights && i < sequences->start[sequences->n]; i++)
        if (!isfinite(weights[i]))
            return rl_fail(err, RL_EVALUE, "%s at token %zu is %g, not a finite number", name, i,
                           (double)weights[i]);
    return RL_OK;
}

static enum rl_status check(const struct RL(streaming) * s)
{
    const struct rl_stream_options *o = s->options;
    if (!(o->rl_scale >= 1) || !(o->ce_scale >= 1) || !(o->ref_kl_scale >= 1))
        return rl_fail(s->err, RL_EINVAL, "scales are %g, %g, %g: token counts must be at least 1",
                       o->rl_scale, o->ce_scale, o->ref_kl_scale);
    enum rl_status status =
        check_weights("rl_weights", s->streams->rl_weights, s->sequences, s->err);
    if (status == RL_OK)
        status = check_weights("ce_weights", s->streams->ce_weights, s->sequences, s->err);
    if (status == RL_OK)
        status = check_weights("ref_kl_weights", s->streams->ref_kl_weights, s->sequences, s->err);
    return status;
}

enum rl_status RL(rl_stream_loss)(const struct rl_sequences *sequences,
                                  const struct RL(rl_streams) * streams,
                                  const struct rl_stream_options *options, real *d_trainer,
                                  struct rl_stream_metrics *metrics,
                                  struct rl_stream_result *result, struct rl_error *err)
{
    struct RL(streaming) s = {sequences, streams, options, d_trainer, err};
    struct rl_stream_result total = {0};
    enum rl_status status = check(&s);
    for (size_t i = 0; d_trainer && i < sequences->start[sequences->n]; i++)
        d_trainer[i] = 0;
    for (size_t i = 0; status == RL_OK && i < sequences->n; i++) {
        struct rl_stream_metrics m = {0};
        status = one_sequence(&s, i, &m, &total);
        if (metrics)
            metrics[i] = m;
    }
    total.rl /= options->rl_scale;
    total.ce /= options->ce_scale;
    total.ref_kl /= options->ref_kl_scale;
    total.loss = total.rl + total.ce + total.ref_kl;
    if (status == RL_OK)
        *result = total;
    return status;
}

void RL(rl_stream_count)(const struct rl_sequences *sequences,
                         const struct RL(rl_streams) * streams, struct rl_stream_counts *counts)
{
    struct RL(streaming) s = {.sequences = sequences, .streams = streams};
    for (size_t i = 0; i < sequences->start[sequences->n]; i++) {
        counts->rl += in_rl(&s, i);
        counts->ce += in_stream(streams->ce_weights, i);
        counts->ref_kl += in_stream(streams->ref_kl_weights, i);
    }
}
