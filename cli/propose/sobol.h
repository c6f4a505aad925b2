/* sobol.h: Sobol's sequence in up to PROPOSE_RANGES_MAX dimensions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Coordinate `dimension` (from 0) of point `index` in Gray code order, as a fraction of 2^32. */
uint32_t sobol_point(uint32_t index, size_t dimension);

/*
 * Owen's nested scrambling (1995): whether a digit is flipped is decided by a draw that depends on the seed, the
 * dimension and all previous digits. The points are equally evenly spread for every seed.
 */
uint32_t sobol_scramble(uint32_t point, size_t dimension, uint64_t seed);
