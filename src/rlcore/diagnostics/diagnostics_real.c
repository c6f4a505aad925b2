/*
 * diagnostics_real.c: rl_diagnose in both precisions.
 *
 * The work is on differences in double, see two_policies_real.c.
 */
#include "diagnostics/diagnostics_internal.h"
#include "support/real.h"

enum rl_status rl_diagnose(const struct rl_batch *batch, const real *train, const real *rollout,
                           double clip_low, double clip_high, struct rl_diagnostics *out,
                           struct rl_workspace *ws, struct rl_error *err)
{
    const struct rl_two_policies p = rl_two_policies_of(batch, train, rollout);
    return rl_diagnose_policies(&p, clip_low, clip_high, out, ws, err);
}
