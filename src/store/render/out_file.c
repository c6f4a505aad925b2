/*
 * out_file.c: follows links, writes to devices, replaces files.
 *
 * Links are followed here and not by open, because a file is replaced by a rename inside its own directory, and a
 * rename onto a link would put a file in the link's place.
 */
#include "out_file.h"

#include <fcntl.h>
#include <limits.h>

#include "../files/fs.h"

#define MOST_LINKS 40 /* the kernel's limit */

/* Returns the target of the link at path; relative targets start from the link's own directory. The result is a text,
 * because the target may not exist yet. */
static char *behind_link(const char *path, const char *target)
{
    const char *slash = strrchr(path, '/');
    struct buf next = {0};
    if (target[0] != '/' && slash)
        buf_add(&next, path, (size_t)(slash - path) + 1);
    buf_puts(&next, target);
    if (next.failed)
        buf_release(&next);
    return next.data;
}

/* The names of descriptors in /proc look like links, but their text cannot be followed. */
static bool is_descriptor(const char *path)
{
    return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/fd/", 8) == 0;
}

static enum lineage_status follow_links(struct out_file *file, struct lineage_error *err)
{
    char target[PATH_MAX];
    ssize_t n;
    /* Follows one link at a time: only the last part of the path matters, and it need not exist yet, which realpath
     * would require. */
    for (int links = 0; !is_descriptor(file->path); links++) {
        n = fs_read_link(AT_FDCWD, file->path, target, sizeof target - 1);
        if (n < 0)
            return LINEAGE_OK; /* the path is not a link, or does not exist yet */
        if (links == MOST_LINKS)
            return store_fail(err, LINEAGE_EIO, "too many links from %s", file->path);
        target[n] = '\0';
        char *next = behind_link(file->path, target);
        if (!next)
            return store_no_memory(err);
        free(file->path);
        file->path = next;
        file->linked = true;
    }
    file->stream = true;
    return LINEAGE_OK;
}

/* Held open, because the directory may be renamed between reading and replacing, and the file must still be replaced
 * in it. */
static enum lineage_status open_dir(struct out_file *file, struct lineage_error *err)
{
    char *slash = strrchr(file->path, '/');
    char *dir = slash ? strndup(file->path, (size_t)(slash - file->path) + 1) : strdup(".");
    if (!dir)
        return store_no_memory(err);
    file->name = slash ? slash + 1 : file->path;
    file->dir_fd = fs_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
    enum lineage_status status =
        file->dir_fd < 0 ? store_fail_errno(err, LINEAGE_EIO, "cannot open the directory %s", dir) : LINEAGE_OK;
    free(dir);
    return status;
}

/* A directory is not a stream; reading it fails with the right message. */
enum lineage_status out_file_open(struct out_file *file, const char *path, struct lineage_error *err)
{
    struct stat st;
    *file = (struct out_file){.dir_fd = -1, .path = strdup(path)};
    if (!file->path)
        return store_no_memory(err);
    /* The path is examined before links are followed, because /dev/stdout is a link to a pipe that has no name. */
    if (fs_stat(AT_FDCWD, path, 0, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        file->stream = true;
        return LINEAGE_OK;
    }
    enum lineage_status status = follow_links(file, err);
    return status == LINEAGE_OK && !file->stream ? open_dir(file, err) : status;
}

void out_file_close(struct out_file *file)
{
    fs_close(file->dir_fd);
    free(file->path);
    *file = (struct out_file){.dir_fd = -1};
}

/* The file is examined before it is read, so that out_file_same notices a save between the two. */
enum lineage_status out_file_read(struct out_file *file, struct buf *bytes, struct lineage_error *err)
{
    file->exists = false;
    if (file->stream)
        return LINEAGE_OK;
    if (fs_stat(file->dir_fd, file->name, AT_SYMLINK_NOFOLLOW, &file->before) != 0)
        return errno == ENOENT ? LINEAGE_OK : store_fail_errno(err, LINEAGE_EIO, "cannot look at %s", file->path);
    file->exists = true;
    return fs_read_file(file->dir_fd, file->name, bytes, err);
}

/* Compares inode, size and time: an editor either replaces the file or changes these. A save between this and the
 * rename is lost; only a lock could prevent that, and editors take none. */
bool out_file_same(const struct out_file *file)
{
    struct stat now;
    if (file->stream)
        return true;
    if (fs_stat(file->dir_fd, file->name, AT_SYMLINK_NOFOLLOW, &now) != 0)
        return !file->exists;
    return file->exists && now.st_ino == file->before.st_ino && now.st_dev == file->before.st_dev &&
           now.st_size == file->before.st_size && now.st_mtim.tv_sec == file->before.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == file->before.st_mtim.tv_nsec;
}

/* Opened for appending, so that `>> log` with /dev/stdout is not overwritten from its beginning. */
static enum lineage_status write_stream(const char *path, const char *data, size_t length, struct lineage_error *err)
{
    int fd = fs_open(AT_FDCWD, path, O_WRONLY | O_APPEND | O_NOCTTY, 0);
    if (fd < 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot open %s", path);
    enum lineage_status status =
        fs_write_all(fd, data, length) == 0 ? LINEAGE_OK : store_fail_errno(err, LINEAGE_EIO, "cannot write %s", path);
    if (fs_close(fd) != 0 && status == LINEAGE_OK)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot write %s", path);
    return status;
}

/* fs_replace keeps mode and owner of the file that it replaces. */
enum lineage_status out_file_write(const struct out_file *file, const char *data, size_t length, struct lineage_error *err)
{
    return file->stream ? write_stream(file->path, data, length, err)
                        : fs_replace(file->dir_fd, file->name, data, length, true, err);
}
