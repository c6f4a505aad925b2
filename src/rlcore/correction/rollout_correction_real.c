/*
 * rollout_correction_real.c: the public functions for the distance of two policies and for the
 * correction, in both precisions. The computation itself is in double and compiled once.
 */
#include <rlcore/offpolicy.h>

#include "correction/correction_internal.h"
#include "support/real.h"

enum rl_status rl_offpolicy_metrics(const struct rl_batch *batch, const real *train, const real *rollout,
                                    struct rl_metrics *metrics, struct rl_error *err)
{
    struct rl_two_policies p;
    struct rl_distance d;
    enum rl_status status = rl_two_policies_of(&p, batch, train, rollout, err);
    if (status == RL_OK)
        status = rl_distance_measure(&p, &d, err);
    if (status == RL_OK)
        rl_distance_report(&d, metrics);
    return status;
}

enum rl_status rl_rollout_correction(const struct rl_batch *batch, const struct rl_correction_options *options, const real *train,
                                     const real *rollout, real *weights, uint8_t *modified_mask, struct rl_metrics *metrics,
                                     struct rl_workspace *ws, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"options", options}));
    struct rl_two_policies p;
    RL_TRY(rl_two_policies_of(&p, batch, train, rollout, err));
    struct rl_correcting c = {
        .p = &p, .options = options, .sink = rl_weight_sink_of(weights), .keep = modified_mask, .metrics = metrics};
    return rl_correction_run(&c, ws, err);
}
