/*
 * score_cache.c: an index in memory of where each answer is in the files; the numbers stay on the disk. Nothing is synced: answers
 * that are lost when the machine crashes are requested again.
 */
#include "judge/score_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define uthash_fatal(message) ((void)0) /* an answer that could not be indexed is requested again */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Nine digits give a float back exactly. */
#define NUMBERS JSON_REAL_PRECISION(9)

struct place {
    UT_hash_handle hh;
    char digest[JUDGE_DIGEST_MAX];
    size_t file; /* of cache->fd */
    off_t at;
    size_t length;
};

enum { NEW, OLD, FILES };

struct score_cache {
    char path[FILES][PATH_MAX];
    int fd[FILES]; /* -1: there is none */
    size_t limit;
    struct place *places;
};

static void forget_file(struct score_cache *cache, size_t file)
{
    struct place *place, *next;
    HASH_ITER(hh, cache->places, place, next)
    {
        if (place->file == file) {
            HASH_DEL(cache->places, place);
            free(place);
        }
    }
    if (cache->fd[file] >= 0)
        close(cache->fd[file]);
    cache->fd[file] = -1;
}

static void index_line(struct score_cache *cache, size_t file, const char *line, off_t at, size_t length)
{
    static const char begin[] = "{\"request\":\"";
    const char *digest = line + sizeof begin - 1;
    if (length < sizeof begin + JUDGE_DIGEST_MAX || memcmp(line, begin, sizeof begin - 1) != 0 ||
        strspn(digest, "0123456789abcdef") != JUDGE_DIGEST_MAX - 1)
        return;
    struct place *place;
    HASH_FIND(hh, cache->places, digest, JUDGE_DIGEST_MAX - 1, place);
    if (!place && (place = calloc(1, sizeof *place))) {
        memcpy(place->digest, digest, JUDGE_DIGEST_MAX - 1);
        HASH_ADD(hh, cache->places, digest, JUDGE_DIGEST_MAX - 1, place);
        if (!place->hh.tbl) {
            free(place);
            place = NULL;
        }
    }
    if (place) { /* the last line counts */
        place->file = file;
        place->at = at;
        place->length = length;
    }
}

static void index_file(struct score_cache *cache, size_t file)
{
    int copy = cache->fd[file] >= 0 ? dup(cache->fd[file]) : -1;
    FILE *in = copy >= 0 ? fdopen(copy, "r") : NULL;
    char *line = NULL;
    size_t capacity = 0;
    off_t at = 0;
    for (ssize_t n; in && (n = getline(&line, &capacity, in)) > 0; at += n)
        if (line[n - 1] == '\n')
            index_line(cache, file, line, at, (size_t)n);
    free(line);
    if (in)
        fclose(in);
    else if (copy >= 0)
        close(copy);
}

static bool open_files(struct score_cache *cache)
{
    cache->fd[NEW] = open(cache->path[NEW], O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    cache->fd[OLD] = cache->fd[NEW] >= 0 ? open(cache->path[OLD], O_RDONLY | O_CLOEXEC) : -1;
    index_file(cache, OLD);
    index_file(cache, NEW);
    return cache->fd[NEW] >= 0;
}

struct score_cache *score_cache_open(const char *path, size_t limit, char why[SCORE_CACHE_WHY_MAX])
{
    struct score_cache *cache = calloc(1, sizeof *cache);
    errno = cache ? ENAMETOOLONG : ENOMEM;
    if (cache) {
        cache->fd[NEW] = cache->fd[OLD] = -1;
        cache->limit = limit;
        snprintf(cache->path[NEW], PATH_MAX, "%s", path);
        int n = snprintf(cache->path[OLD], PATH_MAX, "%s.old", path);
        if (n > 0 && n < PATH_MAX && open_files(cache))
            return cache;
    }
    snprintf(why, SCORE_CACHE_WHY_MAX, "%.180s: %s", path, strerror(errno));
    score_cache_close(cache);
    return NULL;
}

void score_cache_close(struct score_cache *cache)
{
    for (size_t file = 0; cache && file < FILES; file++)
        forget_file(cache, file);
    free(cache);
}

/* Whether the path still names the file that is open; another process may have renamed it. */
static bool is_current(const struct score_cache *cache)
{
    struct stat ours, theirs;
    return fstat(cache->fd[NEW], &ours) == 0 && stat(cache->path[NEW], &theirs) == 0 && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
}

/* Locks the file that the path names, after beginning a new one if it is too long. Returns false if it cannot be had. */
static bool lock_file(struct score_cache *cache)
{
    for (int tries = 0; tries < 8; tries++) {
        struct stat file;
        if (!cache_lock(cache->fd[NEW]))
            return false;
        bool current = is_current(cache);
        if (current && fstat(cache->fd[NEW], &file) == 0 && (size_t)file.st_size <= cache->limit / 2)
            return true;
        if (current && rename(cache->path[NEW], cache->path[OLD]) != 0) {
            flock(cache->fd[NEW], LOCK_UN);
            return false;
        }
        forget_file(cache, NEW); /* which also unlocks it */
        forget_file(cache, OLD);
        if (!open_files(cache))
            return false;
    }
    return false;
}

static bool take_values(const json_t *line, const char *digest, float *values, size_t n)
{
    const json_t *list = json_object_get(line, "log_probs");
    const char *own = json_string_value(json_object_get(line, "request"));
    bool good = own && strcmp(own, digest) == 0 && json_is_array(list) && json_array_size(list) == n;
    for (size_t i = 0; good && i < n; i++)
        good = json_is_number(json_array_get(list, i));
    for (size_t i = 0; good && i < n; i++)
        values[i] = (float)json_number_value(json_array_get(list, i));
    return good;
}

bool score_cache_find(struct score_cache *cache, const char *digest, float *values, size_t n)
{
    struct place *place;
    HASH_FIND(hh, cache->places, digest, JUDGE_DIGEST_MAX - 1, place);
    char *text = place ? malloc(place->length) : NULL;
    ssize_t got = text ? pread(cache->fd[place->file], text, place->length, place->at) : -1;
    json_t *line = got > 0 ? json_loadb(text, (size_t)got, JSON_REJECT_DUPLICATES, NULL) : NULL;
    bool found = take_values(line, digest, values, n);
    json_decref(line);
    free(text);
    return found;
}

static char *line_of(const char *digest, const float *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < n; i++)
        json_array_append_new(list, json_real((double)values[i]));
    return cache_line(json_pack("{s:s, s:o}", "request", digest, "log_probs", list), NUMBERS);
}

bool score_cache_add(struct score_cache *cache, const char *digest, const float *values, size_t n)
{
    off_t at;
    size_t length;
    char *line = line_of(digest, values, n);
    bool locked = line && lock_file(cache), added = locked && cache_line_write(cache->fd[NEW], line, &at, &length);
    if (added)
        index_line(cache, NEW, line + 1, at, length);
    if (locked)
        flock(cache->fd[NEW], LOCK_UN);
    free(line);
    return added;
}
