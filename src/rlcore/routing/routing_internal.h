/* routing_internal.h: the part of routing that the composed loss uses. */
#ifndef RLCORE_ROUTING_INTERNAL_H
#define RLCORE_ROUTING_INTERNAL_H

#include <rlcore/routing.h>

/* Bytes of workspace that rl_routes_compare needs. */
size_t rl_routes_bytes(size_t n_rows, size_t n_layers);

#endif
