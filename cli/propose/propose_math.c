#include "propose/propose_math.h"

#include <math.h>
#include <string.h>

/* frexp, floor and sqrt may come from libm: IEEE 754 defines their results exactly. */
static const double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;

/* log m = 2 artanh((m - 1) / (m + 1)), a series that is short for m near 1. */
double propose_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1), square = s * s, sum = 0;
    for (int k = 25; k >= 3; k -= 2)
        sum = square * (1.0 / k + sum);
    return exponent * ln2_high + (2 * s + (2 * s * sum + exponent * ln2_low));
}

/*
 * exp x = 2^k exp r with |r| <= ln 2 / 2, and the series of exp r to its 13th power. Adding and subtracting 1.5 * 2^52
 * rounds to a whole number.
 */
double propose_exp(double x)
{
    static const double whole = 6755399441055744.0;
    if (x < -700)
        return 0;
    double k = (x * 1.4426950408889634 + whole) - whole;
    double r = x - k * ln2_high - k * ln2_low, r2 = r * r, r4 = r2 * r2;
    double low = (1 + r) + r2 * (0.5 + r * (1.0 / 6)) + r4 * ((1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040)));
    double high = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800)) +
                  r4 * (1.0 / 479001600 + r * (1.0 / 6227020800));
    uint64_t power = (uint64_t)((int64_t)k + 1023) << 52;
    double scale;
    memcpy(&scale, &power, sizeof scale);
    return (low + r4 * r4 * high) * scale;
}

/*
 * Marsaglia 2004, "Evaluating the normal distribution": the series converges for every x, and above 8 the result is 1.
 */
double propose_normal_cdf(double x)
{
    if (fabs(x) > 8)
        return x > 0;
    double term = x, sum = x, before = 0;
    for (int i = 3; sum != before; i += 2) {
        before = sum;
        term *= x * x / i;
        sum += term;
    }
    return 0.5 + sum * propose_exp(-0.5 * x * x) * 0.39894228040143268;
}

uint64_t propose_mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

struct propose_stream propose_stream_of(uint64_t seed, uint64_t purpose, uint64_t index)
{
    return (struct propose_stream){propose_mix(propose_mix(propose_mix(seed) ^ purpose) ^ index)};
}

double propose_uniform(struct propose_stream *stream)
{
    uint64_t x = propose_mix(stream->state);
    stream->state += 0x9E3779B97F4A7C15u;
    return (double)(x >> 11) * 0x1p-53;
}

/* Marsaglia's polar method. The second number that it yields is discarded, so that a stream needs no further state. */
double propose_normal(struct propose_stream *stream)
{
    double x, y, square;
    do {
        x = 2 * propose_uniform(stream) - 1;
        y = 2 * propose_uniform(stream) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    return x * sqrt(-2 * propose_log(square) / square);
}

double propose_draw(uint64_t seed, uint64_t purpose, uint64_t index)
{
    struct propose_stream stream = propose_stream_of(seed, purpose, index);
    return propose_uniform(&stream);
}

double propose_sigmoid(double x)
{
    return 1 / (1 + propose_exp(-fmin(fmax(x, -700), 700)));
}

void propose_gain(double *gain, double *variance, double lead, double deviation)
{
    const double z = deviation > 0 ? -lead / deviation : lead < 0 ? INFINITY : -INFINITY;
    *gain = fmax(-lead, 0);
    *variance = 0;
    if (isinf(z))
        return;
    const double chance = propose_normal_cdf(z), density = propose_exp(-0.5 * z * z - 0.91893853320467274);
    *gain = deviation * fmax(z * chance + density, 0);
    *variance = fmax(deviation * deviation * ((z * z + 1) * chance + z * density) - *gain * *gain, 0);
}
