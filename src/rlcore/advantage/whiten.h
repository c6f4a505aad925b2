/* whiten.h: rl_whiten for a batch that has been read into a struct rl_grid. */
#pragma once

#include "support/real.h"

enum rl_status rl_whiten_grid(const struct rl_grid *batch, bool masked, real *x, struct rl_workspace *ws, struct rl_error *err);
