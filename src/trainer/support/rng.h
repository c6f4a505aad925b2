/*
 * rng.h: random numbers by splitmix64 (Steele, Lea, Flood 2014). Every purpose has its own stream, which is a function
 * of the recipe's seed and an index and never of earlier draws. Therefore neither the order of work nor the number of
 * threads changes the random numbers.
 */
#pragma once

#include <stdint.h>

struct trainer_rng {
    uint64_t state;
};

static inline uint64_t trainer_mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* Returns the seed of item i of a purpose; callers name a purpose by a letter. */
static inline uint64_t trainer_seed(uint64_t seed, uint64_t purpose, uint64_t i)
{
    return trainer_mix(trainer_mix(trainer_mix(seed) ^ purpose) ^ i);
}

static inline uint64_t trainer_rng_next(struct trainer_rng *rng)
{
    uint64_t x = trainer_mix(rng->state);
    rng->state += 0x9E3779B97F4A7C15u;
    return x;
}

/* Uniform in [0, 1), with 53 bits. */
static inline double trainer_rng_uniform(struct trainer_rng *rng)
{
    return (double)(trainer_rng_next(rng) >> 11) * 0x1p-53;
}

/* Uniform in [0, n); the bias is negligible for n far below 2^32. */
static inline int32_t trainer_rng_below(struct trainer_rng *rng, int32_t n)
{
    return (int32_t)(((trainer_rng_next(rng) >> 32) * (uint64_t)n) >> 32);
}
