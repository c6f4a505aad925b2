/*
 * scarce_memory.h: allocations that fail when the test decides. scarce_memory(TARGET) in
 * tests/CMakeLists.txt links it with --wrap of every allocating function of the store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Defined by the test: returns true if the current allocation must fail. */
bool memory_strikes(void);

/*
 * Defined by the test: returns true if a request to an arena or a buffer must fail. Most requests fit into a block
 * that exists already; each fails as if it needed a new block.
 */
bool piece_strikes(void);

/* An allocation that never fails. */
void *__real_malloc(size_t size);
