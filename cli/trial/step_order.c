#include "trial/step_order.h"

#include <stdio.h>
#include <string.h>

/* A restart is followed by a stretch of new steps. Going back sooner than this again is what several processes do. */
enum { STRETCH = 3 };

static void note(struct step_order *order, const char *name, int64_t step, int64_t from, bool several)
{
    if (order->note[0])
        return;
    int n = snprintf(order->note, sizeof order->note, "several values of %s at step %lld", name, (long long)step);
    if (several)
        snprintf(order->note + n, sizeof order->note - (size_t)n, " (does every process report? let rank 0 alone)");
    else
        snprintf(order->note + n, sizeof order->note - (size_t)n,
                 ", which went back from step %lld (a restart, or several processes that report): the values before from this "
                 "step on do not count",
                 (long long)from);
}

static size_t find_curve(const struct step_order *order, const char *name, struct metric_place place)
{
    size_t i = 0;
    while (i < order->n && (order->curves[i].phase != place.phase || strcmp(order->curves[i].name, name) != 0))
        i++;
    return i;
}

bool step_order_goes_back(const struct step_order *order, const char *name, struct metric_place place)
{
    const size_t i = find_curve(order, name, place);
    return i < order->n && place.step < order->curves[i].last && !order->curves[i].several;
}

enum step_move step_order_take(struct step_order *order, const char *name, struct metric_place place, double value,
                               const double *known, bool printed)
{
    const size_t i = find_curve(order, name, place);
    if (i == STEP_CURVES_MAX || strlen(name) >= METRIC_NAME_BYTES)
        return STEP_FORWARD;
    if (i == order->n) {
        order->n++;
        strcpy(order->curves[i].name, name);
        order->curves[i].phase = place.phase;
        order->curves[i].first = order->curves[i].last = place.step;
        order->curves[i].value = value;
        return STEP_FORWARD;
    }
    const int64_t last = order->curves[i].last;
    order->curves[i].values++;
    const bool epoch = printed && place.step <= order->curves[i].first;
    if (!printed && place.step == last && value != order->curves[i].value) {
        note(order, name, place.step, last, true);
        order->curves[i].several = true;
    } else if (place.step < last && !epoch && !(known && *known == value) && !order->curves[i].several) {
        if (order->curves[i].went_back && order->curves[i].values <= STRETCH)
            order->curves[i].several = true;
        note(order, name, place.step, last, order->curves[i].several);
        if (!order->curves[i].several) {
            order->curves[i].went_back = true;
            order->curves[i].values = 0;
            order->curves[i].last = place.step;
            order->curves[i].value = value;
            return place.step > order->curves[i].first ? STEP_BACK : STEP_ANEW;
        }
    }
    if (place.step >= last || epoch) {
        order->curves[i].last = place.step;
        order->curves[i].value = value;
    }
    return STEP_FORWARD;
}
