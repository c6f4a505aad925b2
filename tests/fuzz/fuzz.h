/* fuzz.h: a fuzz target's entry, and an assertion that stays in release builds. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Optional: mutate data in place; returns its new size, at most max_size, or 0. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#define fuzz_assert(condition) ((condition) ? (void)0 : __builtin_trap())

#endif
