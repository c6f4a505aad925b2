/* system.c: files, time, libraries and directories of the system. */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* A pipe may take only a part. The rest must follow, because half a line would make everything after it unreadable. */
bool cli_write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        n -= (size_t)written;
    }
    return true;
}

void cli_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

void cli_shut(int *fd)
{
    cli_close(*fd);
    *fd = -1;
}

bool cli_path_in(char out[PATH_MAX], const char *dir, const char *name)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);
    return n > 0 && n < PATH_MAX;
}

void cli_make_parents(const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *slash = copy + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(copy, 0700);
        *slash = '/';
    }
}

FILE *cli_writer_open(struct cli_writer *writer)
{
    return writer->out = open_memstream(&writer->text, &writer->length);
}

char *cli_writer_close(struct cli_writer *writer)
{
    if (writer->out && fclose(writer->out) == 0)
        return writer->text;
    free(writer->text);
    return writer->text = NULL;
}

FILE *cli_private_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out && fd >= 0)
        close(fd);
    return out;
}

/* ---- the clock for timeouts and limits, and durations as text ---- */

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cli_duration_format(char text[32], double seconds)
{
    long s = seconds < 0 ? 0 : seconds < 3.6e6 ? (long)(seconds + 0.5) : 3600000;
    if (s >= 3600)
        snprintf(text, 32, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, 32, "%ld:%02ld", s / 60, s % 60);
}

/*
 * Loads libraries of the system when a command needs them. Most commands need none, and a machine may lack them. A static
 * program must not load any: they would bring a second libc along.
 */

void *cli_load_library(const char *name, int flags, char *why, size_t size)
{
#ifdef LINEAGE_PORTABLE
    (void)flags;
    snprintf(why, size, "this is the portable program, which cannot load %s; the packages of lineage can", name);
    return NULL;
#else
    void *library = dlopen(name, RTLD_NOW | flags);
    snprintf(why, size, "%s", library ? "" : dlerror());
    return library;
#endif
}

/* The pointer to data is copied to one to a function bit by bit, which is how POSIX intends dlsym to be used. */
bool cli_find_function(void *function, size_t size, void *library, const char *name)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, size);
    return found != NULL;
}

/* ---- whether a directory is a store, and which one above this directory is ---- */

bool cli_store_has(const char *dir, const char *name)
{
    char path[PATH_MAX];
    return cli_path_in(path, dir, name) && access(path, F_OK) == 0;
}

/* results.tsv alone suffices, because stores of other tools have no lineage.json. */
bool cli_is_store(const char *dir)
{
    return lineage_is_server(dir) || cli_store_has(dir, "lineage.json") || cli_store_has(dir, "results.tsv");
}

/* A directory in which another user can make files, such as /tmp, must not decide where commands of this user read and write. */
static bool is_own_directory(const char *path, struct stat *st)
{
    return stat(path, st) == 0 && S_ISDIR(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & S_IWOTH);
}

/* Looks as git does: up to the home directory, the border of the file system, or the first directory that is not this user's
 * alone. */
void cli_store_above(char path[PATH_MAX])
{
    const char *home = getenv("HOME");
    struct stat here, parent;
    bool searches = !cli_is_store(".") && getcwd(path, PATH_MAX) && is_own_directory(path, &here);
    for (char *slash; searches && (!home || strcmp(path, home) != 0) && (slash = strrchr(path, '/')) && slash > path;) {
        *slash = '\0';
        if (!is_own_directory(path, &parent) || parent.st_dev != here.st_dev)
            break;
        if (cli_is_store(path))
            return;
    }
    path[0] = '\0';
}

bool cli_temporary_dir(char *dir, size_t size, const char *name)
{
    const char *place = getenv("TMPDIR");
    int n = snprintf(dir, size, "%s/%s-XXXXXX", place && *place ? place : "/tmp", name);
    bool made = n >= 0 && (size_t)n < size && mkdtemp(dir);
    if (!made)
        dir[0] = '\0';
    return made;
}
