/*
 * score_cache.h: log-probs that an endpoint returned, by the digest of the request, in an append-only file of JSON lines:
 *
 *   {"request": "32 hexadecimal digits", "log_probs": [-0.25, ..]}
 *
 * Any number of processes may use one file: each line is one write under the file's lock. A line that is incomplete or damaged is
 * skipped. Once the file is longer than half of its limit, it is renamed to PATH.old, in place of an earlier one, and a new file
 * begins; both are searched. The file contains neither the key nor the address.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "judge/cache.h"

enum { SCORE_CACHE_WHY_MAX = 256 };

struct score_cache;

/* Creates the file if it is missing; limit: bytes of both files. Returns NULL with the reason in why. */
struct score_cache *score_cache_open(const char *path, size_t limit, char why[SCORE_CACHE_WHY_MAX]);
void score_cache_close(struct score_cache *cache);

/* Reads the n log-probs of the answer to the request with this digest. Returns false if there is none of that length. */
bool score_cache_find(struct score_cache *cache, const char *digest, float *values, size_t n);

/* Adds an answer. Returns false if it could not be written; then the request is made again when it is needed. */
bool score_cache_add(struct score_cache *cache, const char *digest, const float *values, size_t n);
