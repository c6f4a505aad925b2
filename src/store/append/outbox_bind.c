/* outbox_bind.c: see outbox_request.h. The code is the HMAC-SHA-256 (RFC 2104) of the request as compact JSON with sorted keys. */
#include "outbox_request.h"

#include <stdio.h>
#include <string.h>

#include <lineage/render.h>
#include <sha2.h>

#include "../files/user_key.h"
#include "../internal.h"
#include "../log/log.h"

#define CODE "code"
enum { BLOCK = 64, CODE_TEXT = 2 * SHA256_DIGEST_LENGTH + 1 };

static void hash_padded(unsigned char digest[SHA256_DIGEST_LENGTH], const unsigned char key[USER_KEY_BYTES], unsigned char pad,
                        const void *bytes, size_t length)
{
    unsigned char block[BLOCK];
    SHA2_CTX hash;
    memset(block, pad, sizeof block);
    for (size_t i = 0; i < USER_KEY_BYTES; i++)
        block[i] ^= key[i];
    SHA256Init(&hash);
    SHA256Update(&hash, block, sizeof block);
    SHA256Update(&hash, bytes, length);
    SHA256Final(digest, &hash);
}

/* Returns false without a key or without memory. The request has no code yet. */
static bool compute(char text[CODE_TEXT], const json_t *about)
{
    unsigned char key[USER_KEY_BYTES], inner[SHA256_DIGEST_LENGTH], outer[SHA256_DIGEST_LENGTH];
    char *bytes = json_dumps(about, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    bool known = bytes && user_key_read(key, NULL) == LINEAGE_OK;
    if (known) {
        hash_padded(inner, key, 0x36, bytes, strlen(bytes));
        hash_padded(outer, key, 0x5c, inner, sizeof inner);
        for (size_t i = 0; i < sizeof outer; i++)
            snprintf(text + 2 * i, 3, "%02x", outer[i]);
    }
    lineage_free(bytes);
    return known;
}

void outbox_bind(json_t *about, const struct lineage_store *store)
{
    char text[CODE_TEXT];
    json_object_del(about, CODE);
    json_object_set_new(about, "server", json_string(store->log->place));
    if (compute(text, about))
        json_object_set_new(about, CODE, json_string(text));
}

bool outbox_is_bound(json_t *about, const struct lineage_store *store)
{
    char wanted[CODE_TEXT];
    const char *server = json_string_value(json_object_get(about, "server"));
    json_t *code = json_incref(json_object_get(about, CODE));
    bool bound = false;
    if (json_is_string(code) && server && strcmp(server, store->log->place) == 0) {
        json_object_del(about, CODE);
        bound = compute(wanted, about) && strcmp(wanted, json_string_value(code)) == 0;
        json_object_set(about, CODE, code);
    }
    json_decref(code);
    return bound;
}
