/* case_routes.h: routes of a mixture of experts from a JSON case. */
#ifndef CASE_ROUTES_H
#define CASE_ROUTES_H

#include <rlcore/routing.h>

#include "case_call.h"

/* [b][t][layers][experts] of whole numbers; n_experts is read beside it. */
struct rl_routes case_routes(struct case_call *call, const char *name, size_t b, size_t t);

/* `replay`, if there: none, R2 or R3. */
enum rl_replay case_replay(struct case_call *call);

#endif
