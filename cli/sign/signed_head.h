/*
 * signed_head.h: signatures of the digest of all rows, kept in the store as lines of .results.tsv.signed (schema/FORMAT.md).
 *
 * ssh-keygen makes and checks the signatures, because users have keys of ssh, with agents and hardware behind them, and anybody
 * can check such a signature without lineage.
 */
#pragma once

#include <lineage/redact.h>

#include "cli.h"

/* What the last signature of a store says, and what this user knows about it. */
struct signed_heads {
    char store[PATH_MAX]; /* absolute path */
    bool is_there;        /* the store has a signature that can be read .. */
    bool is_damaged;      /* .. or a file of signatures that cannot */
    bool has_trusted;     /* the user has a list of trusted keys */
    bool is_valid;        /* the signature is by a trusted key */
    bool is_remembered;   /* this user has signed or met a head of this store */
    uint64_t records;
    char head[LINEAGE_DIGEST_TEXT], time[32], why[200];
    char signature[4096];
    struct lineage_redactions redactions; /* that the signature covers: bytes and digest as it says */
    bool redactions_differ;               /* the recorded redactions are not those that were signed .. */
    size_t redactions_since;              /* .. or this many bytes of them are newer */
    char remembered_head[LINEAGE_DIGEST_TEXT], remembered_time[32];
    uint64_t remembered_records;
};

/* Reads the last signature of the store, and checks it. */
void signed_heads_read(struct signed_heads *heads, const struct lineage_store *store);

/* Remembers the head after a verification has found it. */
void signed_heads_remember(const struct signed_heads *heads);

/*
 * Signs the digest of the rows with the key that the user chose. redacted: redactions that no
 * signature covers are the user's own; without it they are refused. may_ask: for a passphrase, on the terminal. Rows that do not
 * match their digests are not signed. Nothing is written if this head is signed already. Returns CLI_GO_ON, or an exit status
 * after printing the error.
 */
int signed_head_make(struct lineage_store *store, bool redacted, bool may_ask, struct lineage_digests *digests);

/* At the end of a night: signs if a key is configured. A failure is reported and is not one of the night. */
void signed_head_after_night(struct lineage_store *store);
