/*
 * Files are compared by content. 128 bits of XXH3 suffice: an edited file does not get the same digest by chance, and an
 * attacker could as well edit the row. The inode and the time of the last change show a file that was edited, used and
 * restored: a program can set the modification time, but not this one.
 *
 * The trial owns its work directory, so no link in it is followed, and nothing is read beyond the size that it had.
 */
#include "run/run_parts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "cli.h"

enum { READ_BYTES = 1 << 16 };

/* Reads st->st_size bytes at most. bytes [st_size] receives them, unless it is NULL. */
static bool digest_of(struct protected_digest *digest, int fd, const struct stat *st, char *bytes)
{
    XXH3_state_t *state = XXH3_createState();
    char *buffer = malloc(READ_BYTES);
    off_t left = st->st_size;
    ssize_t n = 1;
    bool good = state && buffer;
    if (good)
        XXH3_128bits_reset(state);
    while (good && left > 0 && n > 0) {
        n = read(fd, buffer, left < READ_BYTES ? (size_t)left : READ_BYTES);
        if (n < 0 && errno == EINTR) {
            n = 1;
            continue;
        }
        good = n >= 0;
        if (n > 0) {
            XXH3_128bits_update(state, buffer, (size_t)n);
            if (bytes)
                memcpy(bytes + (st->st_size - left), buffer, (size_t)n);
            left -= n;
        }
    }
    if (good) {
        XXH128_hash_t hash = XXH3_128bits_digest(state);
        *digest = (struct protected_digest){hash.low64, hash.high64, st->st_size - left, st->st_ino, st->st_ctim};
    }
    free(buffer);
    XXH3_freeState(state);
    return good;
}

/* Returns fd, or -1 with errno set after closing it if it is not a regular file. fd may be -1. */
static int regular(int fd, struct stat *st)
{
    if (fd < 0)
        return -1;
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    close(fd);
    return errno = S_ISDIR(st->st_mode) ? EISDIR : EINVAL, -1;
}

/* O_NONBLOCK, because a pipe that has replaced the file must not block this process. */
static int open_outside(const char *path, struct stat *st)
{
    return regular(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), st);
}

bool protected_file_digest(struct protected_digest *digest, const char *path)
{
    struct stat st = {0};
    int fd = open_outside(path, &st);
    bool good = fd >= 0 && digest_of(digest, fd, &st, NULL);
    cli_close(fd);
    return good;
}

bool protected_file_digest_of(struct protected_digest *digest, int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && digest_of(digest, fd, &st, NULL);
}

bool protected_name(char *out, size_t size, const char *name)
{
    size_t n = 0;
    bool absolute = *name == '/';
    if (size < 2 || strlen(name) + 2 > size)
        return false;
    if (absolute)
        out[n++] = '/';
    const size_t root = n;
    while (*name) {
        size_t part = strcspn(name, "/");
        out[n] = '\0';
        const char *slash = strrchr(out + root, '/'), *last = n == root ? "" : slash ? slash + 1 : out + root;
        if (part == 2 && strncmp(name, "..", 2) == 0 && *last && strcmp(last, "..") != 0) {
            n = (size_t)(slash ? slash - out : (ptrdiff_t)root);
        } else if (part > 0 && !(part == 1 && *name == '.')) {
            if (n > root)
                out[n++] = '/';
            memcpy(out + n, name, part);
            n += part;
        }
        name += part + (name[part] == '/');
    }
    out[n] = '\0';
    return true;
}

/* Opens the directory of the file without following a link; *last is the file's name in it. */
static int open_directory(int dir, const char *name, const char **last)
{
    int at = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (const char *slash; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        char part[NAME_MAX + 1];
        size_t n = (size_t)(slash - name);
        int next = -1;
        if (n < sizeof part) {
            memcpy(part, name, n);
            part[n] = '\0';
            next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        } else {
            errno = ENAMETOOLONG;
        }
        int error = errno;
        close(at);
        errno = error;
        at = next;
    }
    *last = name;
    return at;
}

static int open_copy(int dir, const char *name, struct stat *st)
{
    const char *last;
    int at = open_directory(dir, name, &last);
    if (at < 0)
        return -1;
    int fd = regular(openat(at, last, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC), st), error = errno;
    close(at);
    return errno = error, fd;
}

/* Writes a new file and renames it over the copy, so that a process which still has the old one open cannot reach it. */
static bool renew(int dir, struct protected_file *file)
{
    static const char made[] = ".lineage-protected";
    const char *last;
    struct stat st;
    int at = open_directory(dir, file->name, &last);
    if (at < 0)
        return false;
    unlinkat(at, made, 0);
    int fd = openat(at, made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = fd >= 0 && cli_write_all(fd, file->bytes, (size_t)file->digest.size) && fchmod(fd, file->mode) == 0 &&
                renameat(at, made, at, last) == 0 && fstat(fd, &st) == 0;
    int error = errno;
    if (good) {
        file->digest.inode = st.st_ino;
        file->digest.changed = st.st_ctim;
    } else if (fd >= 0) {
        unlinkat(at, made, 0);
    }
    cli_close(fd);
    close(at);
    return errno = error, good;
}

static bool say(char *why, size_t size, const char *name, const char *what)
{
    snprintf(why, size, "the protected file %.300s %s", name, what);
    return false;
}

/* Adds the file where the command works. Returns false with errno set. */
static bool add_outside(struct protected_files *files, const char *name, const char *dir)
{
    char path[PATH_MAX];
    struct protected_file *file = &files->file[files->n];
    int n = snprintf(path, sizeof path, "%s%s%s", dir && *name != '/' ? dir : "", dir && *name != '/' ? "/" : "", name);
    if (n < 0 || n >= PATH_MAX)
        return errno = ENAMETOOLONG, false;
    *file = (struct protected_file){.name = name};
    if (!protected_file_digest(&file->digest, path) || !(file->path = strdup(path)))
        return false;
    files->n++;
    return true;
}

static bool is_known_copy(const struct protected_files *files, ino_t inode)
{
    for (size_t i = 0; i < files->n; i++)
        if (!files->file[i].path && files->file[i].digest.inode == inode)
            return true;
    return false;
}

/*
 * Adds the copy in the work directory, and makes it read-only, once if it has two names ("./eval.py" and "eval.py").
 * Returns false with errno set.
 */
static bool add_copy(struct protected_files *files, const char *name)
{
    struct protected_file *file = &files->file[files->n];
    struct stat st = {0};
    int fd = open_copy(files->fd, name, &st);
    if (fd < 0)
        return false;
    if (is_known_copy(files, st.st_ino))
        return close(fd), true;
    *file = (struct protected_file){.name = name, .mode = st.st_mode & 0555};
    bool good = fchmod(fd, file->mode) == 0 && fstat(fd, &st) == 0;
    if (good && st.st_size > PROTECTED_COPY_BYTES)
        good = (errno = EFBIG, false);
    good = good && (file->bytes = malloc((size_t)st.st_size + 1)) && digest_of(&file->digest, fd, &st, file->bytes);
    int error = errno;
    close(fd);
    if (good)
        files->n++;
    else
        free(file->bytes);
    return errno = error, good;
}

/* The name in the work directory of a file that is named relative to dir; NULL: the name may lead elsewhere. */
static const char *name_of_copy(const char *name, const char *dir)
{
    size_t n = dir ? strlen(dir) : 0;
    if (n && strncmp(name, dir, n) == 0 && name[n] == '/')
        name += n + 1;
    return *name == '/' || strstr(name, "..") ? NULL : name;
}

bool protected_file_place(char *out, const char *name, const char *dir)
{
    name = name_of_copy(name, dir);
    return name && protected_name(out, PATH_MAX, name) && *out;
}

bool protected_files_seal(struct protected_files *files, const char *const *names, const char *dir, const char *workdir,
                          char *why, size_t size)
{
    size_t n = cli_texts_length(names);
    *files = (struct protected_files){.fd = -1};
    if (!n)
        return true;
    files->file = calloc(2 * n, sizeof *files->file);
    files->workdir = strdup(workdir);
    files->fd = open(workdir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (!files->file || !files->workdir || files->fd < 0)
        return snprintf(why, size, "protected files: %s", strerror(errno)), false;
    for (size_t i = 0; i < n; i++) {
        const char *copy = name_of_copy(names[i], dir);
        bool outside = add_outside(files, names[i], dir);
        int error = errno;
        if (copy && add_copy(files, copy))
            continue;
        if (copy && errno != ENOENT && errno != ENOTDIR)
            return say(why, size, copy, strerror(errno));
        if (!outside)
            return say(why, size, names[i], error == EINVAL ? "is not a regular file" : strerror(error));
    }
    return true;
}

/* Whether the path of the work directory still leads to the directory that was sealed. */
static bool is_in_place(const struct protected_files *files)
{
    struct stat held, named;
    return fstat(files->fd, &held) == 0 && lstat(files->workdir, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

bool protected_files_check(const struct protected_files *files, char *why, size_t size)
{
    for (size_t i = 0; i < files->n; i++) {
        const struct protected_file *file = &files->file[i];
        const struct protected_digest *then = &file->digest;
        struct protected_digest now;
        struct stat st = {0};
        if (!file->path && !is_in_place(files))
            return say(why, size, file->name, "changed while the trial ran: its work directory was replaced");
        int fd = file->path ? open_outside(file->path, &st) : open_copy(files->fd, file->name, &st);
        bool same = fd >= 0 && st.st_size == then->size && digest_of(&now, fd, &st, NULL) && now.size == then->size &&
                    now.low == then->low && now.high == then->high;
        cli_close(fd);
        if (!same)
            return say(why, size, file->name, "changed while the trial ran");
        if (st.st_ino != then->inode || st.st_ctim.tv_sec != then->changed.tv_sec || st.st_ctim.tv_nsec != then->changed.tv_nsec)
            return say(why, size, file->name, "was changed and restored while the trial ran");
    }
    return true;
}

bool protected_files_renew(struct protected_files *files, char *why, size_t size)
{
    for (size_t i = 0; i < files->n; i++)
        if (!files->file[i].path && !renew(files->fd, &files->file[i]))
            return snprintf(why, size, "the protected file %.300s could not be copied for the evaluation: %.100s",
                            files->file[i].name, strerror(errno)),
                   false;
    return true;
}

void protected_files_release(struct protected_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        free(files->file[i].path);
        free(files->file[i].bytes);
    }
    if (files->workdir && files->fd >= 0)
        close(files->fd);
    free(files->workdir);
    free(files->file);
    *files = (struct protected_files){.fd = -1};
}
