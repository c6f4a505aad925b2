/*
 * pack_verify.c: unpacks micro batches and compares them with their samples.
 *
 * The checks are written from the definition and not from pack.c, so that a fault of pack.c is not
 * repeated here. A token in the wrong sample still trains, only on something else, and no other
 * check would notice.
 */
#include <rlcore/pack.h>

#include "support/scratch.h"

static const double *at_if(const double *values, bool present, size_t at)
{
    return present ? values + at : NULL;
}

/* The position is computed from the lengths, because attention kernels use the lengths too. */
static size_t first_token(const struct rl_pack_micro_batch *batch, size_t k)
{
    size_t at = 0;
    for (size_t i = 0; i < k; i++)
        at += batch->lengths[i];
    return at;
}

size_t rl_pack_unpack(const struct rl_pack_micro_batch *batch, size_t k, struct rl_pack_sample *out)
{
    size_t at = first_token(batch, k), n = batch->lengths[k];
    /* Padding is counted in the length of the last sample and recognised by its mark. */
    while (n > 0 && batch->sample[at + n - 1] == SIZE_MAX)
        n--;
    *out = (struct rl_pack_sample){.n_tokens = n,
                                   .token_ids = batch->token_ids + at,
                                   .mask = batch->mask + at,
                                   .logprobs = batch->logprobs + at,
                                   .temperatures = batch->temperatures + at,
                                   .advantages = batch->advantages + at,
                                   .ref_logprobs = at_if(batch->ref_logprobs, batch->has_ref_logprobs, at),
                                   .rl_weights = at_if(batch->rl_weights, batch->has_rl_weights, at),
                                   .ce_weights = at_if(batch->ce_weights, batch->has_ce_weights, at),
                                   .ref_kl_weights = at_if(batch->ref_kl_weights, batch->has_ref_kl_weights, at)};
    return batch->sample[at];
}

struct verification {
    const struct rl_pack_micro_batch *batch;
    size_t slot, seq_len;
    bool trains; /* false for a copy */
    struct rl_error *err;
};

static enum rl_status differs(const struct verification *v, size_t sample, const char *name, size_t t, double got, double want)
{
    return rl_fail(v->err, RL_EVALUE, "micro batch %zu, sample %zu: %s[%zu] is %g, not %g", v->slot, sample, name, t, got, want);
}

/*
 * A stream that the micro batch lacks must be absent from the sample too. Values must be equal to
 * the bit, because packing only copies numbers.
 */
static enum rl_status verify_stream(const struct verification *v, size_t sample, const char *name, const double *got,
                                    const double *want, double fill, size_t n)
{
    if (!got && want)
        return rl_fail(v->err, RL_EVALUE, "micro batch %zu has lost the %s of sample %zu", v->slot, name, sample);
    for (size_t t = 0; got && t < n; t++)
        if (got[t] != (want ? want[t] : fill))
            return differs(v, sample, name, t, got[t], want ? want[t] : fill);
    return RL_OK;
}

static enum rl_status verify_streams(const struct verification *v, size_t index, const struct rl_pack_sample *got,
                                     const struct rl_pack_sample *want)
{
    const bool trains = v->trains;
    const struct {
        const char *name;
        const double *got, *want;
        double fill;
    } streams[] = {
        {"logprobs", got->logprobs, want->logprobs, 0},
        {"temperatures", got->temperatures, want->temperatures, 1},
        {"ref_logprobs", got->ref_logprobs, want->ref_logprobs, 0},
        {"advantages", got->advantages, trains ? want->advantages : NULL, 0},
        {"rl_weights", got->rl_weights, trains ? want->rl_weights : NULL, trains},
        {"ce_weights", got->ce_weights, trains ? want->ce_weights : NULL, 0},
        {"ref_kl_weights", got->ref_kl_weights, trains ? want->ref_kl_weights : NULL, 0},
    };
    for (size_t k = 0; k < sizeof streams / sizeof *streams; k++)
        RL_TRY(verify_stream(v, index, streams[k].name, streams[k].got, streams[k].want, streams[k].fill, got->n_tokens));
    return RL_OK;
}

/* The expected mask of a copy is 0, so that a copy with a mask is found. */
static enum rl_status verify_tokens(const struct verification *v, size_t index, size_t at, const struct rl_pack_sample *got,
                                    const struct rl_pack_sample *want)
{
    for (size_t t = 0; t < got->n_tokens; t++) {
        bool mask = v->trains && want->mask[t];
        if (v->batch->sample[at + t] != index)
            return rl_fail(v->err, RL_EVALUE, "micro batch %zu: token %zu is not one of sample %zu", v->slot, at + t, index);
        if (got->token_ids[t] != want->token_ids[t])
            return differs(v, index, "token_ids", t, (double)got->token_ids[t], (double)want->token_ids[t]);
        if (v->batch->position_ids[at + t] != (int64_t)t)
            return differs(v, index, "position_ids", t, (double)v->batch->position_ids[at + t], (double)t);
        if (got->mask[t] != mask)
            return differs(v, index, "mask", t, got->mask[t], mask);
        if (v->trains && want->ref_kl_weights && want->ref_kl_weights[t] != 0 && !want->ref_logprobs)
            return rl_fail(v->err, RL_EVALUE,
                           "sample %zu trains token %zu with ref_kl, but has no "
                           "ref_logprobs",
                           index, t);
    }
    return RL_OK;
}

static enum rl_status verify_sample(const struct verification *v, size_t k, size_t index, const struct rl_pack_sample *want)
{
    struct rl_pack_sample got;
    size_t n = want->n_tokens < v->seq_len ? want->n_tokens : v->seq_len;
    size_t found = rl_pack_unpack(v->batch, k, &got);
    if (found != index || got.n_tokens != n)
        return rl_fail(v->err, RL_EVALUE, "micro batch %zu: %zu tokens of sample %zu where the plan has %zu of sample %zu",
                       v->slot, got.n_tokens, found, n, index);
    RL_TRY(verify_tokens(v, index, first_token(v->batch, k), &got, want));
    return verify_streams(v, index, &got, want);
}

/* Padding must have neither mask nor weights, because ce and ref_kl do not read the mask. */
static enum rl_status verify_padding(const struct verification *v, size_t begin)
{
    const struct rl_pack_micro_batch *b = v->batch;
    const double *streams[] = {b->advantages, b->has_rl_weights ? b->rl_weights : NULL, b->has_ce_weights ? b->ce_weights : NULL,
                               b->has_ref_kl_weights ? b->ref_kl_weights : NULL};
    for (size_t t = begin; t < b->n_tokens; t++) {
        bool trains = b->mask[t] != 0 || b->sample[t] != SIZE_MAX;
        for (size_t k = 0; k < sizeof streams / sizeof *streams; k++)
            trains |= streams[k] && streams[k][t] != 0;
        if (trains)
            return rl_fail(v->err, RL_EVALUE, "micro batch %zu trains its padding at token %zu", v->slot, t);
    }
    return RL_OK;
}

/* The lengths are checked first, because all later checks use them. */
static enum rl_status verify_lengths(const struct verification *v, size_t n_samples, size_t multiple)
{
    const struct rl_pack_micro_batch *b = v->batch;
    bool good = b->n_samples == n_samples && b->n_tokens % multiple == 0;
    for (size_t k = 0; good && k < n_samples; k++)
        good = b->lengths[k] > 0 && b->lengths[k] <= b->n_tokens;
    if (!good || first_token(b, n_samples) != b->n_tokens)
        return rl_fail(v->err, RL_EVALUE, "micro batch %zu: lengths of %zu samples do not make %zu tokens", v->slot, b->n_samples,
                       b->n_tokens);
    return RL_OK;
}

enum rl_status rl_pack_verify(const struct rl_pack_sample *samples, const struct rl_pack_options *options,
                              const struct rl_pack_plan *plan, size_t slot, const struct rl_pack_micro_batch *batch,
                              struct rl_error *err)
{
    bool trains = plan->slots[slot] < plan->n_bins;
    size_t bin = trains ? plan->slots[slot] : 0, first = plan->bin_start[bin], tokens = 0;
    size_t n_samples = plan->bin_start[bin + 1] - first;
    struct verification v = {batch, slot, options->seq_len, trains, err};
    RL_TRY(verify_lengths(&v, n_samples, options->pad_multiple));
    for (size_t k = 0; k < n_samples; k++) {
        const struct rl_pack_sample *want = &samples[plan->order[first + k]];
        RL_TRY(verify_sample(&v, k, plan->order[first + k], want));
        tokens += want->n_tokens < v.seq_len ? want->n_tokens : v.seq_len;
    }
    return verify_padding(&v, tokens);
}
