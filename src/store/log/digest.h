/*
 * digest.h: the digests that make later changes of a log's bytes visible, for every kind of log.
 *
 * Each record has a digest that covers it and all records before it:
 *
 *     d_0 = 32 zero bytes
 *     d_n = SHA-256(d_{n-1}, bytes of record n with its line end)          (SHA-256: FIPS 180-4)
 *
 * Records are those that tsv_scan finds, including empty ones; the header is record 1. A digest depends on the log's
 * bytes only, so a store that moves to another kind of log keeps its digests.
 *
 * The chain reaches to the last record that ends in LF. A writer may still remove the bytes after it (a record without
 * a line end, a lone CR that may be half of CR LF), so no digest covers them. Stored digests may lag behind the log,
 * but they never cover bytes that are not in the log.
 */
#pragma once

#include <stdint.h>

#define DIGEST_BYTES 32

/* The chain up to some record. A zeroed chain is d_0. */
struct digest_chain {
    uint64_t records;
    uint64_t position; /* position after the last of these records */
    unsigned char digest[DIGEST_BYTES];
};
