/* case_routes.h: routes of a mixture of experts, from a case. */
#pragma once

#include <rlcore/routing.h>

#include "case_call.h"

/* Whole numbers [b][t][layers][experts]; also reads n_experts. */
struct rl_routes case_routes(struct case_call *call, const char *name, size_t b, size_t t);

/* Reads `replay`: none, R2 or R3; none if absent. */
enum rl_replay case_replay(struct case_call *call);
