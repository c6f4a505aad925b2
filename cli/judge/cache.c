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

struct cache {
    json_t *answers;   /* flags and analysis by the digest of the request; the first line counts */
    json_t *endpoints; /* what they refuse, by their digest; the last line counts */
    int fd;
    off_t read; /* lines before this offset have been read */
};

static bool is_digest(const char *text)
{
    return text && strlen(text) == CACHE_DIGEST_MAX - 1 && strspn(text, "0123456789abcdef") == CACHE_DIGEST_MAX - 1;
}

static bool are_texts(const json_t *list, size_t n)
{
    bool good = json_is_array(list) && json_array_size(list) == n;
    for (size_t i = 0; good && i < n; i++)
        good = json_is_string(json_array_get(list, i));
    return good;
}

/* Keeps what the line says; what does not fit into memory is requested again. */
static void keep(struct cache *cache, const json_t *line)
{
    const char *request = json_string_value(json_object_get(line, "request")),
               *endpoint = json_string_value(json_object_get(line, "endpoint")),
               *flags = json_string_value(json_object_get(line, "flags"));
    json_t *analysis = json_object_get(line, "analysis"), *refuses = json_object_get(line, "refuses");
    const size_t n = flags ? strlen(flags) : 0;
    if (n && strspn(flags, "GB") == n && is_digest(request) && !json_object_get(cache->answers, request))
        json_object_set_new(cache->answers, request,
                            json_pack("{s:s, s:O*}", "flags", flags, "analysis", are_texts(analysis, n) ? analysis : NULL));
    if (is_digest(endpoint) && json_is_array(refuses))
        json_object_set(cache->endpoints, endpoint, refuses);
}

static const struct {
    const char *name;
    size_t at;
} refusals[] = {{"schema", offsetof(struct judge_dialect, plain)},
                {"max_tokens", offsetof(struct judge_dialect, newer_limit)},
                {"temperature", offsetof(struct judge_dialect, no_temperature)}};
enum { N_REFUSALS = sizeof refusals / sizeof *refusals };

/* Parses complete lines only. An incomplete last line is read again once it is complete. */
static void take_lines(struct cache *cache, const char *text, size_t length)
{
    const char *from = text, *end;
    while ((end = memchr(from, '\n', length - (size_t)(from - text)))) {
        json_t *line = json_loadb(from, (size_t)(end - from), JSON_REJECT_DUPLICATES, NULL);
        keep(cache, line);
        json_decref(line);
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
    if (cache)
        *cache = (struct cache){.answers = json_object(), .endpoints = json_object()};
    if (cache && (cache->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) >= 0 && cache_refresh(cache))
        return cache;
    snprintf(why, CACHE_WHY_MAX, "%.180s: %s", path, cache ? strerror(errno) : "out of memory");
    cache_close(cache);
    return NULL;
}

void cache_close(struct cache *cache)
{
    if (!cache)
        return;
    json_decref(cache->answers);
    json_decref(cache->endpoints);
    if (cache->fd >= 0)
        close(cache->fd);
    free(cache);
}

bool cache_find(const struct cache *cache, const char *digest, uint8_t *flags, size_t n, json_t **analysis)
{
    const json_t *answer = json_object_get(cache->answers, digest);
    const char *letters = json_string_value(json_object_get(answer, "flags"));
    *analysis = NULL;
    if (!letters || strlen(letters) != n)
        return false;
    *analysis = json_incref(json_object_get(answer, "analysis"));
    for (size_t i = 0; i < n; i++)
        flags[i] = letters[i] == 'G';
    return true;
}

void cache_find_endpoint(const struct cache *cache, const char *digest, struct judge_dialect *dialect)
{
    const json_t *refuses = json_object_get(cache->endpoints, digest), *name;
    size_t i;
    if (refuses)
        *dialect = (struct judge_dialect){.plain = false};
    json_array_foreach(refuses, i, name)
        for (size_t k = 0; k < N_REFUSALS; k++)
            if (json_is_string(name) && strcmp(json_string_value(name), refusals[k].name) == 0)
                *(bool *)((char *)dialect + refusals[k].at) = true;
}

/* Keeps the line, whose reference it takes, also if it cannot be written. */
static bool add_line(struct cache *cache, json_t *object)
{
    off_t at;
    size_t length;
    keep(cache, object);
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
    json_t *line =
        letters ? json_pack("{s:s, s:s, s:s, s:s}", "request", digest, "flags", letters, "model", model, "wording", wording)
                : NULL;
    if (line && texts)
        json_object_update_missing(line, (json_t *)(uintptr_t)texts);
    free(letters);
    return add_line(cache, line);
}

bool cache_add_endpoint(struct cache *cache, const char *digest, const char *model, const struct judge_dialect *dialect)
{
    json_t *list = json_array();
    for (size_t k = 0; k < N_REFUSALS; k++)
        if (*(const bool *)((const char *)dialect + refusals[k].at))
            json_array_append_new(list, json_string(refusals[k].name));
    return add_line(cache, json_pack("{s:s, s:s, s:o}", "endpoint", digest, "model", model, "refuses", list));
}
