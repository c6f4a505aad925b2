#include "code_objects.h"

#include <fcntl.h>
#include <sha2.h>

#include <lineage/blobs.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../log/redactions.h"

static void code_digest(char digest[LINEAGE_CODE_DIGEST_MAX], const void *bytes, size_t length)
{
    char text[SHA256_DIGEST_STRING_LENGTH];
    SHA256Data(bytes, length, text);
    snprintf(digest, LINEAGE_CODE_DIGEST_MAX, "%.32s", text);
}

bool code_is_digest(const char *text)
{
    return strlen(text) == LINEAGE_CODE_DIGEST_MAX - 1 && strspn(text, "0123456789abcdef") == LINEAGE_CODE_DIGEST_MAX - 1;
}

/* Opens lineage_code/ without following a link, so that no object is read or written outside of the store. */
static int open_place(const struct lineage_store *store)
{
    return fs_open(store->dir_fd, PLACE_CODE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* An object keeps its name when a secret is taken out of it (`lineage scrub`). */
static bool is_redacted(const struct lineage_store *store, const char *digest, const void *bytes, size_t length)
{
    char text[SHA256_DIGEST_STRING_LENGTH];
    SHA256Data(bytes, length, text);
    return redactions_have_code(store->dir_fd, digest, text);
}

/* Reads at most one byte more than an object may have. O_NONBLOCK, because a pipe in its place would block for ever. */
static enum lineage_status read_file(struct buf *out, const struct lineage_store *store, int place, const char *digest,
                                     struct lineage_error *err)
{
    struct stat st;
    char found[LINEAGE_CODE_DIGEST_MAX];
    size_t before = out->length;
    int fd = fs_open(place, digest, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0 && (errno == ENOENT || errno == ELOOP))
        return store_fail(err, errno == ENOENT ? LINEAGE_ENOTFOUND : LINEAGE_ECORRUPT, PLACE_CODE "/%s %s", digest,
                          errno == ENOENT ? "is gone" : "is a link");
    if (fd < 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot open " PLACE_CODE "/%s", digest);
    enum lineage_status status = LINEAGE_OK;
    if (fs_stat_open(fd, &st) != 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot look at " PLACE_CODE "/%s", digest);
    else if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > CODE_OBJECT_BYTES)
        status =
            store_fail(err, LINEAGE_ECORRUPT, PLACE_CODE "/%s is not a file of at most %zu bytes", digest, CODE_OBJECT_BYTES);
    else if (!buf_reserve(out, (size_t)st.st_size + 1))
        status = store_no_memory(err);
    if (status == LINEAGE_OK) {
        ssize_t n = fs_read_at(fd, out->data + before, (size_t)st.st_size, 0);
        if (n < 0)
            status = store_fail_errno(err, LINEAGE_EIO, "cannot read " PLACE_CODE "/%s", digest);
        else
            out->data[out->length += (size_t)n] = '\0';
    }
    fs_close(fd);
    if (status == LINEAGE_OK) {
        code_digest(found, out->data + before, out->length - before);
        if (strcmp(found, digest) != 0 && !is_redacted(store, digest, out->data + before, out->length - before))
            status = store_fail(err, LINEAGE_ECORRUPT, PLACE_CODE "/%s is damaged: its bytes have the digest %s", digest, found);
    }
    if (status != LINEAGE_OK && out->data)
        buf_truncate(out, before);
    return status;
}

enum lineage_status code_object_here(struct buf *out, const struct lineage_store *store, const char *digest,
                                     struct lineage_error *err)
{
    int place = open_place(store);
    if (place < 0 && errno == ENOENT)
        return store_fail(err, LINEAGE_ENOTFOUND, PLACE_CODE "/%s is gone", digest);
    if (place < 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot open " PLACE_CODE " in %s", store->dir);
    enum lineage_status status = read_file(out, store, place, digest, err);
    fs_close(place);
    return status;
}

enum lineage_status code_object_get(struct buf *out, struct lineage_store *store, const char *digest, struct lineage_error *err)
{
    char name[PLACE_MAX];
    if (!code_is_digest(digest))
        return store_fail(err, LINEAGE_EINVAL, "'%.60s' is not the digest of an object: 32 digits 0 to 9 and a to f", digest);
    enum lineage_status status = code_object_here(out, store, digest, err);
    if (status != LINEAGE_ENOTFOUND)
        return status;
    snprintf(name, sizeof name, PLACE_CODE "/%s", digest);
    status = lineage_blob_get(store, name, err);
    return status == LINEAGE_OK || status == LINEAGE_ENOTFOUND ? code_object_here(out, store, digest, err) : status;
}

enum lineage_status code_object_put(char digest[LINEAGE_CODE_DIGEST_MAX], struct lineage_store *store, const void *bytes,
                                    size_t length, struct lineage_error *err)
{
    struct buf there = {0};
    code_digest(digest, bytes, length);
    enum lineage_status status = code_object_here(&there, store, digest, NULL);
    buf_release(&there);
    if (status == LINEAGE_OK)
        return LINEAGE_OK;
    if (fs_mkdir(store->dir_fd, PLACE_CODE) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot make " PLACE_CODE " in %s", store->dir);
    int place = open_place(store);
    if (place < 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot open " PLACE_CODE " in %s", store->dir);
    status = fs_replace(place, digest, bytes, length, true, err);
    /* The directory's own name must be durable too, before a row names an object in it. */
    if (status == LINEAGE_OK && fs_sync_dir(store->dir_fd) != 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot sync %s", store->dir);
    fs_close(place);
    return status;
}
