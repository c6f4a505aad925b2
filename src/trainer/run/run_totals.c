#include "run/run_totals.h"

#include <math.h>

#include "credit/judging.h"

/* Averages the variances within iterations, so that the drift between iterations does not count as spread. */
void run_totals_add(struct run_totals *totals, int32_t iteration, int32_t n_iterations, const struct trainer_iteration *metrics)
{
    totals->scale_mean_sum += metrics->clip_scale_mean;
    totals->scale_std_sum += metrics->clip_scale_std;
    totals->entropy_sum += metrics->entropy;
    totals->clip_fraction_sum += metrics->clip_fraction;
    totals->alpha_sum += metrics->alpha_used;
    totals->n_alpha += metrics->n_alpha > 0;
    judging_add(&totals->judged, &metrics->judge);
    if (iteration < n_iterations - (n_iterations + 9) / 10)
        return;
    for (int32_t k = 0; k < metrics->n_gain; k++) {
        double n = (double)metrics->gain[k].count;
        totals->late[k].count += metrics->gain[k].count;
        totals->late[k].mean += n * metrics->gain[k].mean;
        totals->late[k].std += n * metrics->gain[k].std * metrics->gain[k].std;
    }
    totals->n_late = metrics->n_gain > totals->n_late ? metrics->n_gain : totals->n_late;
    if (metrics->n_valued > 0) {
        totals->n_late_values++;
        totals->late_values.loss += metrics->values.loss;
        totals->late_values.clip_fraction += metrics->values.clip_fraction;
        totals->late_values.explained_variance += metrics->values.explained_variance;
        totals->late_values.mean += metrics->values.mean;
        totals->late_values.returned += metrics->values.returned;
    }
}

/*
 * The square root is taken last, of the mean variance. If there were no iterations, nothing was scaled, which is
 * reported as a clip scale of mean 1 and deviation 0.
 */
void run_totals_report(const struct run_totals *totals, int32_t n_iterations, struct trainer_event *event)
{
    double iterations = n_iterations, n_values = fmax(1, totals->n_late_values);
    const struct trainer_values *values = &totals->late_values;
    event->clip_scale_mean = iterations > 0 ? totals->scale_mean_sum / iterations : 1;
    event->clip_scale_std = iterations > 0 ? totals->scale_std_sum / iterations : 0;
    event->entropy = iterations > 0 ? totals->entropy_sum / iterations : 0;
    event->clip_fraction = iterations > 0 ? totals->clip_fraction_sum / iterations : 0;
    event->n_alpha = totals->n_alpha;
    event->alpha_used = totals->alpha_sum / fmax(1, totals->n_alpha);
    event->n_valued = totals->n_late_values;
    event->values =
        (struct trainer_values){values->loss / n_values, values->clip_fraction / n_values, values->explained_variance / n_values,
                                values->mean / n_values, values->returned / n_values};
    event->n_gain = totals->n_late;
    event->judge = totals->judged;
    for (int32_t k = 0; k < totals->n_late; k++) {
        double n = fmax(1, (double)totals->late[k].count);
        event->gain[k] =
            (struct trainer_turn_gain){totals->late[k].mean / n, sqrt(totals->late[k].std / n), totals->late[k].count};
    }
}
