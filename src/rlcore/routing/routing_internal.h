/* routing_internal.h: the part of routing that the composed loss uses. */
#pragma once

#include <rlcore/routing.h>

/* Bytes of workspace that rl_routes_compare needs. */
size_t rl_routes_bytes(size_t n_rows, size_t n_layers);
