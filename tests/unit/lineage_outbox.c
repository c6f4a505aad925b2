/* Tests the outbox: a file holds its request completely or not at all, and one process at a time delivers a request. */
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "append/outbox_file.h"
#include "files/fs.h"
#include "support/files.h"

static int open_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* What a walk found: the number of requests, and their texts joined together. */
struct seen {
    size_t n;
    char text[256];
    size_t n_damaged;
};

static bool see(void *context, struct outbox_file *file, json_t *request)
{
    struct seen *seen = context;
    if (!request) {
        assert_non_null(strstr(file->name, ".damaged"));
        seen->n_damaged++;
        return true;
    }
    seen->n++;
    strncat(seen->text, json_string_value(json_object_get(request, "rows")), sizeof seen->text - strlen(seen->text) - 1);
    return true;
}

static struct seen walk(int dir_fd, size_t *n_held)
{
    struct seen seen = {0};
    size_t held;
    assert_int_equal(outbox_each(dir_fd, see, &seen, n_held ? n_held : &held, NULL), LINEAGE_OK);
    return seen;
}

static void put(int dir_fd, const char *rows)
{
    struct outbox_file file = {.fd = -1};
    json_t *request = json_pack("{s:s}", "rows", rows);
    assert_int_equal(outbox_write(&file, dir_fd, request, true, NULL), LINEAGE_OK);
    json_decref(request);
    outbox_leave(&file);
}

/* Finds the path of the only file in the outbox. */
static void only_file(char path[512], const char *dir)
{
    char command[512];
    snprintf(command, sizeof command, "ls -d %s/outbox/*", dir);
    FILE *in = popen(command, "r");
    assert_non_null(in);
    assert_non_null(fgets(path, 512, in));
    path[strcspn(path, "\n")] = '\0';
    pclose(in);
}

static void requests_come_in_the_order_they_were_made_in(void **state)
{
    (void)state;
    char *dir = make_dir();
    int fd = open_dir(dir);
    put(fd, "a");
    put(fd, "b");
    put(fd, "c");
    struct seen seen = walk(fd, NULL);
    assert_int_equal(seen.n, 3);
    assert_string_equal(seen.text, "abc");
    close(fd);
    remove_dir(dir);
}

static void count(void *context, const char *name)
{
    size_t *n = context;
    assert_non_null(name);
    ++*n;
}

/* Writes bytes[0..n) as the only file, checks it, walks twice, and removes what is left. Returns what the first walk saw. */
static struct seen walk_over(int dir_fd, const char *path, const char *bytes, size_t n)
{
    size_t n_checked = 0, n_waiting;
    char aside[600];
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(out);
    assert_int_equal(outbox_check(dir_fd, count, &n_checked, &n_waiting, NULL), LINEAGE_OK);
    assert_int_equal(access(path, F_OK), 0);
    struct seen seen = walk(dir_fd, NULL), again = walk(dir_fd, NULL);
    assert_int_equal(n_checked, seen.n_damaged);
    assert_int_equal(seen.n, again.n);
    assert_int_equal(seen.n_damaged, again.n_damaged);
    snprintf(aside, sizeof aside, "%.*s.damaged", (int)(strlen(path) - strlen(".trial")), path);
    assert_int_equal(access(path, F_OK) == 0, seen.n);
    assert_int_equal(access(aside, F_OK) == 0, seen.n_damaged);
    if (seen.n_damaged) {
        size_t length;
        char *kept = read_file(aside, &length);
        assert_int_equal(length, n);
        assert_memory_equal(kept, bytes, n);
        free(kept);
    }
    unlink(path);
    unlink(aside);
    return seen;
}

/* A request whose end is missing was never acknowledged. A request with a changed byte was acknowledged, so it is never
 * removed: it is read if the change does not matter (the length, white space), and kept as .damaged otherwise. */
static void a_damaged_request_is_kept(void **state)
{
    (void)state;
    char path[512], text[600];
    static const unsigned char changes[] = {1, 0x80, 0x20, 0xff};
    char *dir = make_dir(), *whole, *bytes;
    int fd = open_dir(dir);
    size_t length, n_read = 0;
    memset(text, 'r', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    put(fd, "text of a row");
    only_file(path, dir);
    whole = read_file(path, &length);
    for (size_t n = 0; n + 1 < length; n++) /* the last byte is the zero at the end */
        assert_int_equal(walk_over(fd, path, whole, n).n + walk_over(fd, path, whole, n).n_damaged, 0);
    assert_int_equal(walk_over(fd, path, whole, length - 1).n, 1);
    for (size_t i = 0; i < 5 * length; i++) {
        bytes = memcpy(malloc(length), whole, length);
        size_t at = i % length, which = i / length;
        bytes[at] = which < 4 ? (char)(bytes[at] ^ changes[which]) : '\0';
        struct seen seen = walk_over(fd, path, bytes, length);
        assert_int_equal(seen.n + seen.n_damaged, 1);
        if (seen.n)
            assert_string_equal(seen.text, "text of a row");
        n_read += seen.n;
        free(bytes);
    }
    assert_true(n_read > 0 && n_read < 2 * length);
    free(whole);

    /* After a power cut the end of a file may be zeros, from a sector on. */
    put(fd, text);
    only_file(path, dir);
    whole = read_file(path, &length);
    assert_true(length > 600);
    memset(whole + 512, 0, length - 512);
    assert_int_equal(walk_over(fd, path, whole, length).n_damaged, 0);
    memset(whole, 0, 512);
    assert_int_equal(walk_over(fd, path, whole, length).n_damaged, 0);
    free(whole);
    close(fd);
    remove_dir(dir);
}

/* A request that is struck out counts as delivered. If a shorter request overwrites a longer one, the shorter one is
 * read. */
static void a_file_is_used_again(void **state)
{
    (void)state;
    char *dir = make_dir();
    int fd = open_dir(dir);
    struct outbox_file file = {.fd = -1};
    json_t *longer = json_pack("{s:s}", "rows", "a longer request"), *shorter = json_pack("{s:s}", "rows", "short");
    assert_int_equal(outbox_write(&file, fd, longer, true, NULL), LINEAGE_OK);
    outbox_strike(&file);
    assert_int_equal(outbox_write(&file, fd, shorter, true, NULL), LINEAGE_OK);
    outbox_leave(&file);
    assert_string_equal(walk(fd, NULL).text, "short");
    file.fd = -1;
    assert_int_equal(outbox_write(&file, fd, longer, true, NULL), LINEAGE_OK);
    outbox_strike(&file);
    outbox_leave(&file);
    assert_string_equal(walk(fd, NULL).text, "short");
    json_decref(longer);
    json_decref(shorter);
    close(fd);
    remove_dir(dir);
}

/* A process locks the request that it delivers. Others count a locked request and leave it alone. When the process is
 * killed, its request is free at once. */
static void a_request_on_its_way_is_left_alone(void **state)
{
    (void)state;
    char *dir = make_dir(), go;
    int fd = open_dir(dir), ready[2];
    size_t n_held;
    put(fd, "mine");
    assert_int_equal(pipe(ready), 0);
    pid_t other = fork();
    if (other == 0) {
        struct outbox_file file = {.fd = -1};
        json_t *request = json_pack("{s:s}", "rows", "theirs");
        bool ok = outbox_write(&file, fd, request, true, NULL) == LINEAGE_OK;
        ok = write(ready[1], "x", 1) == 1 && ok;
        pause();
        _exit(!ok);
    }
    assert_int_equal(read(ready[0], &go, 1), 1);
    assert_string_equal(walk(fd, &n_held).text, "mine");
    assert_int_equal(n_held, 1);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    assert_string_equal(walk(fd, &n_held).text, "minetheirs");
    assert_int_equal(n_held, 0);
    close(fd);
    remove_dir(dir);
}

static int listing_fails(void *context, const char *call)
{
    long *left = context;
    return strcmp(call, "list") == 0 && --*left == 0 ? EIO : 0;
}

/* Listing fails before the first name and then at each name. A failure is never reported as an empty or shorter
 * list. */
static void a_list_that_fails_is_no_empty_one(void **state)
{
    size_t n_held, failures = 0;
    long left = 0;
    (void)state;
    char *dir = make_dir();
    int fd = open_dir(dir);
    put(fd, "a");
    put(fd, "b");
    for (long n = 1; left == 0; n++) {
        struct seen seen = {0};
        struct lineage_error err = {0};
        left = n;
        fs_set_fault(listing_fails, &left);
        enum lineage_status status = outbox_each(fd, see, &seen, &n_held, &err);
        fs_set_fault(NULL, NULL);
        failures += status == LINEAGE_EIO;
        assert_int_equal(status, left == 0 ? LINEAGE_EIO : LINEAGE_OK);
        assert_int_equal(seen.n, left == 0 ? 0 : 2);
    }
    assert_true(failures >= 3);
    close(fd);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(requests_come_in_the_order_they_were_made_in),
                                       cmocka_unit_test(a_damaged_request_is_kept), cmocka_unit_test(a_file_is_used_again),
                                       cmocka_unit_test(a_request_on_its_way_is_left_alone),
                                       cmocka_unit_test(a_list_that_fails_is_no_empty_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
