/*
 * propose_math.h: logarithm, exponential, normal distribution and random numbers that are the same to the last bit
 * wherever doubles are IEEE 754 and products are not fused. The functions of libm do not guarantee this: glibc chooses
 * an implementation by processor, and a difference of one bit could make another candidate win. The results are within
 * 4 units in the last place of libm's (propose_normal_cdf: within 1e-14).
 */
#pragma once

#include <stdint.h>

double propose_log(double x); /* x > 0 and not denormal */
double propose_exp(double x); /* x at most 700; 0 below -700 */
double propose_normal_cdf(double x);
double propose_sigmoid(double x); /* 1 / (1 + exp(-x)) */

/* Mean and variance of max(0, -x) for a normal x with this mean and deviation: of a gain over something that is ahead by `lead`. */
void propose_gain(double *gain, double *variance, double lead, double deviation);

/* One step of splitmix64 (Steele, Lea, Flood 2014), as a hash. */
uint64_t propose_mix(uint64_t x);

struct propose_stream {
    uint64_t state;
};

/* Returns the stream of a purpose and an index; the streams are independent of each other. */
struct propose_stream propose_stream_of(uint64_t seed, uint64_t purpose, uint64_t index);

double propose_uniform(struct propose_stream *stream); /* in [0, 1) */
double propose_normal(struct propose_stream *stream); /* mean 0, variance 1 */

/* Returns a number in [0, 1) that depends only on the arguments. */
double propose_draw(uint64_t seed, uint64_t purpose, uint64_t index);
