/* test_rng.h: the splitmix64 generator, for tests of all rooms. Any seed will do. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct test_rng {
    uint64_t state;
};

static inline uint64_t test_rng_next(struct test_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0..bound-1 */
static inline size_t test_rng_below(struct test_rng *rng, size_t bound)
{
    return (size_t)(test_rng_next(rng) % bound);
}
