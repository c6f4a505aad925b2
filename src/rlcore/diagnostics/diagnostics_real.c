/*
 * diagnostics_real.c: rl_diagnose in both precisions. The computation is in double, see
 * two_policies_real.c.
 */
#include "diagnostics/diagnostics_internal.h"
#include "support/real.h"

enum rl_status rl_diagnose(const struct rl_batch *batch, const real *train, const real *rollout, double clip_low,
                           double clip_high, struct rl_diagnostics *out, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_two_policies p;
    RL_TRY(rl_two_policies_of(&p, batch, train, rollout, err));
    return rl_diagnose_policies(&p, clip_low, clip_high, out, ws, err);
}
