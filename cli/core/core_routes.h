/* core_routes.h: routes of a mixture of experts from a JSON case. */
#ifndef CORE_ROUTES_H
#define CORE_ROUTES_H

#include <rlcore/routing.h>

#include "core_call.h"

/* [b][t][layers][experts] of whole numbers; n_experts is read beside it. */
struct rl_routes core_routes(struct core_call *call, const char *name, size_t b, size_t t);

/* `replay`, if there: none, R2 or R3. */
enum rl_replay core_replay(struct core_call *call);

#endif
