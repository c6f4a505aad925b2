/* internal.h: what all sources of the trainer share: errors, random numbers. */
#ifndef TRAINER_INTERNAL_H
#define TRAINER_INTERNAL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/status.h>
#include <trainer/status.h>

/* Fill err (may be NULL) and return status. */
enum trainer_status trainer_fail(struct trainer_error *err, enum trainer_status status,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Put "what number: " in front of the text. */
enum trainer_status trainer_blame(struct trainer_error *err, enum trainer_status status,
                                  const char *what, int32_t number);
enum trainer_status trainer_no_memory(struct trainer_error *err, size_t bytes);

/* An error of the training core: bad values are TRAINER_ENUMERIC, no scratch memory is
 * TRAINER_ENOMEM. */
enum trainer_status trainer_core_failed(struct trainer_error *err, const char *what,
                                        enum rl_status status, const struct rl_error *core);

/* Unbiased standard deviation of n numbers from their sum and that of their squares; 0 for n < 2. */
static inline double trainer_std(double n, double sum, double square)
{
    return n > 1 ? sqrt(fmax(0, square - sum * sum / n) / (n - 1)) : 0;
}

/* ---- random numbers: splitmix64, one stream per purpose ----------------------------------- */

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

/* A seed of its own for item i of purpose p. */
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

/* In [0, 1), 53 bits. */
static inline double trainer_rng_uniform(struct trainer_rng *rng)
{
    return (double)(trainer_rng_next(rng) >> 11) * 0x1p-53;
}

/* In [0, n), for n far below 2^32. */
static inline int32_t trainer_rng_below(struct trainer_rng *rng, int32_t n)
{
    return (int32_t)(((trainer_rng_next(rng) >> 32) * (uint64_t)n) >> 32);
}

#endif
