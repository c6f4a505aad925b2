/*
 * scarce_memory.h: memory that runs out when the test says so. scarce_memory(TARGET) in tests/CMakeLists.txt links it, with
 * --wrap of everything that gives memory in the store.
 */
#ifndef SUPPORT_SCARCE_MEMORY_H
#define SUPPORT_SCARCE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* To be written by the test: whether this allocation fails. */
bool memory_strikes(void);

/* And this piece of a block, of an arena or a buffer. Most texts fit into a block that is there already; each fails as if it
 * were the one that needs the next. */
bool piece_strikes(void);

/* What never fails. */
void *__real_malloc(size_t size);

#endif
