/*
 * cache.h: earlier answers, looked up by the digest of the request, in an append-only file of JSON lines:
 *
 *   {"request": "32 hexadecimal digits", "flags": "GBG", "model": "..", "wording": "..",
 *    "analysis": ["..", "..", ".."], "shown": {"task": "..", "outcome": "success", "steps": [{"action": ".."}, ..]}}
 *
 *   {"endpoint": "32 hexadecimal digits", "model": "..", "refuses": ["schema", "max_tokens", "temperature"]}
 *
 * Any number of processes may use one file: each line is one write under the file's lock, and new lines of other
 * processes are read before each lookup. A line that is incomplete or damaged is skipped. `shown` is what the
 * judge was shown of the trajectory. Lines of older versions have neither `shown` nor `analysis`. The file contains no key.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "judge/retry.h"

/* ---- the digest of a request, under which its answer is kept ---- */

enum { JUDGE_DIGEST_MAX = 33 };

/* Writes the XXH3 128 of the object's compact JSON with sorted keys, and takes over the reference to the object. Returns false if
 * the object is NULL or memory runs out. */
bool judge_digest(char digest[JUDGE_DIGEST_MAX], json_t *object);

/* ---- answers ---- */

enum { CACHE_DIGEST_MAX = JUDGE_DIGEST_MAX, CACHE_WHY_MAX = 256 };

struct cache;

/* Creates the file if it is missing. Returns NULL with the reason in why. */
struct cache *cache_open(const char *path, char why[CACHE_WHY_MAX]);
void cache_close(struct cache *cache);

/* Reads the lines that were appended since the last read. Returns false if the file cannot be read. */
bool cache_refresh(struct cache *cache);

/*
 * Finds the cached flags for the request with this digest, and the analysis (json_decref; NULL if there is none). Returns
 * false if there are none, or if their number is not n.
 */
bool cache_find(const struct cache *cache, const char *digest, uint8_t *flags, size_t n, json_t **analysis);

/* Finds what an endpoint with this digest of address and model has refused; the last line counts. Leaves *dialect unchanged if
 * there is none. */
void cache_find_endpoint(const struct cache *cache, const char *digest, struct judge_dialect *dialect);

/* Adds a line about an endpoint. Returns false if it could not be written. */
bool cache_add_endpoint(struct cache *cache, const char *digest, const char *model, const struct judge_dialect *dialect);

/* Adds an answer; texts is an object with further members (analysis, shown), or NULL. Returns false if the answer could not be written to the file; this process can still find it. */
bool cache_add(struct cache *cache, const char *digest, const uint8_t *flags, size_t n, const char *model, const char *wording,
               const json_t *texts);

/* ---- appends to a file of JSON lines that many processes write, any of which may be killed ---- */

/* A killed writer may leave a
 * line without its line end; the next writer adds the line end first, so only that line is lost. */

/* Takes over the reference to the object. Returns its line for cache_line_write (free), or NULL if the object is NULL or memory runs
 * out. flags: those of json_dumps, beside JSON_COMPACT. */
char *cache_line(json_t *object, size_t flags);

/* Locks the file for writing; flock(fd, LOCK_UN) unlocks it. */
bool cache_lock(int fd);

/* Appends the line under the lock. *at and *length are its place in the file, with its line end. A partial write returns false and
 * leaves an incomplete line, just as a killed writer does. */
bool cache_line_write(int fd, const char *line, off_t *at, size_t *length);
