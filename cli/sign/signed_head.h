/*
 * signed_head.h: signatures of the digest of all rows, kept in the store as lines of .results.tsv.signed (schema/FORMAT.md).
 *
 * ssh-keygen makes and checks the signatures, because users have keys of ssh, with agents and hardware behind them, and anybody
 * can check such a signature without lineage.
 */
#pragma once

#include <lineage/redact.h>

#include "cli.h"

/* ---- user keys ---- */

/*
 * What belongs to the user and not to a store: the key to sign with, the public keys that the user trusts, and the heads
 * that were signed or met on this machine. Write access to a store does not give access to these.
 *
 *   ${XDG_CONFIG_HOME:-~/.config}/lineage/signing_key        path of the key
 *   ${XDG_CONFIG_HOME:-~/.config}/lineage/allowed_signers    public keys, in the format of ssh-keygen(1)
 *   ${XDG_STATE_HOME:-~/.local/state}/lineage/signed_heads   the last signed head of each store
 */

#define USER_KEYS_NAME "lineage" /* the name of all signers in allowed_signers */
#define USER_KEYS_NAMESPACE "lineage-head"

/* Path of the key, or "" if none is configured. */
void user_key_path(char out[PATH_MAX]);

/* Makes `path`, which may be a public key whose private key an agent has, the key to sign with, and trusts its public key.
 * Returns an exit status after a failure, otherwise CLI_GO_ON. */
int user_key_choose(const char *path);

/* Adds a public key to those that are trusted, once. */
int user_key_trust(const char *path);

/* The last signed head of a store that this user has signed or met. */
struct user_head {
    uint64_t records;
    char head[65];
    char time[32];
};

/* Replaces the head of a store. Failing to write it is reported and not an error. */
void user_head_keep(const struct user_head *head, const char *store);

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
