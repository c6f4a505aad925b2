/*
 * digest_chain.h: what makes it visible that bytes of a log were changed afterwards, whatever kind of log it is.
 *
 * Each record has a digest that covers it and all before it:
 *
 *     d_0 = 32 zero bytes
 *     d_n = SHA-256(d_{n-1}, bytes of record n with its line end)          (SHA-256: FIPS 180-4)
 *
 * Records are those that tsv_scan cuts, empty ones too, the header being the first. It is a function of the log's bytes
 * and of nothing else, so a store that moves to another kind of log has the same digests there.
 *
 * It reaches to the last record that ends in LF. What lies behind that a writer may still take out (a record that does not
 * end, a lone CR that may be half of CR LF), and must not have been vouched for.
 *
 * Where digests are kept they may lag behind the log, and never speak of bytes that are not in it.
 */
#ifndef LOG_DIGEST_CHAIN_H
#define LOG_DIGEST_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "../fail.h"
#include "../format/tsv.h"

struct log;

#define DIGEST_BYTES 32

/* Zeroed: d_0. */
struct digest_chain {
    uint64_t records;
    uint64_t position; /* behind the last of them */
    unsigned char digest[DIGEST_BYTES];
};

/* d_n from d_{n-1}. */
void digest_chain_add(struct digest_chain *chain, const struct tsv_record *record);

/* Take in the records of the log from where the chain is, as far as it may reach, up to `end`. */
enum lineage_status digest_chain_follow(struct digest_chain *chain, struct log *log, uint64_t end,
                                        struct lineage_error *err);

/* 64 hexadecimal digits in lower case, and back; false if they are none. */
#define DIGEST_TEXT (2 * DIGEST_BYTES + 1)
void digest_write(char text[DIGEST_TEXT], const unsigned char digest[DIGEST_BYTES]);
bool digest_read(unsigned char digest[DIGEST_BYTES], const char *text);

/* The terminated records of a log up to `end`, in pieces: a log may be larger than memory. */
struct record_walk {
    struct log *log;
    uint64_t end;
    struct tsv_scanner scanner;
    struct buf bytes;
    size_t piece; /* to read at once; more where a record is longer */
    bool at_end;  /* bytes holds the last of them */
};

/* From a position where a record begins, which is on that line. The walk's memory is kept from start to start. */
void record_walk_start(struct record_walk *walk, struct log *log, uint64_t position, uint64_t line, uint64_t end);

/* *record is valid until the next call; *there is false behind the last. A CR at the very end is not decided yet. */
enum lineage_status record_walk_next(struct record_walk *walk, struct tsv_record *record, bool *there,
                                     struct lineage_error *err);
void record_walk_release(struct record_walk *walk);

#endif
