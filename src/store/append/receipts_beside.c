#include "receipts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <sha2.h>

#include "../files/fs.h"
#include "../files/places.h"

#define BEGINNING "receipt-"
enum { REQUEST_DIGITS = 32 };

static bool is_request(const char *text)
{
    return text && strlen(text) == REQUEST_DIGITS && strspn(text, "0123456789abcdef") == REQUEST_DIGITS;
}

static void make_path(char path[PLACE_MAX], const char *name)
{
    snprintf(path, PLACE_MAX, PLACE_OUTBOX "/%s", name);
}

void receipts_digest(struct buf *out, const char *bytes, size_t length)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA2_CTX hash;
    SHA256Init(&hash);
    SHA256Update(&hash, (const unsigned char *)bytes, length);
    SHA256Final(digest, &hash);
    buf_add_hex(out, digest, sizeof digest);
}

/* Sums up these files, and finds the oldest; false if there is none. */
static bool look_at_files(int dir_fd, uint64_t *bytes, char oldest[PLACE_MAX])
{
    int fd = fs_open(dir_fd, PLACE_OUTBOX, O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = fd >= 0 ? fs_list(fd) : NULL;
    const char *name;
    bool any = false;
    struct timespec first = {0};
    *bytes = 0;
    while (dir && (name = fs_next(dir))) {
        struct stat st;
        char path[PLACE_MAX];
        if (strncmp(name, BEGINNING, sizeof BEGINNING - 1) != 0 || !is_request(name + sizeof BEGINNING - 1))
            continue;
        make_path(path, name);
        if (fs_stat(dir_fd, path, AT_SYMLINK_NOFOLLOW, &st) != 0)
            continue;
        *bytes += (uint64_t)st.st_size;
        const struct timespec at = st.st_mtim;
        if (!any || at.tv_sec < first.tv_sec || (at.tv_sec == first.tv_sec && at.tv_nsec < first.tv_nsec)) {
            first = at;
            strcpy(oldest, path);
        }
        any = true;
    }
    if (dir)
        closedir(dir);
    return any;
}

bool receipts_put_beside(int dir_fd, const char *request, const char *bytes, size_t length, uint64_t max_bytes)
{
    char name[sizeof BEGINNING + REQUEST_DIGITS], oldest[PLACE_MAX];
    uint64_t there;
    if (length > max_bytes || !is_request(request))
        return false;
    while (look_at_files(dir_fd, &there, oldest) && there + length > max_bytes)
        if (fs_unlink(dir_fd, oldest) != 0)
            return false;
    snprintf(name, sizeof name, BEGINNING "%s", request);
    int fd = fs_open(dir_fd, PLACE_OUTBOX, O_RDONLY | O_DIRECTORY, 0);
    const bool done = fd >= 0 && fs_replace(fd, name, bytes, length, false, NULL) == LINEAGE_OK;
    fs_close(fd);
    return done;
}

bool receipts_read_beside(struct buf *out, int dir_fd, const char *request, const char *digest)
{
    char name[sizeof BEGINNING + REQUEST_DIGITS], path[PLACE_MAX];
    struct buf found = {0};
    if (!is_request(request))
        return false;
    snprintf(name, sizeof name, BEGINNING "%s", request);
    make_path(path, name);
    bool same = fs_read_file(dir_fd, path, out, NULL) == LINEAGE_OK;
    if (same)
        receipts_digest(&found, out->data ? out->data : "", out->length);
    same = same && !found.failed && strcmp(found.data, digest) == 0;
    buf_release(&found);
    return same;
}

void receipts_drop_beside(int dir_fd, const char *request)
{
    char name[sizeof BEGINNING + REQUEST_DIGITS], path[PLACE_MAX];
    if (!is_request(request))
        return;
    snprintf(name, sizeof name, BEGINNING "%s", request);
    make_path(path, name);
    (void)!fs_unlink(dir_fd, path);
}
