/* diagnostics_internal.h: rl_diagnose for inputs of either precision. */
#pragma once

#include <rlcore/diagnostics.h>

#include "correction/correction_internal.h"

enum rl_status rl_diagnose_policies(const struct rl_two_policies *p, double clip_low, double clip_high,
                                    struct rl_diagnostics *out, struct rl_workspace *ws, struct rl_error *err);
