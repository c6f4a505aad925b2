/*
 * carve.h: divides one block of memory into arrays. With a NULL base it only computes the size: the same function
 * computes a block's size and lays it out, so that size and layout cannot disagree.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct carve {
    char *base;
    size_t used;
};

/* Returns the next n items of `size` bytes, aligned to a cache line, or NULL while only the size is computed. */
static inline void *carve(struct carve *block, size_t n, size_t size)
{
    size_t at = block->used;
    block->used += (n * size + 63) / 64 * 64;
    return block->base ? block->base + at : NULL;
}

/*
 * Returns a zeroed block (free), or NULL when out of memory. The block and all arrays in it are aligned to a cache
 * line, so that two threads that write to neighbouring arrays never share a cache line.
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
