/*
 * scarce_memory.h: allocations that fail when the test decides. scarce_memory(TARGET) in
 * tests/CMakeLists.txt links it with --wrap of every allocating function of the store.
 */
#ifndef SUPPORT_SCARCE_MEMORY_H
#define SUPPORT_SCARCE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Defined by the test: returns true if this allocation fails. */
bool memory_strikes(void);

/*
 * Defined by the test, for a piece of an arena or a buffer. Most texts fit into a block that exists
 * already; each piece fails as if it needed the next block.
 */
bool piece_strikes(void);

/* Allocations that never fail. */
void *__real_malloc(size_t size);

#endif
