/* fuzz.h: a fuzz target's entry, and an assertion that stays in release builds. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_assert(condition) ((condition) ? (void)0 : __builtin_trap())

#endif
