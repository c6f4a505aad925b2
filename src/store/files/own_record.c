#include "own_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "state_dir.h"

enum { RECORD_MAX = 64 };

static int record_text(char text[RECORD_MAX], const struct fs_identity *file)
{
    return snprintf(text, RECORD_MAX, "%llx-%llx-%llx", (unsigned long long)file->device, (unsigned long long)file->inode,
                    (unsigned long long)file->born_ns);
}

enum lineage_status own_record_base(struct buf *base, int store_dir_fd, struct lineage_error *err)
{
    struct fs_identity dir;
    char text[RECORD_MAX];
    if (fs_identify(store_dir_fd, "", &dir) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot look at the directory of the store");
    enum lineage_status status = state_dir_path(base, "it is recorded which mirrors this user made", err);
    if (status != LINEAGE_OK)
        return status;
    record_text(text, &dir);
    buf_printf(base, "/mirrors/%s", text);
    return base->failed ? store_no_memory(err) : LINEAGE_OK;
}

/* A record that belongs to another user counts as unknown: in a state directory that others can write, anybody could make
 * it. */
enum own own_record_check(const char *base, const struct fs_identity *file)
{
    char wanted[RECORD_MAX], there[RECORD_MAX];
    struct stat st;
    int fd = fs_open(AT_FDCWD, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return errno == ENOENT ? OWN_NO : OWN_UNKNOWN;
    int length = record_text(wanted, file);
    bool mine = fs_stat_open(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
    ssize_t n = mine ? fs_read_at(fd, there, sizeof there, 0) : -1;
    fs_close(fd);
    if (n < 0)
        return OWN_UNKNOWN;
    return n == length && memcmp(there, wanted, (size_t)n) == 0 ? OWN_YES : OWN_OTHER;
}

enum lineage_status own_record_write(const char *base, const struct fs_identity *file, struct lineage_error *err)
{
    char text[RECORD_MAX];
    struct buf dir = {0};
    const char *name = strrchr(base, '/') + 1;
    if (own_record_check(base, file) == OWN_YES)
        return LINEAGE_OK;
    buf_add(&dir, base, (size_t)(name - base));
    enum lineage_status status = dir.failed ? store_no_memory(err) : state_dir_make_parents(dir.data, err);
    if (status == LINEAGE_OK) {
        int fd = fs_open(AT_FDCWD, dir.data, O_RDONLY | O_DIRECTORY, 0);
        status = fd < 0 ? store_fail_errno(err, LINEAGE_EIO, "cannot open %s", dir.data)
                        : fs_replace(fd, name, text, (size_t)record_text(text, file), false, err);
        fs_close(fd);
    }
    buf_release(&dir);
    return status;
}

int own_record_lock(const char *base)
{
    struct buf path = {0};
    struct lineage_error ignored;
    int fd = -1;
    buf_add(&path, base, (size_t)(strrchr(base, '/') - base));
    buf_puts(&path, "/.lock");
    if (!path.failed && state_dir_make_parents(path.data, &ignored) == LINEAGE_OK)
        fd = fs_open(AT_FDCWD, path.data, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    buf_release(&path);
    if (fd >= 0 && fs_lock(fd, true) != 0) {
        fs_close(fd);
        fd = -1;
    }
    return fd;
}
