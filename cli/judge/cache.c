/* cache.c: see cache.h. Nothing is synced: answers that are lost when the machine crashes are requested again. */
#include "judge/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

bool judge_digest(char digest[JUDGE_DIGEST_MAX], json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (text) {
        XXH128_hash_t hash = XXH3_128bits(text, strlen(text));
        snprintf(digest, JUDGE_DIGEST_MAX, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
    }
    free(text);
    json_decref(object);
    return text != NULL;
}

#define uthash_fatal(message) ((void)0) /* an entry that could not be added is requested again */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* The line begins with a line end, which is only written behind an incomplete line. */
char *cache_line(json_t *object, size_t flags)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | flags) : NULL, *line = NULL;
    if (text && asprintf(&line, "\n%s\n", text) < 0)
        line = NULL;
    json_decref(object);
    free(text);
    return line;
}

bool cache_lock(int fd)
{
    while (flock(fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return false;
    return true;
}

bool cache_line_write(int fd, const char *line, off_t *at, size_t *length)
{
    char last = '\n';
    const off_t end = lseek(fd, 0, SEEK_END);
    const bool torn = end > 0 && (pread(fd, &last, 1, end - 1) != 1 || last != '\n');
    const char *from = line + !torn;
    const size_t n = strlen(from);
    *at = end + torn;
    *length = n - torn;
    return end >= 0 && write(fd, from, n) == (ssize_t)n;
}

struct entry {
    UT_hash_handle hh;
    char digest[CACHE_DIGEST_MAX];
    json_t *analysis; /* a list of n texts, or NULL */
    size_t n;
    uint8_t flags[]; /* [n] */
};

/* What an endpoint refuses. A cache meets few of them. */
struct known {
    struct known *next; /* an earlier line */
    char digest[CACHE_DIGEST_MAX];
    struct judge_dialect dialect;
};

struct cache {
    struct entry *entries;
    struct known *endpoints; /* the newest first */
    int fd;
    off_t read; /* lines before this offset have been read */
};

/* A list of n texts, as a new reference, or NULL. */
static json_t *texts_of(const json_t *list, size_t n)
{
    bool good = json_is_array(list) && json_array_size(list) == n;
    for (size_t i = 0; good && i < n; i++)
        good = json_is_string(json_array_get(list, i));
    return good ? json_deep_copy(list) : NULL;
}

static void keep(struct cache *cache, const char *digest, const uint8_t *flags, size_t n, const json_t *analysis)
{
    struct entry *entry, *known;
    HASH_FIND_STR(cache->entries, digest, known);
    entry = known ? NULL : malloc(sizeof *entry + n);
    if (!entry)
        return;
    entry->n = n;
    entry->analysis = texts_of(analysis, n);
    memcpy(entry->flags, flags, n);
    snprintf(entry->digest, sizeof entry->digest, "%s", digest);
    HASH_ADD_STR(cache->entries, digest, entry);
    if (!entry->hh.tbl) {
        json_decref(entry->analysis);
        free(entry);
    }
}

static bool is_digest(const char *text)
{
    return text && strlen(text) == CACHE_DIGEST_MAX - 1 && strspn(text, "0123456789abcdef") == CACHE_DIGEST_MAX - 1;
}

static const struct {
    const char *name;
    size_t at;
} refusals[] = {{"schema", offsetof(struct judge_dialect, plain)},
                {"max_tokens", offsetof(struct judge_dialect, newer_limit)},
                {"temperature", offsetof(struct judge_dialect, no_temperature)}};
enum { N_REFUSALS = sizeof refusals / sizeof *refusals };

static void keep_endpoint(struct cache *cache, const char *digest, const struct judge_dialect *dialect)
{
    struct known *known = malloc(sizeof *known);
    if (!known)
        return;
    *known = (struct known){.next = cache->endpoints, .dialect = *dialect};
    snprintf(known->digest, sizeof known->digest, "%s", digest);
    cache->endpoints = known;
}

static void take_endpoint(struct cache *cache, const json_t *line)
{
    const char *digest = json_string_value(json_object_get(line, "endpoint"));
    const json_t *list = json_object_get(line, "refuses"), *name;
    struct judge_dialect dialect = {.plain = false};
    size_t i;
    if (!is_digest(digest) || !json_is_array(list))
        return;
    json_array_foreach(list, i, name)
        for (size_t k = 0; k < N_REFUSALS; k++)
            if (json_is_string(name) && strcmp(json_string_value(name), refusals[k].name) == 0)
                *(bool *)((char *)&dialect + refusals[k].at) = true;
    keep_endpoint(cache, digest, &dialect);
}

static void take_line(struct cache *cache, const char *text, size_t length)
{
    json_t *line = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const char *digest = json_string_value(json_object_get(line, "request"));
    const char *letters = json_string_value(json_object_get(line, "flags"));
    size_t n = letters ? strlen(letters) : 0;
    uint8_t *flags = n && strspn(letters, "GB") == n && is_digest(digest) ? malloc(n) : NULL;
    for (size_t i = 0; flags && i < n; i++)
        flags[i] = letters[i] == 'G';
    if (flags)
        keep(cache, digest, flags, n, json_object_get(line, "analysis"));
    free(flags);
    take_endpoint(cache, line);
    json_decref(line);
}

/* Parses complete lines only. An incomplete last line is read again once it is complete. */
static void take_lines(struct cache *cache, const char *text, size_t length)
{
    const char *from = text, *end;
    while ((end = memchr(from, '\n', length - (size_t)(from - text)))) {
        take_line(cache, from, (size_t)(end - from));
        from = end + 1;
    }
    cache->read += from - text;
}

/* If the file became shorter, it was replaced, so it is read from its beginning. */
bool cache_refresh(struct cache *cache)
{
    off_t end = lseek(cache->fd, 0, SEEK_END);
    if (end < cache->read)
        cache->read = 0;
    size_t length = (size_t)(end - cache->read), got = 0;
    char *text = end > cache->read ? malloc(length) : NULL;
    bool good = end >= 0 && (text || end == cache->read);
    while (text && good && got < length) {
        ssize_t n = pread(cache->fd, text + got, length - got, cache->read + (off_t)got);
        good = n > 0 || (n < 0 && errno == EINTR);
        got += n > 0 ? (size_t)n : 0;
    }
    if (text && good)
        take_lines(cache, text, got);
    free(text);
    return good;
}

struct cache *cache_open(const char *path, char why[CACHE_WHY_MAX])
{
    struct cache *cache = calloc(1, sizeof *cache);
    if (cache && (cache->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) >= 0 && cache_refresh(cache))
        return cache;
    snprintf(why, CACHE_WHY_MAX, "%.180s: %s", path, cache ? strerror(errno) : "out of memory");
    cache_close(cache);
    return NULL;
}

void cache_close(struct cache *cache)
{
    struct entry *entry, *next;
    if (!cache)
        return;
    HASH_ITER(hh, cache->entries, entry, next)
    {
        HASH_DEL(cache->entries, entry);
        json_decref(entry->analysis);
        free(entry);
    }
    for (struct known *known; (known = cache->endpoints);) {
        cache->endpoints = known->next;
        free(known);
    }
    if (cache->fd >= 0)
        close(cache->fd);
    free(cache);
}

bool cache_find(const struct cache *cache, const char *digest, uint8_t *flags, size_t n, json_t **analysis)
{
    const struct entry *entry;
    HASH_FIND_STR(cache->entries, digest, entry);
    *analysis = NULL;
    if (!entry || entry->n != n)
        return false;
    *analysis = json_incref(entry->analysis);
    memcpy(flags, entry->flags, n);
    return true;
}

void cache_find_endpoint(const struct cache *cache, const char *digest, struct judge_dialect *dialect)
{
    for (const struct known *known = cache->endpoints; known; known = known->next)
        if (strcmp(known->digest, digest) == 0) {
            *dialect = known->dialect;
            return;
        }
}

/* Takes the object. */
static bool add_line(struct cache *cache, json_t *object)
{
    off_t at;
    size_t length;
    char *line = cache_line(object, 0);
    bool locked = line && cache_lock(cache->fd), good = locked && cache_line_write(cache->fd, line, &at, &length);
    if (locked)
        flock(cache->fd, LOCK_UN);
    free(line);
    return good;
}

bool cache_add(struct cache *cache, const char *digest, const uint8_t *flags, size_t n, const char *model, const char *wording,
               const json_t *texts)
{
    char *letters = malloc(n + 1);
    for (size_t i = 0; letters && i < n; i++)
        letters[i] = flags[i] ? 'G' : 'B';
    if (letters)
        letters[n] = '\0';
    keep(cache, digest, flags, n, json_object_get(texts, "analysis"));
    json_t *line =
        letters ? json_pack("{s:s, s:s, s:s, s:s}", "request", digest, "flags", letters, "model", model, "wording", wording)
                : NULL;
    if (line && texts)
        json_object_update_missing(line, (json_t *)(uintptr_t)texts);
    bool good = line && add_line(cache, line);
    free(letters);
    return good;
}

bool cache_add_endpoint(struct cache *cache, const char *digest, const char *model, const struct judge_dialect *dialect)
{
    json_t *list = json_array();
    for (size_t k = 0; k < N_REFUSALS; k++)
        if (*(const bool *)((const char *)dialect + refusals[k].at))
            json_array_append_new(list, json_string(refusals[k].name));
    keep_endpoint(cache, digest, dialect);
    return add_line(cache, json_pack("{s:s, s:s, s:o}", "endpoint", digest, "model", model, "refuses", list));
}
