/*
 * Tests the system calls of the store under signals, a full disk, other owners and odd file names. Linked with --wrap,
 * so that the test can choose the result of each call.
 */
#include "support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/fs.h"
#include "support/files.h"

/* ---- calls that answer as a test says ---- */

enum call { OPENAT, WRITE, PREAD, PWRITE, READ, FLOCK, LSEEK, FCHOWN, CLOSE, N_CALLS };

static struct {
    unsigned times; /* how many of the next calls fail */
    int error;      /* errno to fail with; 0: return 0 and do nothing */
} answers[N_CALLS];

static bool answered(enum call call, int *result)
{
    if (!answers[call].times)
        return false;
    answers[call].times--;
    errno = answers[call].error;
    *result = answers[call].error ? -1 : 0;
    return true;
}

static void answer(enum call call, unsigned times, int error)
{
    answers[call].times = times;
    answers[call].error = error;
}

int __real_openat(int dir, const char *name, int flags, ...);
ssize_t __real_write(int fd, const void *data, size_t length);
ssize_t __real_pread(int fd, void *data, size_t length, off_t at);
ssize_t __real_pwrite(int fd, const void *data, size_t length, off_t at);
ssize_t __real_read(int fd, void *data, size_t length);
int __real_flock(int fd, int how);
off_t __real_lseek(int fd, off_t at, int from);
int __real_close(int fd);
int __wrap_openat(int dir, const char *name, int flags, ...);
ssize_t __wrap_write(int fd, const void *data, size_t length);
ssize_t __wrap_pread(int fd, void *data, size_t length, off_t at);
ssize_t __wrap_pwrite(int fd, const void *data, size_t length, off_t at);
ssize_t __wrap_read(int fd, void *data, size_t length);
int __wrap_flock(int fd, int how);
off_t __wrap_lseek(int fd, off_t at, int from);
int __wrap_fchown(int fd, uid_t user, gid_t group);
int __wrap_close(int fd);

int __wrap_openat(int dir, const char *name, int flags, ...)
{
    int result;
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return answered(OPENAT, &result) ? result : __real_openat(dir, name, flags, mode);
}

ssize_t __wrap_write(int fd, const void *data, size_t length)
{
    int result;
    return answered(WRITE, &result) ? result : __real_write(fd, data, length);
}

ssize_t __wrap_pread(int fd, void *data, size_t length, off_t at)
{
    int result;
    return answered(PREAD, &result) ? result : __real_pread(fd, data, length > 3 ? 3 : length, at); /* short reads */
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t length, off_t at)
{
    int result;
    return answered(PWRITE, &result) ? result : __real_pwrite(fd, data, length > 3 ? 3 : length, at);
}

ssize_t __wrap_read(int fd, void *data, size_t length)
{
    int result;
    return answered(READ, &result) ? result : __real_read(fd, data, length);
}

int __wrap_flock(int fd, int how)
{
    int result;
    return answered(FLOCK, &result) ? result : __real_flock(fd, how);
}

off_t __wrap_lseek(int fd, off_t at, int from)
{
    int result;
    return answered(LSEEK, &result) ? result : __real_lseek(fd, at, from);
}

/* Never calls the real fchown, because its result depends on the user that runs the test. */
int __wrap_fchown(int fd, uid_t user, gid_t group)
{
    int result = 0;
    (void)fd, (void)user, (void)group;
    answered(FCHOWN, &result);
    return result;
}

int __wrap_close(int fd)
{
    int result, status = __real_close(fd);
    return answered(CLOSE, &result) ? result : status;
}

/* ---- a directory with a file ---- */

struct place {
    char *dir;
    int fd;
};

static struct place make_place(const char *bytes)
{
    struct place place = {.dir = make_dir()};
    char *file = join(place.dir, "file");
    write_file(file, bytes, strlen(bytes));
    free(file);
    place.fd = open(place.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place.fd >= 0);
    return place;
}

static void leave_place(struct place place)
{
    for (enum call call = OPENAT; call < N_CALLS; call++)
        assert_int_equal(answers[call].times, 0); /* every prepared answer was used */
    close(place.fd);
    remove_dir(place.dir);
}

static void assert_file(struct place place, const char *name, const char *bytes)
{
    size_t length;
    char *path = join(place.dir, name), *text = read_file(path, &length);
    assert_string_equal(text, bytes);
    free(text);
    free(path);
}

static size_t n_files(struct place place)
{
    char **names = list_dir(place.dir, "");
    size_t n = 0;
    for (size_t i = 0; names[i]; i++)
        n += strcmp(names[i], ".") != 0 && strcmp(names[i], "..") != 0;
    free_list(names);
    return n;
}

static void a_signal_interrupts_nothing(void **state)
{
    struct place place = make_place("before");
    struct buf text = {0};
    struct lineage_error err;
    char bytes[16] = "";
    (void)state;
    answer(OPENAT, 2, EINTR);
    int fd = fs_open(place.fd, "file", O_RDWR, 0);
    assert_true(fd >= 0);
    answer(WRITE, 2, EINTR);
    assert_int_equal(fs_write_once(fd, "BEFORE", 6), 6);
    answer(PWRITE, 2, EINTR);
    assert_int_equal(fs_write_at(fd, "after", 5, 6), 0);
    answer(PREAD, 2, EINTR);
    assert_int_equal(fs_read_at(fd, bytes, sizeof bytes, 0), 11);
    assert_string_equal(bytes, "BEFOREafter");
    answer(FLOCK, 2, EINTR);
    assert_int_equal(fs_lock(fd, true), 0);
    assert_int_equal(fs_close(fd), 0);
    answer(READ, 2, EINTR);
    assert_int_equal(fs_read_file(place.fd, "file", &text, &err), LINEAGE_OK);
    assert_string_equal(text.data, "BEFOREafter");
    buf_release(&text);
    leave_place(place);
}

static void failures_are_told(void **state)
{
    struct place place = make_place("before");
    struct buf text = {0};
    struct lineage_error err = {0};
    char bytes[16];
    int fd = fs_open(place.fd, "file", O_RDWR, 0);
    (void)state;
    answer(PREAD, 1, EIO);
    assert_int_equal(fs_read_at(fd, bytes, sizeof bytes, 0), -1);
    answer(PWRITE, 1, ENOSPC);
    assert_int_equal(fs_write_at(fd, "after", 5, 0), -1);
    answer(WRITE, 1, 0); /* neither a byte nor an error: must not retry for ever */
    assert_int_equal(fs_write_all(fd, "after", 5), -1);
    assert_int_equal(errno, ENOSPC);
    answer(FLOCK, 1, ENOLCK);
    assert_int_equal(fs_lock(fd, true), -1);
    assert_int_equal(fs_close(fd), 0);
    answer(READ, 1, EIO);
    assert_int_equal(fs_read_file(place.fd, "file", &text, &err), LINEAGE_EIO);
    assert_string_equal(err.text, "cannot read file: Input/output error");
    buf_release(&text);
    leave_place(place);
}

/* A network file system reports a full disk only when the file is closed. */
static void a_file_that_cannot_be_closed_is_not_put_in_place(void **state)
{
    struct place place = make_place("before");
    struct lineage_error err = {0};
    (void)state;
    answer(CLOSE, 1, EDQUOT);
    assert_int_equal(fs_replace(place.fd, "file", "after", 5, true, &err), LINEAGE_EIO);
    assert_int_equal(err.os_errno, EDQUOT);
    assert_file(place, "file", "before");
    assert_int_equal(n_files(place), 1); /* no temporary file is left */
    answer(WRITE, 1, ENOSPC);
    answer(CLOSE, 1, EDQUOT); /* the first failure is reported */
    assert_int_equal(fs_replace(place.fd, "file", "after", 5, true, &err), LINEAGE_EIO);
    assert_int_equal(err.os_errno, ENOSPC);
    assert_file(place, "file", "before");
    leave_place(place);
}

static mode_t mode_of(struct place place, const char *name)
{
    struct stat st;
    assert_int_equal(fstatat(place.fd, name, &st, 0), 0);
    return st.st_mode & 0777;
}

static void rights_of_a_group_are_not_given_to_another(void **state)
{
    struct place place = make_place("before");
    struct lineage_error err;
    struct stat like;
    (void)state;
    assert_int_equal(fstatat(place.fd, "file", &like, 0), 0);
    like.st_mode = S_IFREG | 0664;
    like.st_gid++;
    answer(FCHOWN, 1, EPERM);
    assert_int_equal(fs_create(place.fd, "kept", "x", 1, &like, &err), LINEAGE_OK);
    assert_int_equal(mode_of(place, "kept"), 0604);
    /* Here the group can be changed. */
    assert_int_equal(fs_create(place.fd, "given", "x", 1, &like, &err), LINEAGE_OK);
    assert_int_equal(mode_of(place, "given"), 0664);
    like.st_gid--;
    like.st_uid++;
    answer(FCHOWN, 1, EPERM); /* the owner differs, but the group is the same */
    assert_int_equal(fs_create(place.fd, "owner", "x", 1, &like, &err), LINEAGE_OK);
    assert_int_equal(mode_of(place, "owner"), 0664);
    assert_int_equal(fs_create(place.fd, "owner", "y", 1, &like, &err), LINEAGE_EEXIST);
    assert_file(place, "owner", "x");
    leave_place(place);
}

static void a_directory_is_made_or_is_there(void **state)
{
    struct place place = make_place("before");
    (void)state;
    assert_int_equal(fs_mkdir(place.fd, "dir"), 0);
    assert_int_equal(fs_mkdir(place.fd, "dir"), 0);
    assert_int_equal(fs_mkdir(place.fd, "file"), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(symlinkat("nowhere", place.fd, "link"), 0);
    assert_int_equal(fs_mkdir(place.fd, "link"), -1);
    assert_int_equal(fs_mkdir(place.fd, "none/dir"), -1);
    assert_int_equal(errno, ENOENT);
    assert_true(fs_is_dir(place.fd, "dir"));
    assert_false(fs_is_dir(place.fd, "file"));
    assert_false(fs_is_dir(place.fd, "none"));
    assert_true(fs_can_write(place.fd, "file"));
    assert_false(fs_can_write(place.fd, "none"));
    leave_place(place);
}

static void only_directories_below_are_below(void **state)
{
    struct place place = make_place("before");
    char longest[NAME_MAX + 2];
    (void)state;
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(mkdirat(place.fd, "a", 0755), 0);
    assert_int_equal(mkdirat(place.fd, "a/..b", 0755), 0);
    assert_int_equal(symlinkat("a", place.fd, "link"), 0);
    static const char *const below[] = {"a", "a/..b", "a//..b/"};
    static const char *const not_below[] = {"", "/", "/tmp", "..", "a/..", "link", "link/..b", "file", "a/none", "none/a"};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        assert_true(fs_is_dir_below(place.fd, below[i]));
    for (size_t i = 0; i < sizeof not_below / sizeof *not_below; i++)
        assert_false(fs_is_dir_below(place.fd, not_below[i]));
    assert_false(fs_is_dir_below(place.fd, longest));
    leave_place(place);
}

/* A file system without holes reports everything as data, which only costs disk space. */
static void holes_are_found_where_they_are_known(void **state)
{
    struct place place = make_place("before");
    uint64_t start = 1, end = 0;
    int fd = fs_open(place.fd, "file", O_RDWR, 0);
    (void)state;
    assert_true(fs_next_data(fd, 0, 6, &start, &end));
    assert_int_equal(start, 0);
    assert_int_equal(end, 6);
    /* The file has grown since the caller read its size. */
    assert_true(fs_next_data(fd, 0, 4, &start, &end));
    assert_int_equal(end, 4);
    assert_false(fs_next_data(fd, 6, 6, &start, &end));
    answer(LSEEK, 1, EINVAL);
    assert_true(fs_next_data(fd, 2, 6, &start, &end));
    assert_int_equal(start, 2);
    assert_int_equal(end, 6);
    answer(LSEEK, 1, ENXIO); /* a hole until the end of the file */
    assert_false(fs_next_data(fd, 2, 6, &start, &end));
    fs_close(fd);
    leave_place(place);
}

static void a_tree_is_removed_and_links_are_not_followed(void **state)
{
    struct place place = make_place("before");
    (void)state;
    assert_int_equal(mkdirat(place.fd, "tree", 0755), 0);
    assert_int_equal(mkdirat(place.fd, "tree/sub", 0755), 0);
    assert_int_equal(symlinkat("../..", place.fd, "tree/sub/link"), 0);
    fs_remove_tree(place.fd, "none");
    fs_remove_tree(place.fd, "tree");
    assert_false(fs_is_dir(place.fd, "tree"));
    assert_file(place, "file", "before");
    leave_place(place);
}

static void only_regular_files_are_read(void **state)
{
    struct place place = make_place("before");
    struct buf text = {0};
    struct lineage_error err;
    (void)state;
    assert_int_equal(mkfifoat(place.fd, "pipe", 0644), 0);
    assert_int_equal(mkdirat(place.fd, "dir", 0755), 0);
    int fd = openat(place.fd, "large", O_WRONLY | O_CREAT, 0644);
    assert_int_equal(ftruncate(fd, (off_t)FS_FILE_MAX + 1), 0);
    close(fd);
    assert_int_equal(fs_read_file(place.fd, "pipe", &text, &err), LINEAGE_EINVAL);
    assert_int_equal(fs_read_file(place.fd, "dir", &text, &err), LINEAGE_EIO);
    assert_int_equal(err.os_errno, EISDIR);
    assert_int_equal(fs_read_file(place.fd, "large", &text, &err), LINEAGE_ELIMIT);
    assert_int_equal(fs_read_file(place.fd, "none", &text, &err), LINEAGE_ENOTFOUND);
    assert_int_equal(fs_read_stream(place.fd, "none", &text, &err), LINEAGE_ENOTFOUND);
    assert_int_equal(text.length, 0);
    leave_place(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_interrupts_nothing),
        cmocka_unit_test(failures_are_told),
        cmocka_unit_test(a_file_that_cannot_be_closed_is_not_put_in_place),
        cmocka_unit_test(rights_of_a_group_are_not_given_to_another),
        cmocka_unit_test(a_directory_is_made_or_is_there),
        cmocka_unit_test(only_directories_below_are_below),
        cmocka_unit_test(holes_are_found_where_they_are_known),
        cmocka_unit_test(a_tree_is_removed_and_links_are_not_followed),
        cmocka_unit_test(only_regular_files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
