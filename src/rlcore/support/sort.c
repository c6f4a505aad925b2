/*
 * sort.c: radix sort, least significant digit first. The bits of a double are ordered like those of
 * a whole number after the sign bit is inverted, and for negative numbers all other bits too.
 *
 * The log-ratios of a batch are a million doubles in nearly random order. Six passes of 11 bits
 * read and write sequentially, while a comparison sort accesses memory at random.
 */
#include "support/sort.h"

#include <stdint.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, KEY_BITS = 64 };

static uint64_t key_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static size_t digit(double value, unsigned shift)
{
    return (size_t)(key_of(value) >> shift & (DIGITS - 1));
}

/* Replace the count of each digit by the index where its values begin. */
static void sum_up(size_t *count)
{
    size_t begin = 0;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t n = count[d];
        count[d] = begin;
        begin += n;
    }
}

double *rl_sort(double *values, double *spare, size_t n)
{
    for (unsigned shift = 0; shift < KEY_BITS; shift += DIGIT_BITS) {
        size_t place[DIGITS] = {0};
        for (size_t i = 0; i < n; i++)
            place[digit(values[i], shift)]++;
        /*
         * The pass is skipped if all values have the same digit, as the upper digits of numbers
         * near 0 have, because it would not change their order.
         */
        if (n == 0 || place[digit(values[0], shift)] == n)
            continue;
        sum_up(place);
        for (size_t i = 0; i < n; i++)
            spare[place[digit(values[i], shift)]++] = values[i];
        double *sorted = spare;
        spare = values;
        values = sorted;
    }
    return values;
}
