/*
 * protected_files.c: see protected_files.h.
 *
 * Files are compared by content, not by modification time, which a program can set. 128 bits of XXH3 suffice: an edited
 * file does not get the same digest by chance, and an attacker could as well edit the row.
 */
#include "run/protected_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

enum { READ_BYTES = 1 << 16 };

/* O_NONBLOCK, because a pipe that has replaced the file must not block this process. */
static struct protected_digest digest_of(const char *path)
{
    struct protected_digest digest = {0};
    XXH3_state_t *state = XXH3_createState();
    char *buffer = malloc(READ_BYTES);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = -1;
    if (fd < 0 || !state || !buffer) {
        digest.error = fd < 0 ? errno : ENOMEM;
    } else {
        XXH3_128bits_reset(state);
        while ((n = read(fd, buffer, READ_BYTES)) > 0)
            XXH3_128bits_update(state, buffer, (size_t)n);
        digest.error = n < 0 ? errno : 0;
        XXH128_hash_t hash = XXH3_128bits_digest(state);
        digest.low = hash.low64;
        digest.high = hash.high64;
    }
    if (fd >= 0)
        close(fd);
    free(buffer);
    XXH3_freeState(state);
    return digest;
}

bool protected_files_read(struct protected_files *files, const char *const *path)
{
    size_t n = 0;
    *files = (struct protected_files){.path = path};
    while (path && path[n])
        n++;
    if (!n)
        return true;
    files->digest = calloc(n, sizeof *files->digest);
    for (size_t i = 0; files->digest && i < n; i++)
        files->digest[i] = digest_of(path[i]);
    return files->digest != NULL;
}

const char *protected_files_changed(const struct protected_files *files)
{
    for (size_t i = 0; files->digest && files->path[i]; i++) {
        struct protected_digest now = digest_of(files->path[i]);
        if (now.low != files->digest[i].low || now.high != files->digest[i].high || now.error != files->digest[i].error)
            return files->path[i];
    }
    return NULL;
}

void protected_files_release(struct protected_files *files)
{
    free(files->digest);
    files->digest = NULL;
}
