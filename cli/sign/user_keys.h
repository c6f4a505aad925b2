/*
 * user_keys.h: what belongs to the user and not to a store: the key to sign with, the public keys that the user trusts, and the
 * heads that were signed or met on this machine. Write access to a store does not give access to these.
 *
 *     ${XDG_CONFIG_HOME:-~/.config}/lineage/signing_key       path of the key
 *     ${XDG_CONFIG_HOME:-~/.config}/lineage/allowed_signers   public keys, in the format of ssh-keygen(1)
 *     ${XDG_STATE_HOME:-~/.local/state}/lineage/signed_heads  the last signed head of each store
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define USER_KEYS_NAME "lineage" /* the name of all signers in allowed_signers */
#define USER_KEYS_NAMESPACE "lineage-head"

/* Path of the key, or "" if none is configured. */
void user_key_path(char out[PATH_MAX]);

/* Makes `path`, which may be a public key whose private key an agent has, the key to sign with, and trusts its public key.
 * Returns an exit status after a failure, otherwise CLI_GO_ON. */
int user_key_choose(const char *path);

/* Adds a public key to those that are trusted, once. */
int user_key_trust(const char *path);

/* Path of allowed_signers; returns false if the file is missing. */
bool user_keys_trusted(char out[PATH_MAX]);

/* The last signed head of a store that this user has signed or met. */
struct user_head {
    uint64_t records;
    char head[65];
    char time[32];
};

/* Looks up a store by its absolute path. */
bool user_head_find(struct user_head *head, const char *store);

/* Replaces the head of a store. Failing to write it is reported and not an error. */
void user_head_keep(const struct user_head *head, const char *store);
