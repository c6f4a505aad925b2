/*
 * file_pool.c: see file_pool.h.
 *
 * An entry is named by a digest, but the bytes are compared all the same: the store may come from somebody else, and a
 * trial must not get other code than it had.
 */
#include "git/file_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

struct contents {
    char *bytes;
    size_t length;
    mode_t mode;
};

static bool read_contents(struct contents *c, const char *path)
{
    struct stat st;
    size_t got = 0;
    ssize_t n = 1;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    *c = (struct contents){0};
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        c->length = (size_t)st.st_size;
        c->mode = st.st_mode & 07777;
        c->bytes = malloc(c->length + 1);
    }
    while (c->bytes && got < c->length && (n = read(fd, c->bytes + got, c->length - got)) > 0)
        got += (size_t)n;
    if (fd >= 0)
        close(fd);
    return c->bytes && got == c->length;
}

static bool is_equal(const struct contents *a, const struct contents *b)
{
    return a->length == b->length && a->mode == b->mode && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* Makes the pool and its parent if they are missing. */
static bool add(const char *pool, const char *path, const char *entry)
{
    char parent[PATH_MAX];
    if (link(path, entry) == 0)
        return true;
    snprintf(parent, sizeof parent, "%s", pool);
    char *slash = strrchr(parent, '/');
    if (errno != ENOENT || !slash)
        return false;
    *slash = '\0';
    mkdir(parent, 0700);
    mkdir(pool, 0700);
    return link(path, entry) == 0;
}

void file_pool_share(const char *pool, const char *path, const char *scratch)
{
    char entry[PATH_MAX], fresh[PATH_MAX];
    struct contents mine, theirs = {0};
    if (!pool || !read_contents(&mine, path))
        return;
    XXH128_hash_t hash = XXH3_128bits(mine.bytes, mine.length);
    int n = snprintf(entry, sizeof entry, "%s/%016llx%016llx-%04o", pool, (unsigned long long)hash.high64,
                     (unsigned long long)hash.low64, (unsigned)mine.mode);
    int m = snprintf(fresh, sizeof fresh, "%s/.shared", scratch);
    if (n > 0 && n < PATH_MAX && m > 0 && m < PATH_MAX && !add(pool, path, entry) && read_contents(&theirs, entry) &&
        is_equal(&mine, &theirs) && link(entry, fresh) == 0 && rename(fresh, path) != 0)
        unlink(fresh);
    free(mine.bytes);
    free(theirs.bytes);
}
