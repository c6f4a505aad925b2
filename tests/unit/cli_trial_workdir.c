/* Tests the directory in which a trial works. It is made and locked completely or not at all, whatever happens
 * meanwhile, and it is removed with everything that a trial may leave in it. Linked with --wrap of the calls that
 * other processes or the machine can disturb. */
#include "support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/files.h"
#include "trial/one_trial.h"

/* ---- what happens meanwhile ---- */

enum meanwhile { NOTHING, REMOVED, REPLACED, NO_DESCRIPTORS, NO_MODE, NO_LOCKS, NO_MEMORY, NO_STAT };

static enum meanwhile meanwhile;
static unsigned times;
static struct workdir *made; /* that another process disturbs */

static bool happens(enum meanwhile what)
{
    return meanwhile == what && times && times--;
}

int __real_flock(int fd, int how);
int __real_open(const char *path, int flags, ...);
int __real_openat(int dir, const char *name, int flags, ...);
int __real_fchmod(int fd, mode_t mode);
int __real_fstat(int fd, struct stat *st);
DIR *__real_fdopendir(int fd);
int __wrap_flock(int fd, int how);
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fstat(int fd, struct stat *st);
DIR *__wrap_fdopendir(int fd);

static int fails(int error)
{
    errno = error;
    return -1;
}

/* Between the creation of a directory and its lock, another process may remove or replace the directory. */
int __wrap_flock(int fd, int how)
{
    if (made && happens(REMOVED))
        assert_int_equal(rmdir(made->path), 0);
    if (made && happens(REPLACED)) {
        char path[PATH_MAX + 8];
        snprintf(path, sizeof path, "%s.away", made->path);
        assert_int_equal(rename(made->path, path), 0);
        assert_int_equal(mkdir(made->path, 0700), 0);
    }
    return happens(NO_LOCKS) ? fails(ENOLCK) : __real_flock(fd, how);
}

int __wrap_open(const char *path, int flags, ...)
{
    return happens(NO_DESCRIPTORS) ? fails(EMFILE) : __real_open(path, flags);
}

int __wrap_openat(int dir, const char *name, int flags, ...)
{
    return happens(NO_DESCRIPTORS) ? fails(EMFILE) : __real_openat(dir, name, flags);
}

int __wrap_fchmod(int fd, mode_t mode)
{
    return happens(NO_MODE) ? fails(EPERM) : __real_fchmod(fd, mode);
}

int __wrap_fstat(int fd, struct stat *st)
{
    return happens(NO_STAT) ? fails(ESTALE) : __real_fstat(fd, st);
}

DIR *__wrap_fdopendir(int fd)
{
    if (happens(NO_MEMORY))
        return errno = ENOMEM, NULL;
    return __real_fdopendir(fd);
}

static size_t count(const char *dir, const char *prefix)
{
    char **names = list_dir(dir, prefix);
    size_t n = 0;
    while (names && names[n])
        n++;
    free_list(names);
    return n;
}

/* Tries to make a directory while `what` happens so_often times. The message is not checked. */
static bool make(struct workdir *workdir, const char *dir, enum meanwhile what, unsigned so_often)
{
    int before = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    fflush(stderr);
    dup2(nowhere, STDERR_FILENO);
    meanwhile = what;
    times = so_often;
    made = workdir;
    bool ok = workdir_make(workdir, dir);
    made = NULL;
    meanwhile = NOTHING;
    dup2(before, STDERR_FILENO);
    close(before);
    close(nowhere);
    return ok;
}

static void it_is_made_again_when_another_process_took_it(void **state)
{
    char *dir = make_dir();
    struct workdir workdir;
    struct stat st;
    (void)state;
    assert_true(make(&workdir, dir, REMOVED, 99));
    assert_int_equal(stat(workdir.path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(count(dir, ".trial-"), 1);
    workdir_remove(&workdir);
    assert_int_equal(workdir.fd, -1);
    workdir_remove(&workdir); /* the directory is gone already */
    assert_false(make(&workdir, dir, REMOVED, 100)); /* after enough tries it gives up */
    assert_int_equal(count(dir, ".trial-"), 0);
    assert_true(make(&workdir, dir, REPLACED, 1));
    workdir_remove(&workdir);
    assert_int_equal(count(dir, ".trial-"), 1); /* the renamed directory, which may be another process's */
    remove_dir(dir);
}

static void what_fails_leaves_nothing(void **state)
{
    static const enum meanwhile faults[] = {NO_DESCRIPTORS, NO_MODE, NO_LOCKS};
    char *dir = make_dir(), *none = join(dir, "none"), far[PATH_MAX];
    struct workdir workdir;
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        assert_false(make(&workdir, dir, faults[i], 1));
        assert_int_equal(workdir.fd, -1);
        assert_int_equal(count(dir, ".trial-"), 0);
    }
    assert_true(make(&workdir, dir, NO_STAT, 1)); /* the directory may have been removed, so another is made */
    workdir_remove(&workdir);
    assert_int_equal(count(dir, ".trial-"), 0);
    assert_false(make(&workdir, none, NOTHING, 0));
    assert_false(file_exists(none));
    memset(far, '/', sizeof far);
    memcpy(far, dir, strlen(dir));
    far[PATH_MAX - 70] = '\0'; /* no path would be left for files in the directory */
    assert_false(make(&workdir, far, NOTHING, 0));
    assert_int_equal(count(dir, ".trial-"), 0);
    free(none);
    remove_dir(dir);
}

static void put(const char *dir, const char *name)
{
    char *path = join(dir, name);
    write_file(path, "x", 1);
    free(path);
}

static void make_at(const char *dir, const char *name)
{
    char *path = join(dir, name);
    assert_int_equal(mkdir(path, 0777), 0);
    free(path);
}

/* Removes only directories that no process holds and that no row will need. */
static void the_next_one_sweeps_what_was_left(void **state)
{
    char *dir = make_dir(), *link = join(dir, ".trial-link"), *elsewhere = join(dir, "elsewhere"), *record;
    struct workdir held, workdir;
    (void)state;
    assert_true(make(&held, dir, NOTHING, 0));
    make_at(dir, ".trial-left");
    put(dir, ".trial-left/file");
    make_at(dir, ".trial-record");
    put(dir, ".trial-record/trial.json");
    put(dir, ".trial-file");
    make_at(dir, "elsewhere");
    put(dir, "elsewhere/mine");
    assert_int_equal(symlink("elsewhere", link), 0);
    assert_true(make(&workdir, dir, NO_MEMORY, 1)); /* no memory to read it: .trial-left stays */
    workdir_remove(&workdir);
    assert_int_equal(count(dir, ".trial-left"), 1);
    assert_true(make(&workdir, dir, NOTHING, 0));
    assert_int_equal(count(dir, ".trial-left"), 0);
    assert_int_equal(count(dir, ".trial-"), 5); /* two in use, the record, the file and the link */
    record = join(elsewhere, "mine");
    assert_true(file_exists(record));
    workdir_remove(&workdir);
    workdir_remove(&held);
    free(record);
    free(elsewhere);
    free(link);
    remove_dir(dir);
}

/* A trial may create anything: directories without write permission, or a tree deeper than the number of
 * descriptors. */
static void all_of_it_goes(void **state)
{
    enum { DEPTH = 700 };
    char *dir = make_dir(), name[PATH_MAX];
    struct workdir workdir;
    (void)state;
    assert_true(make(&workdir, dir, NOTHING, 0));
    int at = dup(workdir.fd);
    for (int i = 0; i < DEPTH; i++) {
        assert_int_equal(mkdirat(at, "deeper", 0777), 0);
        int below = openat(at, "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = below;
    }
    close(openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    close(at);
    assert_int_equal(mkdirat(workdir.fd, "cache", 0777), 0);
    put(workdir_file(name, &workdir, "cache"), "package");
    assert_int_equal(chmod(name, 0555), 0);
    assert_int_equal(symlink("/", workdir_file(name, &workdir, "root")), 0);
    workdir_remove(&workdir);
    assert_int_equal(count(dir, ".trial-"), 0);

    assert_true(make(&workdir, dir, NOTHING, 0));
    make_at(workdir.path, "below");
    meanwhile = NO_DESCRIPTORS;
    times = 2;
    workdir_remove(&workdir); /* fails now; the next directory's sweep removes it */
    meanwhile = NOTHING;
    assert_int_equal(count(dir, ".trial-"), 1);
    make_at(dir, "tree");
    make_at(dir, "tree/below");
    at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    workdir_remove_tree(at, "tree");
    workdir_remove_tree(at, "tree");
    assert_int_equal(count(dir, "tree"), 0);
    close(at);
    assert_true(make(&workdir, dir, NOTHING, 0));
    assert_int_equal(count(dir, ".trial-"), 1);
    workdir_remove(&workdir);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_made_again_when_another_process_took_it),
        cmocka_unit_test(what_fails_leaves_nothing),
        cmocka_unit_test(the_next_one_sweeps_what_was_left),
        cmocka_unit_test(all_of_it_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
