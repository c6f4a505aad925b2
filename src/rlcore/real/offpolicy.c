/* offpolicy.c: the distance of two policies and the correction, in both precisions. */
#include <rlcore/offpolicy.h>

#include "correction.h"
#include "real.h"

enum rl_status RL(rl_offpolicy_metrics)(const struct rl_batch *batch, const real *train,
                                        const real *rollout, struct rl_metrics *metrics,
                                        struct rl_error *err)
{
    const struct rl_two_policies p = RL(rl_two_policies)(batch, train, rollout);
    struct rl_distance d;
    enum rl_status status = rl_distance_measure(&p, &d, err);
    if (status == RL_OK)
        rl_distance_report(&d, metrics);
    return status;
}

enum rl_status RL(rl_rollout_correction)(const struct rl_batch *batch,
                                         const struct rl_correction_options *options,
                                         const real *train, const real *rollout, real *weights,
                                         uint8_t *modified_mask, struct rl_metrics *metrics,
                                         struct rl_workspace *ws, struct rl_error *err)
{
    const struct rl_two_policies p = RL(rl_two_policies)(batch, train, rollout);
    struct rl_correcting c = {.p = &p,
                              .options = options,
                              .sink = RL(rl_weight_sink)(weights),
                              .keep = modified_mask,
                              .metrics = metrics};
    return rl_correction_run(&c, ws, err);
}
