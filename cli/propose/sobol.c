/*
 * The primitive polynomials and first direction numbers are those of S. Joe and F. Y. Kuo, "Constructing
 * Sobol sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30 (2008), file
 * new-joe-kuo-6.21201, dimensions 2 to 32 (https://web.maths.unsw.edu.au/~fkuo/sobol/). Dimension 1 is van der
 * Corput's sequence.
 */
#include "propose/propose_problem.h"

#include "propose/propose_math.h"

enum { DEGREE_MAX = 7 };

/* Degree s, inner coefficients a of the polynomial, m_1 .. m_s. */
struct direction {
    uint8_t s, a, m[DEGREE_MAX];
};

static const struct direction directions[PROPOSE_RANGES_MAX - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
    {7, 7, {1, 1, 3, 13, 7, 35, 63}},
    {7, 8, {1, 3, 5, 9, 1, 25, 53}},
    {7, 14, {1, 3, 1, 13, 9, 35, 107}},
    {7, 19, {1, 3, 1, 5, 27, 61, 31}},
    {7, 21, {1, 1, 5, 11, 19, 41, 61}},
    {7, 28, {1, 3, 5, 3, 3, 13, 69}},
    {7, 31, {1, 1, 7, 13, 1, 19, 1}},
    {7, 32, {1, 3, 7, 5, 13, 19, 59}},
    {7, 37, {1, 1, 3, 9, 25, 29, 41}},
    {7, 41, {1, 3, 5, 13, 23, 1, 55}},
    {7, 42, {1, 3, 7, 3, 13, 59, 17}},
};

/* The recurrence of Bratley and Fox 1988 (ACM TOMS algorithm 659), on numbers shifted to the highest bits. */
static void fill_directions(uint32_t v[32], size_t dimension)
{
    if (dimension == 0) {
        for (int i = 0; i < 32; i++)
            v[i] = (uint32_t)1 << (31 - i);
        return;
    }
    const struct direction *d = &directions[dimension - 1];
    for (int i = 0; i < d->s; i++)
        v[i] = (uint32_t)d->m[i] << (31 - i);
    for (int i = d->s; i < 32; i++) {
        v[i] = v[i - d->s] ^ (v[i - d->s] >> d->s);
        for (int k = 1; k < d->s; k++)
            if (d->a >> (d->s - 1 - k) & 1)
                v[i] ^= v[i - k];
    }
}

uint32_t sobol_point(uint32_t index, size_t dimension)
{
    uint32_t v[32] = {0}, gray = index ^ (index >> 1), point = 0;
    fill_directions(v, dimension);
    for (int i = 0; i < 32; i++)
        if (gray >> i & 1)
            point ^= v[i];
    return point;
}

uint32_t sobol_scramble(uint32_t point, size_t dimension, uint64_t seed)
{
    uint64_t own = propose_mix(propose_mix(seed) ^ dimension);
    uint32_t out = 0;
    for (int i = 0; i < 32; i++) {
        uint64_t before = (uint64_t)1 << i | (i ? point >> (32 - i) : 0); /* a 1, followed by all earlier digits */
        uint32_t flip = (uint32_t)(propose_mix(own ^ before) >> 63);
        out |= ((point >> (31 - i) & 1) ^ flip) << (31 - i);
    }
    return out;
}
