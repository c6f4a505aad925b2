/* record_digest.h: the digest that the mirror keeps of each record of the log. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

/* XXH3 of the bytes. The type is signed because SQLite's integers are; only the bits are compared. */
static inline int64_t record_digest(const char *bytes, size_t length)
{
    return (int64_t)XXH3_64bits(bytes, length);
}
