/* outbox_bind.c: see outbox_request.h. The code is the HMAC-SHA-256 (RFC 2104) of the request as compact JSON with sorted keys. */
#include "outbox_request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <lineage/render.h>
#include <sha2.h>

#include "../files/fs.h"
#include "../files/state_dir.h"
#include "../internal.h"
#include "../log/log.h"

#define CODE "code"
enum { BLOCK = 64, CODE_TEXT = 2 * SHA256_DIGEST_LENGTH + 1 };

/* A secret of this user on this machine, with which requests are bound to them: STATE/key, mode 0600. */
#define NAME "key"
enum { USER_KEY_BYTES = 32 };

/* fs_create writes a complete file before it gets its name, so no process reads half a key. */
static enum lineage_status make_key(int dir_fd, struct lineage_error *err)
{
    unsigned char key[USER_KEY_BYTES];
    const struct stat like = {.st_mode = S_IFREG | 0600, .st_uid = geteuid(), .st_gid = getegid()};
    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key)
        return store_fail_errno(err, LINEAGE_EIO, "cannot make a key");
    enum lineage_status status = fs_create(dir_fd, NAME, key, sizeof key, &like, err);
    return status == LINEAGE_EEXIST ? LINEAGE_OK : status;
}

static enum lineage_status read_open(int fd, unsigned char key[USER_KEY_BYTES], const char *path, struct lineage_error *err)
{
    struct stat st;
    if (fs_stat_open(fd, &st) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot look at %s/" NAME, path);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) || st.st_size != USER_KEY_BYTES ||
        fs_read_at(fd, key, USER_KEY_BYTES, 0) != USER_KEY_BYTES)
        return store_fail(err, LINEAGE_EREFUSED, "%s/" NAME " is not a key that only this user can read", path);
    return LINEAGE_OK;
}

static enum lineage_status open_key(int *fd, int dir_fd, const char *path, struct lineage_error *err)
{
    *fd = fs_open(dir_fd, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (*fd < 0 && errno == ENOENT) {
        enum lineage_status status = make_key(dir_fd, err);
        if (status != LINEAGE_OK)
            return status;
        *fd = fs_open(dir_fd, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    }
    return *fd >= 0 ? LINEAGE_OK : store_fail_errno(err, LINEAGE_EIO, "cannot open %s/" NAME, path);
}

/* Reads the key, and makes it if there is none. Processes that make it at the same time get the same key. LINEAGE_EREFUSED if other
 * users can read the key or it is not a key. */
static enum lineage_status user_key_read(unsigned char key[USER_KEY_BYTES], struct lineage_error *err)
{
    struct buf path = {0};
    int fd = -1, dir_fd = -1;
    enum lineage_status status = state_dir_path(&path, "this user's key is", err);
    if (status == LINEAGE_OK) {
        buf_puts(&path, "/");
        status = path.failed ? store_no_memory(err) : state_dir_make_parents(path.data, err);
    }
    if (status == LINEAGE_OK && (dir_fd = fs_open(AT_FDCWD, path.data, O_RDONLY | O_DIRECTORY, 0)) < 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot open %s", path.data);
    if (status == LINEAGE_OK)
        status = open_key(&fd, dir_fd, path.data, err);
    if (status == LINEAGE_OK)
        status = read_open(fd, key, path.data, err);
    fs_close(fd);
    fs_close(dir_fd);
    buf_release(&path);
    return status;
}

static void hash_padded(unsigned char digest[SHA256_DIGEST_LENGTH], const unsigned char key[USER_KEY_BYTES], unsigned char pad,
                        const void *bytes, size_t length)
{
    unsigned char block[BLOCK];
    SHA2_CTX hash;
    memset(block, pad, sizeof block);
    for (size_t i = 0; i < USER_KEY_BYTES; i++)
        block[i] ^= key[i];
    SHA256Init(&hash);
    SHA256Update(&hash, block, sizeof block);
    SHA256Update(&hash, bytes, length);
    SHA256Final(digest, &hash);
}

/* Returns false without a key or without memory. The request has no code yet. */
static bool compute(char text[CODE_TEXT], const json_t *about)
{
    unsigned char key[USER_KEY_BYTES], inner[SHA256_DIGEST_LENGTH], outer[SHA256_DIGEST_LENGTH];
    char *bytes = json_dumps(about, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    bool known = bytes && user_key_read(key, NULL) == LINEAGE_OK;
    if (known) {
        hash_padded(inner, key, 0x36, bytes, strlen(bytes));
        hash_padded(outer, key, 0x5c, inner, sizeof inner);
        for (size_t i = 0; i < sizeof outer; i++)
            snprintf(text + 2 * i, 3, "%02x", outer[i]);
    }
    lineage_free(bytes);
    return known;
}

void outbox_bind(json_t *about, const struct lineage_store *store)
{
    char text[CODE_TEXT];
    json_object_del(about, CODE);
    json_object_set_new(about, "server", json_string(store->log->place));
    if (compute(text, about))
        json_object_set_new(about, CODE, json_string(text));
}

bool outbox_is_bound(json_t *about, const struct lineage_store *store)
{
    char wanted[CODE_TEXT];
    const char *server = json_string_value(json_object_get(about, "server"));
    json_t *code = json_incref(json_object_get(about, CODE));
    bool bound = false;
    if (json_is_string(code) && server && strcmp(server, store->log->place) == 0) {
        json_object_del(about, CODE);
        bound = compute(wanted, about) && strcmp(wanted, json_string_value(code)) == 0;
        json_object_set(about, CODE, code);
    }
    json_decref(code);
    return bound;
}
