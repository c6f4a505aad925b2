#include "run/run_parts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "trial/one_trial.h"

static bool say(char *why, size_t size, const char *name, const char *what)
{
    snprintf(why, size, "the sealed copy of %.300s: %.150s", name, what);
    return false;
}

static bool copy_bytes(int from, int to, off_t left)
{
    char buffer[1 << 16];
    while (left > 0) {
        ssize_t n = read(from, buffer, left < (off_t)sizeof buffer ? (size_t)left : sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || !cli_write_all(to, buffer, (size_t)n))
            return false;
        left -= n;
    }
    return true;
}

/* The bytes of a protected file are in memory, or are read from its path. */
static bool fill(int to, const struct protected_file *file)
{
    if (!file->path)
        return cli_write_all(to, file->bytes, (size_t)file->digest.size);
    int from = open(file->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool good = from >= 0 && copy_bytes(from, to, file->digest.size);
    int error = errno;
    cli_close(from);
    return errno = error, good;
}

static bool is_same(const struct protected_digest *a, const struct protected_digest *b)
{
    return a->low == b->low && a->high == b->high && a->size == b->size;
}

static mode_t mode_of(const struct protected_file *file)
{
    struct stat st;
    return (!file->path ? file->mode : stat(file->path, &st) == 0 ? st.st_mode : 0) & 0555;
}

/* Takes one file. name is its path in the copy, and belongs to the copy afterwards. */
static bool take(struct sealed_copy *copy, const struct protected_file *file, char *name, char *why, size_t size)
{
    struct sealed_file *made = &copy->file[copy->n++];
    *made = (struct sealed_file){
        .name = name, .mode = mode_of(file), .fd = memfd_create("lineage-sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (made->fd < 0 || !fill(made->fd, file) ||
        fcntl(made->fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0 ||
        lseek(made->fd, 0, SEEK_SET) != 0 || !protected_file_digest_of(&made->digest, made->fd))
        return say(why, size, name, strerror(errno));
    return is_same(&made->digest, &file->digest) || say(why, size, name, "the file changed while it was copied");
}

/* Returns the file that has this place: the copy in the work directory before the file where the command works. */
static const struct sealed_file *find(const struct sealed_copy *copy, const char *name)
{
    for (size_t i = 0; i < copy->n; i++)
        if (strcmp(copy->file[i].name, name) == 0)
            return &copy->file[i];
    return NULL;
}

static bool take_all(struct sealed_copy *copy, const struct protected_files *files, const char *dir, bool copies, off_t *left,
                     char *why, size_t size)
{
    for (size_t i = 0; i < files->n; i++) {
        char name[PATH_MAX];
        const struct protected_file *file = &files->file[i];
        if (copies != !file->path || !protected_file_place(name, file->name, dir) || find(copy, name))
            continue;
        if ((*left -= file->digest.size) < 0)
            return say(why, size, name,
                       "more than 256 MiB in all; protect large data by an absolute path, which is compared in place");
        char *own = strdup(name);
        if (!own || !take(copy, file, own, why, size))
            return own ? false : say(why, size, name, strerror(ENOMEM));
    }
    return true;
}

bool sealed_copy_take(struct sealed_copy *copy, const struct protected_files *files, const char *dir, int above, char *why,
                      size_t size)
{
    off_t left = SEALED_COPY_BYTES;
    *copy = (struct sealed_copy){.file = calloc(files->n + 1, sizeof *copy->file), .above = above};
    if (!copy->file)
        return say(why, size, "the protected files", strerror(ENOMEM));
    return take_all(copy, files, dir, true, &left, why, size) && take_all(copy, files, dir, false, &left, why, size);
}

/* Opens the directory of the file below `at`, which it closes, and makes the missing ones. *last is the file's name in it. */
static int make_directories(int at, const char *name, const char **last)
{
    for (const char *slash; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        char part[NAME_MAX + 1];
        int next = -1;
        if ((size_t)(slash - name) >= sizeof part) {
            errno = ENAMETOOLONG;
        } else {
            snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
            if (mkdirat(at, part, 0700) == 0 || errno == EEXIST)
                next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        int error = errno;
        close(at);
        errno = error;
        at = next;
    }
    *last = name;
    return at;
}

/* Writes one file, and compares what can be read from its name with what was taken. */
static bool lay(int root, const struct sealed_file *file)
{
    const char *last;
    struct protected_digest now;
    int at = make_directories(openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), file->name, &last);
    if (at < 0)
        return false;
    int to = openat(at, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), back = -1;
    bool good = to >= 0 && lseek(file->fd, 0, SEEK_SET) == 0 && copy_bytes(file->fd, to, file->digest.size) &&
                fchmod(to, file->mode) == 0 && (back = openat(at, last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) >= 0 &&
                protected_file_digest_of(&now, back);
    int error = errno;
    if (good && !is_same(&now, &file->digest))
        good = (error = EIO, false);
    cli_close(to);
    cli_close(back);
    close(at);
    return errno = error, good;
}

bool sealed_copy_lay(const struct sealed_copy *copy, char *why, size_t size)
{
    bool good = true;
    sealed_copy_remove(copy); /* the trial may have made a directory of this name */
    int root = mkdirat(copy->above, SEALED_COPY_DIR, 0700) == 0
                   ? openat(copy->above, SEALED_COPY_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                   : -1;
    if (root < 0)
        return say(why, size, "the protected files", strerror(errno));
    for (size_t i = 0; good && i < copy->n; i++)
        if (!lay(root, &copy->file[i]))
            good = say(why, size, copy->file[i].name, strerror(errno));
    close(root);
    return good;
}

void sealed_copy_remove(const struct sealed_copy *copy)
{
    if (unlinkat(copy->above, SEALED_COPY_DIR, 0) != 0)
        workdir_remove_tree(copy->above, SEALED_COPY_DIR);
}

void sealed_copy_release(struct sealed_copy *copy)
{
    for (size_t i = 0; i < copy->n; i++) {
        cli_close(copy->file[i].fd);
        free(copy->file[i].name);
    }
    free(copy->file);
    *copy = (struct sealed_copy){.n = 0};
}
