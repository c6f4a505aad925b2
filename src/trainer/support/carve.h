/*
 * carve.h: one block of memory cut into arrays. With a NULL base it only measures: the same function computes a
 * block's size and lays it out, so that the two cannot disagree.
 */
#ifndef TRAINER_CARVE_H
#define TRAINER_CARVE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct carve {
    char *base;
    size_t used;
};

/* The next n items of `size` bytes, aligned to a cache line; NULL while measuring. */
static inline void *carve(struct carve *block, size_t n, size_t size)
{
    size_t at = block->used;
    block->used += (n * size + 63) / 64 * 64;
    return block->base ? block->base + at : NULL;
}

/*
 * A zeroed block (free), or NULL when out of memory. It is aligned to a cache line, as all arrays in it are, so
 * that two threads never write to one line of neighbouring arrays.
 */
static inline void *carve_block(size_t bytes)
{
    size_t whole = (bytes + 63) / 64 * 64;
    void *block = NULL;
    if (whole < bytes || posix_memalign(&block, 64, whole ? whole : 64) != 0)
        return NULL;
    for (size_t i = 0; i < whole / sizeof(uint64_t); i++)
        ((uint64_t *)block)[i] = 0;
    return block;
}

#endif
