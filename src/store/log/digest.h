/*
 * digest.h: what makes a later change of a log's bytes visible, whatever kind of log it is.
 *
 * Each record has a digest that covers it and all records before it:
 *
 *     d_0 = 32 zero bytes
 *     d_n = SHA-256(d_{n-1}, bytes of record n with its line end)          (SHA-256: FIPS 180-4)
 *
 * Records are those that tsv_scan cuts, empty ones too; the header is the first. A digest depends on the log's bytes
 * only, so a store that moves to another kind of log keeps its digests.
 *
 * The chain reaches to the last record that ends in LF. A writer may still remove what is behind it (a record without a
 * line end, a lone CR that may be half of CR LF), so those bytes must not be vouched for. Where digests are stored they
 * may lag behind the log, but never cover bytes that are not in it.
 */
#ifndef LOG_DIGEST_H
#define LOG_DIGEST_H

#include <stdint.h>

#define DIGEST_BYTES 32

/* The chain up to some record. Zeroed: d_0. */
struct digest_chain {
    uint64_t records;
    uint64_t position; /* behind the last of them */
    unsigned char digest[DIGEST_BYTES];
};

#endif
