/*
 * code_objects.h: objects in lineage_code/, each named by the digest of its bytes.
 *
 * Nothing in lineage_code/ is trusted when it is read: a link is not followed, a file that is too long is refused, and
 * the bytes must have the digest that names them.
 */
#pragma once

#include <lineage/code.h>

#include "../format/arena.h"
#include "../internal.h"

/* The longest object: a list with all its lines, which is longer than the longest file. */
#define CODE_OBJECT_BYTES ((size_t)2 << 20)

bool code_is_digest(const char *text);

/* Stores the bytes, synced, unless a sound object with this digest exists. Replaces a damaged one. */
enum lineage_status code_object_put(char digest[LINEAGE_CODE_DIGEST_MAX], struct lineage_store *store, const void *bytes,
                                    size_t length, struct lineage_error *err);

/* Appends the bytes of an object that is in this directory to out. Returns LINEAGE_ENOTFOUND or LINEAGE_ECORRUPT with a
 * message that names the digest. */
enum lineage_status code_object_here(struct buf *out, const struct lineage_store *store, const char *digest,
                                     struct lineage_error *err);

/* Like code_object_here. Fetches an object that is missing here from the server. */
enum lineage_status code_object_get(struct buf *out, struct lineage_store *store, const char *digest, struct lineage_error *err);

/* ---- code_read.c: the list of a trial's code as text ---- */

/*
 *     lineage code 1
 *     file 644 DIGEST train.py       mode in octal; sorted by name
 *     gone old.py                    a file of the sweep that a diff has removed; sorted by name
 *     diff DIGEST                    oldest first
 *
 * Each line ends in LF. Anything else is refused, because anybody may write a file into the store or onto a server.
 */

/* Whether a file of a list may have the name: relative, not below `..`, UTF-8 without control characters. */
bool code_name_ok(const char *name);

void code_list_print(struct buf *out, const struct lineage_code *code);

/* Reads the text, which is changed and must live as long as the code. Allocates from the arena. */
enum lineage_status code_list_parse(struct lineage_code *code, struct arena *arena, char *text, struct lineage_error *err);
