/* whiten.h: rl_whiten on a batch that was opened. */
#ifndef RLCORE_WHITEN_H
#define RLCORE_WHITEN_H

#include "support/real.h"

enum rl_status rl_whiten_grid(const struct rl_grid *batch, bool masked, real *x,
                              struct rl_workspace *ws, struct rl_error *err);

#endif
