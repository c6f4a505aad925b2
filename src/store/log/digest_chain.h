/* digest_chain.h: computing the digests of a log's records (log.h). */
#pragma once

#include "../format/tsv.h"
#include "log.h"

/* Computes d_n from d_{n-1}. */
void digest_chain_add(struct digest_chain *chain, const struct tsv_record *record);

/* Extends the chain over the following records of the log, up to `end`. */
enum lineage_status digest_chain_follow(struct digest_chain *chain, struct log *log, uint64_t end, struct lineage_error *err);

/* digest_write writes a digest as 64 hexadecimal digits in lower case. digest_read parses such a text and returns false
 * for any other text. */
#define DIGEST_TEXT (2 * DIGEST_BYTES + 1)
void digest_write(char text[DIGEST_TEXT], const unsigned char digest[DIGEST_BYTES]);
bool digest_read(unsigned char digest[DIGEST_BYTES], const char *text);

/* ---- visits the terminated records of a log. The log is read in chunks, because it may be larger than
 * memory.
 */

struct record_walk {
    struct log *log;
    uint64_t end;
    struct tsv_scanner scanner;
    struct buf bytes;
    size_t piece; /* bytes to read at once; grows for a longer record */
    bool at_end;  /* `bytes` contains the end of the range */
};

/* Starts a walk at `position`, where a record with line number `line` begins, up to `end`. A walk that is started again
 * reuses its memory; zero it before the first start. */
void record_walk_start(struct record_walk *walk, struct log *log, uint64_t position, uint64_t line, uint64_t end);

/* *there is false after the last record. *record is valid until the next call. A CR at the very end of the log does not
 * end a record, because it may be half of CR LF. */
enum lineage_status record_walk_next(struct record_walk *walk, struct tsv_record *record, bool *there, struct lineage_error *err);
void record_walk_release(struct record_walk *walk);
