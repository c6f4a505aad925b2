/*
 * propose_math.h: logarithm, exponential and normal distribution, the same to the last bit wherever doubles are
 * IEEE 754 and products are not fused. libm's are not: glibc picks them by the processor, and a
 * candidate that wins by one bit would be another proposal. Within 4 units in the last place of libm's
 * (propose_normal_cdf: 1e-14 absolute).
 */
#ifndef CLI_PROPOSE_MATH_H
#define CLI_PROPOSE_MATH_H

#include <stdint.h>

double propose_log(double x); /* of x > 0 and normal */
double propose_exp(double x); /* 0 below -700; x at most 700 */
double propose_normal_cdf(double x);

/* splitmix64 (Steele, Lea, Flood 2014), as a function of a seed and an index. */
uint64_t propose_mix(uint64_t x);

struct propose_stream {
    uint64_t state;
};

/* A stream of its own for each purpose and index. */
struct propose_stream propose_stream_of(uint64_t seed, uint64_t purpose, uint64_t index);

double propose_uniform(struct propose_stream *stream); /* in [0, 1) */
double propose_normal(struct propose_stream *stream);  /* mean 0, variance 1 */

#endif
