#include "store_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "../fail.h"
#include "../format/arena.h"
#include "fs.h"

/* Makes the name of a new directory durable; otherwise a power failure could remove the directory with all rows that were
 * acknowledged meanwhile. A parent that this user must not read cannot be synced. */
static enum lineage_status sync_parent(const char *dir, struct lineage_error *err)
{
    struct buf parent = {0};
    buf_printf(&parent, "%s/..", dir);
    if (parent.failed)
        return store_no_memory(err);
    int fd = fs_open(AT_FDCWD, parent.data, O_RDONLY | O_DIRECTORY, 0);
    bool ok = fd >= 0 ? fs_sync_dir(fd) == 0 : errno == EACCES;
    enum lineage_status status = ok ? LINEAGE_OK : store_fail_errno(err, LINEAGE_EIO, "cannot sync the parent of %s", dir);
    fs_close(fd);
    buf_release(&parent);
    return status;
}

/* Creates the directory but not its parents, like mkdir. */
enum lineage_status store_dir_make(const char *dir, struct lineage_error *err)
{
    const bool there = fs_is_dir(AT_FDCWD, dir);
    if (fs_mkdir(AT_FDCWD, dir) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot make the directory %s", dir);
    return there ? LINEAGE_OK : sync_parent(dir, err);
}

enum lineage_status store_dir_open(int *fd, const char *dir, struct lineage_error *err)
{
    *fd = fs_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
    if (*fd >= 0)
        return LINEAGE_OK;
    return store_fail_errno(err, errno == ENOENT || errno == ENOTDIR ? LINEAGE_ENOTFOUND : LINEAGE_EIO,
                            "cannot open the store %s", dir);
}

bool store_dir_in_repository(int dir_fd)
{
    struct stat at, above;
    struct buf path = {0};
    bool found = false, more = fs_stat(dir_fd, ".", 0, &at) == 0;
    buf_puts(&path, "./");
    while (more && !found && !path.failed) {
        buf_puts(&path, ".git");
        found = fs_stat(dir_fd, path.data, 0, &above) == 0;
        buf_truncate(&path, path.length - 4);
        buf_puts(&path, "../");
        more = fs_stat(dir_fd, path.data, 0, &above) == 0 && (above.st_ino != at.st_ino || above.st_dev != at.st_dev);
        at = above;
    }
    buf_release(&path);
    return found;
}

static bool is_empty_dir(int dir_fd)
{
    int fd = fs_open(dir_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *list = fd >= 0 ? fs_list(fd) : NULL;
    bool empty = list && !fs_next(list);
    if (list)
        closedir(list);
    return empty;
}

enum lineage_status store_dir_ignore(int dir_fd, bool in_repository, struct lineage_error *err)
{
    static const char text[] = "# made by lineage: git must not take back the rows of a store (see lineage help nights)\n*\n";
    return in_repository && is_empty_dir(dir_fd) ? fs_replace(dir_fd, ".gitignore", text, sizeof text - 1, false, err)
                                                 : LINEAGE_OK;
}
