/* diagnose.c: rl_diagnose in both precisions. */
#include "diagnostics_internal.h"
#include "real.h"

enum rl_status RL(rl_diagnose)(const struct rl_batch *batch, const real *train, const real *rollout,
                               double clip_low, double clip_high, struct rl_diagnostics *out,
                               struct rl_workspace *ws, struct rl_error *err)
{
    const struct rl_two_policies p = RL(rl_two_policies)(batch, train, rollout);
    return rl_diagnose_policies(&p, clip_low, clip_high, out, ws, err);
}
