/* teacher_distance.c: see teacher_distance.h. */
#include "learn/teacher_distance.h"

#include <math.h>

/*
 * Whether updates have already moved the policy to the edge of the clip range in the teacher's direction. Rollouts
 * are used several times, and this loss has no ratio that would limit how far the policy goes.
 */
static bool is_at_the_edge(const struct minibatch *b, size_t i, const struct trainer_distill *distill)
{
    double ratio = exp((double)b->log_prob[i] - (double)b->old[i]);
    return b->reference[i] > b->log_prob[i] ? ratio > 1 + distill->clip_high : ratio < 1 - distill->clip_low;
}

static double limited(double gap, double most)
{
    return most > 0 ? fmin(most, fmax(-most, gap)) : gap;
}

void teacher_distance(struct minibatch *b, struct loss_result *result)
{
    double n = 0, sum = 0, clipped = 0;
    for (size_t i = 0; i < b->n * b->width; i++)
        n += b->kd[i] > 0 && b->written[i];
    for (size_t i = 0; i < b->n * b->width; i++) {
        double weight = (double)b->kd[i];
        if (!(weight > 0) || !b->written[i])
            continue;
        const struct trainer_distill *distill = &b->tasks[b->task[i / b->width]].algorithm.distill;
        double gap = limited((double)b->log_prob[i] - (double)b->reference[i], distill->clip_gap);
        bool edge = is_at_the_edge(b, i, distill);
        sum += weight * gap * gap / 2;
        clipped += edge;
        b->d_log_prob[i] += edge ? 0 : (float)(weight * gap / n);
    }
    if (n <= 0)
        return;
    result->distilled = sum / n;
    result->distill_clipped = clipped / n;
    result->loss += result->distilled;
}
