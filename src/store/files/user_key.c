#include "user_key.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "fs.h"
#include "state_dir.h"

#define NAME "key"

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

enum lineage_status user_key_read(unsigned char key[USER_KEY_BYTES], struct lineage_error *err)
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
