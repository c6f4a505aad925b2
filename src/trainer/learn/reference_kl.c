/* reference_kl.c: see reference_kl.h. */
#include "learn/reference_kl.h"

#include <math.h>

#include <rlcore/loss.h>

/*
 * Replaces k and its gradient, token by token, by those of min(r k, clip(r) k). r is the ratio to the old policy;
 * weighting by r turns a mean over samples of the old policy into a mean over samples of the current policy. Where the
 * clipped product is the smaller one, r has no gradient.
 */
static void weigh_kl(const struct minibatch *b, const struct trainer_loss *loss, float *kl, float *d_kl)
{
    for (size_t i = 0, at = 0; i < b->n * b->width; i++) {
        if (!b->written[i])
            continue;
        double l = fmin(fmax((double)b->log_prob[i] - (double)b->old[i], -20), 20);
        double ratio = exp(l), k = (double)kl[at], d = (double)d_kl[at];
        double clipped = fmin(fmax(ratio, 1 - loss->clip_low), 1 + loss->clip_high);
        bool free = ratio * k <= clipped * k;
        kl[at] = (float)((free ? ratio : clipped) * k);
        d_kl[at++] = (float)(free ? ratio * (k + d) : clipped * d);
    }
}

/*
 * The default estimator is k3 (Schulman, "Approximating KL divergence", 2020): it has low variance and is never
 * negative, so that a mean over few tokens cannot reward moving away. Packs the policy's tokens together first.
 */
enum rl_status reference_kl(struct minibatch *b, const struct trainer_loss *loss, double *value, struct rl_error *core)
{
    double coef = loss->kl_coef;
    size_t n = 0;
    float *now = b->d_part, *then = b->entropy; /* measure() has already read entropy, so it serves as scratch memory */
    for (size_t i = 0; i < b->n * b->width; i++)
        if (b->written[i]) {
            now[n] = b->log_prob[i];
            then[n++] = b->start[i];
        }
    enum rl_status status =
        rl_kl_penaltyf((enum rl_kl)loss->kl_estimator, loss->kl_straight_through, n, now, then, then, now, core);
    if (status == RL_OK && loss->kl_place == TRAINER_KL_WEIGHTED)
        weigh_kl(b, loss, then, now);
    for (size_t i = 0, at = 0; i < b->n * b->width && status == RL_OK; i++)
        if (b->written[i]) {
            *value += coef * (double)then[at] / (double)n;
            b->d_log_prob[i] += (float)(coef * (double)now[at++] / (double)n);
        }
    return status;
}
