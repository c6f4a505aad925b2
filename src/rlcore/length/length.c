/*
 * length.c: length penalties and the anchor of a prompt.
 *
 * All penalties change the reward before advantages are computed, so that within a group a short
 * success is better than a long one. They differ in what a response is compared with: nothing, its
 * group, the length at which its prompt was once solved, or a length that was set beforehand.
 */
#include <rlcore/length.h>

#include "support/groups.h"

static enum rl_status check_rows(size_t n, const double *rewards, const double *lengths, struct rl_error *err)
{
    if (n && (!rewards || !lengths))
        return rl_fail(err, RL_EINVAL, "rewards or lengths are missing");
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(rewards[i]))
            return rl_fail(err, RL_EVALUE, "rewards[%zu] is %g, not a finite number", i, rewards[i]);
        if (!(lengths[i] >= 0) || isinf(lengths[i]))
            return rl_fail(err, RL_EVALUE, "lengths[%zu] is %g, not a number of tokens", i, lengths[i]);
    }
    return RL_OK;
}

static void uniform(double coef, const struct rl_length_input *in, double *out)
{
    for (size_t i = 0; i < in->n; i++)
        out[i] = in->rewards[i] - coef * in->lengths[i];
}

static enum rl_status check_anchors(const struct rl_length_input *in, struct rl_error *err)
{
    if (in->n && !in->anchor)
        return rl_fail(err, RL_EINVAL, "anchor is missing");
    for (size_t i = 0; i < in->n; i++)
        if (in->anchor[i] <= 0 || isinf(in->anchor[i]))
            return rl_fail(err, RL_EVALUE, "anchor[%zu] is %g, not a positive length", i, in->anchor[i]);
    return RL_OK;
}

/*
 * LASER rewards a short success instead of lowering a long one, and leaves failures alone: a bonus
 * for short failures would teach the policy to give up. A comparison with NaN is false.
 */
static void stepped(double coef, const struct rl_length_input *in, double *out)
{
    for (size_t i = 0; i < in->n; i++)
        out[i] = in->rewards[i] + (in->rewards[i] > 0 && in->lengths[i] <= in->anchor[i] ? coef : 0);
}

/*
 * Only excess length costs. Below the anchor a shorter response gains nothing, because otherwise
 * the policy would learn to leave out steps. A prompt that was never solved reliably has anchor
 * NaN, and the comparison with it is false.
 */
static void anchored(double coef, const struct rl_length_input *in, double *out)
{
    for (size_t i = 0; i < in->n; i++) {
        double excess = (in->lengths[i] - in->anchor[i]) / in->anchor[i]; /* NaN without an anchor */
        out[i] = in->rewards[i] - (excess > 0 ? coef * excess : 0);
    }
}

/*
 * Kimi k1.5: the shortest response of a group gets +0.5, the longest -0.5. A failure can lose but
 * never gain, because a short wrong answer has no value.
 */
static void penalise_group(double coef, const struct rl_length_input *in, const size_t *rows, size_t n, double *out)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t j = 0; j < n; j++) {
        least = fmin(least, in->lengths[rows[j]]);
        most = fmax(most, in->lengths[rows[j]]);
    }
    for (size_t j = 0; j < n; j++) {
        size_t i = rows[j];
        double lambda = most > least ? 0.5 - (in->lengths[i] - least) / (most - least) : 0;
        out[i] = in->rewards[i] + coef * (in->rewards[i] > 0 ? lambda : fmin(0, lambda));
    }
}

static enum rl_status grouped(double coef, const struct rl_length_input *in, double *out, struct rl_workspace *ws,
                              struct rl_error *err)
{
    if (in->n && !in->group)
        return rl_fail(err, RL_EINVAL, "group labels are missing");
    struct rl_scratch s = rl_scratch_begin(ws);
    struct rl_groups groups = rl_groups_take(&s, in->n);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    rl_groups_build(&groups, in->group);
    for (size_t g = 0; g < groups.n; g++)
        penalise_group(coef, in, groups.order + groups.start[g], rl_group_size(&groups, g), out);
    return RL_OK;
}

double rl_length_coef(enum rl_length_penalty kind)
{
    static const double coefs[] = {
        [RL_LENGTH_UNIFORM] = 1e-4, [RL_LENGTH_GROUP] = 0.1, [RL_LENGTH_ANCHOR] = 0.01, [RL_LENGTH_STEP] = 0.5};
    return coefs[kind];
}

enum rl_status rl_length_penalty(enum rl_length_penalty kind, double coef, const struct rl_length_input *in, double *out,
                                 struct rl_workspace *ws, struct rl_error *err)
{
    if (!in || (in->n && !out))
        return rl_fail(err, RL_EINVAL, "input or output is missing");
    if (!isfinite(coef))
        return rl_fail(err, RL_EINVAL, "coef is %g, not a finite number", coef);
    RL_TRY(check_rows(in->n, in->rewards, in->lengths, err));
    if (kind == RL_LENGTH_ANCHOR || kind == RL_LENGTH_STEP)
        RL_TRY(check_anchors(in, err));
    switch (kind) {
    case RL_LENGTH_UNIFORM: uniform(coef, in, out); return RL_OK;
    case RL_LENGTH_GROUP: return grouped(coef, in, out, ws, err);
    case RL_LENGTH_ANCHOR: anchored(coef, in, out); return RL_OK;
    case RL_LENGTH_STEP: stepped(coef, in, out); return RL_OK;
    }
    return rl_fail(err, RL_EINVAL, "length penalty %d is unknown", (int)kind);
}

enum rl_status rl_length_anchor(size_t n, const double *rewards, const double *lengths, double *anchor, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"anchor", anchor}));
    enum rl_status status = check_rows(n, rewards, lengths, err);
    double correct = 0, tokens = 0;
    if (status != RL_OK || !isnan(*anchor))
        return status;
    for (size_t i = 0; i < n; i++)
        if (rewards[i] > 0) {
            correct++;
            tokens += lengths[i];
        }
    /*
     * The anchor is set once, when the prompt is nearly always solved. If it were set earlier, it
     * would be the chance length of rare successes. If it were updated later, it would shrink with
     * the lengths that its own penalty reduces.
     */
    if (tokens > 0 && correct / (double)n > 0.9)
        *anchor = tokens / correct;
    return RL_OK;
}
