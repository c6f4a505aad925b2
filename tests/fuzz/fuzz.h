/* fuzz.h: the entry point of a fuzz target, and an assertion that release builds keep. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Optional: mutates data in place. Returns its new size, at most max_size, or 0. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* Seconds that a run may take where a limit of a second holds; sanitizers and coverage make code slower. */
#ifdef __SANITIZE_ADDRESS__
#define FUZZ_SECOND 4.0
#else
#define FUZZ_SECOND 1.0
#endif

#define fuzz_assert(condition) ((condition) ? (void)0 : __builtin_trap())
