/*
 * step_order.h: notices when the steps of a metric do not go forward.
 *
 * A training that was restarted goes on from its checkpoint, so its steps go back; the values from there on are of an attempt that is
 * dead and count no more. Several processes that report one metric also look like that, with another value at the same step.
 */
#pragma once

#include "metrics/metric_values.h"

enum { STEP_CURVES_MAX = 128, STEP_NOTE_BYTES = 256 };

struct step_order {
    struct {
        char name[METRIC_NAME_BYTES];
        uint32_t phase;
        int64_t first, last; /* steps */
        double value;        /* at the last step */
        size_t values;       /* since it went back last */
        bool went_back;
        bool several;        /* several processes report it, so going back means nothing */
    } curves[STEP_CURVES_MAX];
    size_t n;
    char note[STEP_NOTE_BYTES]; /* what was noticed first, for a row; "": nothing */
};

enum step_move {
    STEP_FORWARD,
    STEP_BACK,  /* the values of this step and of later ones are dead */
    STEP_ANEW   /* like STEP_BACK, to the first step or before it: the counter, or the training, has begun again */
};

/* Whether step_order_take needs the value that is known. */
bool step_order_goes_back(const struct step_order *order, const char *name, struct metric_place place);

/*
 * Takes a value of the metric. known: the value that it had at this step before; NULL: none is known. A value that is repeated is no
 * news. Metrics that do not fit into the table go forward.
 *
 * printed: a printed line has the step. A printed counter that begins again counts the steps of an epoch more often than it tells of a
 * restart, and two values that are printed for one step are often two states of a progress bar, so both count as forward.
 */
enum step_move step_order_take(struct step_order *order, const char *name, struct metric_place place, double value,
                               const double *known, bool printed);
