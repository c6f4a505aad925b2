/* npy.h: reads an array of NumPy (.npy) from its bytes. Nothing in it is trusted: a trial has written it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct npy {
    const uint8_t *at;  /* [length] values, borrowed */
    size_t length, rows, size; /* rows: entries of the first axis; size: bytes of a value */
    bool flat;          /* one dimension */
    char kind;          /* f, i, u or b */
};

/* Returns false, with the reason, for what is not an array of float32, float64, integers or bool with the low byte first. The values may
 * be fewer or more than the shape says. */
bool npy_read(struct npy *npy, const char *bytes, size_t length, char *why, size_t size);
double npy_value(const struct npy *npy, size_t i); /* i < length / size */

uint64_t npy_little_endian(const uint8_t *bytes, size_t n); /* n at most 8 */
