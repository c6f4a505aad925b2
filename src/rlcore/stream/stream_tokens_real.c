/*
 * stream_tokens_real.c: the three components token by token, with a check of every value before it
 * is used.
 *
 * This file uses plain double arithmetic. Chunks with unusual values come here, so this is both the
 * simplest form of the definition and the place that names a bad value. The wide loops are tested
 * against it.
 */

#include "stream/stream_internal.h"

static const char *const component_names[] = {"rl_weights", "ce_weights", "ref_kl_weights"};

/* One token and the sums that it is added to. */
struct place {
    const struct rl_streaming *s;
    enum rl_component component;
    size_t sequence, token, i; /* i: index in the flat arrays */
    struct rl_stream_sums *sums;
    struct rl_error *err;
};

static enum rl_status not_finite(const struct place *at, const char *name, double value)
{
    return rl_fail(at->err, RL_EVALUE, "%s[%zu][%zu] is %g, not a finite number", name, at->sequence, at->token, value);
}

/* The k-th stream at the token. */
static double value_at(const struct place *at, unsigned k, const real *values)
{
    return (double)rl_real_at(&at->s->batch, k, values, at->i);
}

static enum rl_status check(const struct place *at, const char *name, unsigned k, const real *values)
{
    if (!values)
        return rl_fail(at->err, RL_EINVAL, "%s are missing for %s[%zu][%zu]", name, component_names[at->component], at->sequence,
                       at->token);
    double value = value_at(at, k, values);
    return isfinite(value) ? RL_OK : not_finite(at, name, value);
}

static double trainer_at(const struct place *at)
{
    return value_at(at, RL_TRAINER, at->s->streams->trainer);
}

/* Check both log-probs and their ratio, which is refused if it overflows the precision of the results. */
static enum rl_status check_pair(const struct place *at)
{
    const struct rl_streams *in = at->s->streams;
    enum rl_status status = check(at, "trainer_logprobs", RL_TRAINER, in->trainer);
    if (status == RL_OK)
        status = check(at, "inference_logprobs", RL_INFERENCE, in->inference);
    real ratio = status == RL_OK ? (real)exp(trainer_at(at) - value_at(at, RL_INFERENCE, in->inference)) : 1;
    return status == RL_OK && !isfinite(ratio) ? not_finite(at, "importance ratio", (double)ratio) : status;
}

static void add_gradient(const struct place *at, double value)
{
    if (at->s->gradient)
        at->s->gradient[at->i] = (real)((double)at->s->gradient[at->i] + value);
}

/* The two probabilities of a member of rl or ref_kl. */
struct pair {
    double l, ratio, difference; /* difference of the probabilities */
};

static struct pair pair_at(const struct place *at)
{
    double p = trainer_at(at), q = value_at(at, RL_INFERENCE, at->s->streams->inference);
    return (struct pair){p - q, exp(p - q), exp(p) - exp(q)};
}

static void add_pair(const struct place *at, const struct pair *x, double weight, double pull, double kl_tau, double scale)
{
    at->sums->loss += weight * (kl_tau * x->l * x->l - pull);
    add_gradient(at, weight * (2 * kl_tau * x->l - pull) / scale);
    at->sums->n++;
}

static void add_mismatch(const struct place *at, const struct pair *x, bool out)
{
    *(out ? &at->sums->out_kl : &at->sums->in_kl) += x->ratio - x->l - 1;
    at->sums->out += out;
}

/*
 * DPPO masks only movement in the direction of the advantage: moving back towards the sampler is
 * never masked. IPO masks both directions.
 */
static bool is_out(const struct rl_stream_options *o, double advantage, double difference)
{
    if (o->kind == RL_STREAM_IPO)
        return fabs(difference) > o->ipo_threshold;
    return advantage > 0 ? difference > o->dppo_mask_high : difference < -o->dppo_mask_low;
}

static enum rl_status rl_token(const struct place *at, double weight)
{
    const struct rl_stream_options *o = at->s->options;
    RL_TRY(check_pair(at));
    RL_TRY(check(at, "advantages", RL_STREAM_ADVANTAGES, at->s->streams->advantages));
    double advantage = value_at(at, RL_STREAM_ADVANTAGES, at->s->streams->advantages);
    struct pair x = pair_at(at);
    bool out = is_out(o, advantage, x.difference);
    add_pair(at, &x, weight, out ? 0 : o->adv_tau * advantage * x.ratio, o->kl_tau, o->rl_scale);
    add_mismatch(at, &x, out);
    at->sums->low += advantage < 0 && x.difference < -o->dppo_mask_low;
    at->sums->high += advantage > 0 && x.difference > o->dppo_mask_high;
    at->sums->positive += out && advantage > 0;
    at->sums->negative += out && advantage < 0;
    return RL_OK;
}

static enum rl_status ce_token(const struct place *at, double weight)
{
    RL_TRY(check(at, "trainer_logprobs", RL_TRAINER, at->s->streams->trainer));
    at->sums->loss -= weight * trainer_at(at);
    at->sums->other -= trainer_at(at);
    at->sums->n++;
    add_gradient(at, -weight / at->s->options->ce_scale);
    return RL_OK;
}

/*
 * The advantage is the reference's log-prob minus the trainer's. Only tokens that have become much
 * less likely are masked, because there the ratio is no longer meaningful.
 */
static enum rl_status ref_token(const struct place *at, double weight)
{
    const real *ref = at->s->streams->ref;
    RL_TRY(check_pair(at));
    RL_TRY(check(at, "ref_logprobs", RL_REF, ref));
    double gap = value_at(at, RL_REF, ref) - trainer_at(at);
    struct pair x = pair_at(at);
    bool out = x.difference < -RL_REF_MASK_LOW;
    add_pair(at, &x, weight, out ? 0 : gap * x.ratio, RL_REF_KL_TAU, at->s->options->ref_kl_scale);
    add_mismatch(at, &x, out);
    at->sums->other += gap;
    return RL_OK;
}

/*
 * The weight of a token, 0 if it is not a member. A weight that is not finite, or a mask of 2, is
 * refused at any token.
 */
static enum rl_status weigh(const struct place *at, double *weight)
{
    const struct rl_streams *in = at->s->streams;
    const real *const streams[] = {in->rl_weights, in->ce_weights, in->ref_kl_weights};
    uint8_t mask = rl_on(&at->s->batch, at->i);
    if (mask > 1)
        return rl_fail(at->err, RL_EVALUE, "loss_mask[%zu][%zu] is %u, not 0 or 1", at->sequence, at->token, mask);
    *weight = streams[at->component] ? value_at(at, RL_RL_WEIGHTS + (unsigned)at->component, streams[at->component]) : 1;
    if (!isfinite(*weight))
        return not_finite(at, component_names[at->component], *weight);
    if (at->component == RL_COMPONENT_RL && !mask)
        *weight = 0;
    return RL_OK;
}

enum rl_status rl_stream_tokens(const struct rl_streaming *s, enum rl_component component, const struct rl_stretch *stretch,
                                struct rl_stream_sums *sums, struct rl_error *err)
{
    static enum rl_status (*const add[])(const struct place *, double) = {rl_token, ce_token, ref_token};
    for (size_t j = 0; j < stretch->n; j++) {
        size_t token = stretch->from + j;
        const struct place at = {.s = s,
                                 .component = component,
                                 .sequence = stretch->sequence,
                                 .token = token,
                                 .i = rl_row_at(&s->batch, stretch->sequence) + token,
                                 .sums = sums,
                                 .err = err};
        double weight = 0;
        RL_TRY(weigh(&at, &weight));
        if (weight < 0 || weight > 0)
            RL_TRY(add[component](&at, weight));
    }
    return RL_OK;
}
