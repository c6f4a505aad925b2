/*
 * redactions.h: .results.tsv.redacted, which records the bytes that a person took out of the store because they were secret
 * (schema/FORMAT.md).
 *
 * A redaction overwrites bytes of a record in place, so every offset stays. The file keeps the digest that the record had before.
 * With it the chain of digests goes on as if nothing had happened: the digests of later records and noted ones stay
 * valid, and a record is accepted only if its bytes are exactly those that the redaction left.
 */
#pragma once

#include "../fail.h"
#include "../format/arena.h"
#include "digest_chain.h"

struct redaction {
    uint64_t record, offset, length;       /* number of the record, its place and bytes */
    unsigned char original[DIGEST_BYTES];  /* digest of the record and all before it, before any redaction */
    unsigned char redacted[DIGEST_BYTES];  /* SHA-256 of the previous record's original digest and the redacted bytes */
    const char *ranges;                    /* "FROM:LENGTH,FROM:LENGTH", relative to the record */
};

/* A zeroed struct is empty. */
struct redactions {
    struct buf text;
    struct redaction *at; /* [n] sorted by record, then in the order of the file */
    size_t n;
    uint64_t bytes;       /* complete lines that were read */
};

/* Reads the file; none is not an error. A line that was cut off is left out. LINEAGE_ECORRUPT for any other malformed line. */
enum lineage_status redactions_read(struct redactions *r, int dir_fd, struct lineage_error *err);
void redactions_release(struct redactions *r);

/* If the record at which the chain ends was redacted to these bytes, sets the digest to the original one, and returns true. */
bool redactions_apply(const struct redactions *r, struct digest_chain *chain);

/* Reads the next "FROM:LENGTH" and moves *ranges behind it. Returns false at the end. */
bool redaction_range(size_t *from, size_t *length, const char **ranges);

/* Overwrites a byte of a secret. A letter, because a setting whose text was redacted stays a setting. */
#define REDACTED 'X'

/* Appends lines to the file, which are durable when it returns. */
enum lineage_status redactions_add(int dir_fd, const char *lines, size_t length, struct lineage_error *err);

/* Whether the object of lineage_code/ with this name was redacted to the bytes whose SHA-256 is `digest`. */
bool redactions_have_code(int dir_fd, const char *name, const char *digest);
