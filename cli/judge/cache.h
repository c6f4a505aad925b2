/*
 * cache.h: earlier answers, by the digest of the request: a file of lines of JSON that only grows.
 *
 *     {"request": "32 hexadecimal digits", "flags": "GBG", "model": "..", "wording": ".."}
 *
 * Any number of processes may use one file: each line is one write under the file's lock, and what others wrote is read
 * before anything is looked for. A line that is cut off or damaged is passed over. It holds no texts of trajectories or
 * answers, and no key.
 */
#ifndef JUDGE_CACHE_H
#define JUDGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_DIGEST_MAX = 33, CACHE_WHY_MAX = 256 };

struct cache;

/* The file is made if it is missing. NULL with the reason in why. */
struct cache *cache_open(const char *path, char why[CACHE_WHY_MAX]);
void cache_close(struct cache *cache);

/* Read what was written since; false if the file cannot be read. */
bool cache_refresh(struct cache *cache);

/* The flags of the answer to that request, if it is of n steps. */
bool cache_find(const struct cache *cache, const char *digest, uint8_t *flags, size_t n);

/* Remember an answer. False if it could not be written; it is known to this process all the same. */
bool cache_add(struct cache *cache, const char *digest, const uint8_t *flags, size_t n, const char *model,
               const char *wording);

#endif
