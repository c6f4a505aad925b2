/* Tests the names of a store's files: valid names, paths by kind, the holder of a lock, and the texts of errors. */
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <lineage/render.h>
#include <lineage/snapshot.h>

#include "files/fs.h"
#include "files/places.h"
#include "fail.h"
#include "log/lock_holder.h"
#include "support/files.h"
#include "support/rows.h"

static void an_id_is_a_plain_name(void **state)
{
    char path[PLACE_MAX], longest[220];
    static const char *const none[] = {"", ".", ".x", "a/b", "../a"};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(place_telemetry(path, none[i]));
    assert_true(place_telemetry(path, "a.b"));
    assert_string_equal(path, "telemetry/a.b.json");
    memset(longest, 'x', 201);
    longest[201] = '\0';
    assert_false(place_telemetry(path, longest));
    assert_true(place_telemetry(path, longest + 1));
}

static void a_name_leads_back_to_its_id(void **state)
{
    char id[PLACE_MAX], longest[PLACE_MAX + 8];
    static const char *const none[] = {"", ".json", "a", "a.txt", ".a.json", ".a.json.12.tmp", "json"};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(place_telemetry_id(id, none[i]));
    memset(longest, 'x', sizeof longest);
    strcpy(longest + sizeof longest - 6, ".json");
    assert_false(place_telemetry_id(id, longest));
    assert_true(place_telemetry_id(id, "a.b.json"));
    assert_string_equal(id, "a.b");
}

static void snapshots_are_named_by_what_can_be_in_a_name(void **state)
{
    char path[PLACE_MAX], longest[200];
    (void)state;
    assert_true(place_snapshot(path, "003", "reward/sha\tping"));
    assert_string_equal(path, "snapshots/003_reward_sha_ping");
    assert_false(place_snapshot(path, ".3", "x"));
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_true(place_snapshot(path, longest, longest));
    assert_int_equal(strlen(path), strlen("snapshots/") + 120 + 1 + 100);
    place_snapshot_again(path, "003", "", 4294967295u);
    assert_string_equal(path, "snapshots/003_-4294967295");
}

static void only_torn_records_are_restored(void **state)
{
    static const char *const none[] = {"results.tsv",        "results.tsv.torn-",     "results.tsv.torn-1/..",
                                       "results.tsv.torn-x", "../results.tsv.torn-1", "results.tsv.torn-1x"};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(place_is_torn(none[i]));
    assert_true(place_is_torn("results.tsv.torn-12"));
}

static void places_of_a_store_are_told(void **state)
{
    struct lineage_error err = {0};
    struct lineage_trial trial = {.exp_id = "000"};
    char *dir = make_dir(), *path;
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    (void)state;
    assert_int_equal(lineage_store_path(&path, store, LINEAGE_PLACE_KNOWLEDGE, &err), LINEAGE_OK);
    assert_string_equal(path + strlen(dir), "/KNOWLEDGE.md");
    lineage_free(path);
    assert_int_equal(lineage_store_path(&path, store, (enum lineage_place)99, &err), LINEAGE_EINVAL);
    assert_null(path);
    static const char *const none[] = {NULL, "", "snapshots", "/tmp", "../x"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        trial.snapshot_path = none[i];
        assert_int_equal(lineage_snapshot_path(&path, store, &trial, &err), LINEAGE_ENOTFOUND);
        assert_null(path);
    }
    lineage_store_close(store);
    remove_dir(dir);
}

static int no_list(void *context, const char *call)
{
    unsigned *reads = context;
    return strcmp(call, "open") == 0 && (*reads)-- == 0 ? EACCES : 0;
}

/* The holder is named if /proc/locks shows it. A holder of a shared lock, or of a lock on another file, is not
 * named. The other file is one of our own: the next inode may be that of another test, which locks it. */
static void the_holder_of_a_lock_is_named(void **state)
{
    char *dir = make_dir(), *name = join(dir, "file"), *other = join(dir, "other"), holder[LOCK_HOLDER_MAX], wanted[64];
    const dev_t no_device = makedev(4095, 1048575);
    struct stat st, other_st;
    unsigned reads = 1;
    (void)state;
    write_file(name, "", 0);
    write_file(other, "", 0);
    assert_int_equal(stat(other, &other_st), 0);
    int fd = open(name, O_RDWR | O_CLOEXEC);
    assert_int_equal(fstat(fd, &st), 0);
    lock_holder(holder, st.st_dev, st.st_ino);
    assert_string_equal(holder, "");
    assert_int_equal(flock(fd, LOCK_SH), 0);
    lock_holder(holder, st.st_dev, st.st_ino);
    assert_string_equal(holder, "");
    assert_int_equal(flock(fd, LOCK_EX), 0);
    lock_holder(holder, st.st_dev, st.st_ino);
    if (!holder[0]) { /* in a sandbox or another pid namespace */
        print_message("SKIP: /proc/locks does not show this process\n");
    } else {
        snprintf(wanted, sizeof wanted, ", held by process %ld (", (long)getpid());
        assert_memory_equal(holder, wanted, strlen(wanted));
        lock_holder(holder, st.st_dev, other_st.st_ino);
        assert_string_equal(holder, "");
        lock_holder(holder, no_device, st.st_ino);
        assert_string_equal(holder, "");
        fs_set_fault(no_list, &reads); /* the second open, which reads the process's name */
        lock_holder(holder, st.st_dev, st.st_ino);
        fs_set_fault(NULL, NULL);
        snprintf(wanted, sizeof wanted, ", held by process %ld", (long)getpid());
        assert_string_equal(holder, wanted);
    }
    reads = 0;
    fs_set_fault(no_list, &reads);
    lock_holder(holder, st.st_dev, st.st_ino);
    fs_set_fault(NULL, NULL);
    assert_string_equal(holder, "");
    close(fd);
    free(other);
    free(name);
    remove_dir(dir);
}

static void each_status_has_its_own_text(void **state)
{
    (void)state;
    size_t compared = 0; /* status codes are 0 and below */
    for (int i = LINEAGE_OK; i >= LINEAGE_ECANCELLED; i--) {
        assert_string_not_equal(lineage_status_text((enum lineage_status)i), "unknown status");
        for (int j = LINEAGE_OK; j > i; j--, compared++)
            assert_string_not_equal(lineage_status_text((enum lineage_status)i), lineage_status_text((enum lineage_status)j));
    }
    assert_int_equal(compared, 55);
    assert_string_equal(lineage_status_text((enum lineage_status)99), "unknown status");
}

/* A message is one line, whatever a name in it contains. A message that is too long keeps its beginning. */
static void a_message_is_one_line(void **state)
{
    struct lineage_error err = {0};
    char longest[2 * sizeof err.text];
    (void)state;
    store_fail(&err, LINEAGE_EINVAL, "a%sb", "\n\x1b\x7f\t");
    assert_string_equal(err.text, "a????b");
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    errno = EIO;
    store_fail_errno(&err, LINEAGE_EIO, "%s", longest);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(errno, EIO);
    assert_int_equal(store_fail_errno(NULL, LINEAGE_EIO, "x"), LINEAGE_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_a_plain_name),
        cmocka_unit_test(a_name_leads_back_to_its_id),
        cmocka_unit_test(snapshots_are_named_by_what_can_be_in_a_name),
        cmocka_unit_test(only_torn_records_are_restored),
        cmocka_unit_test(places_of_a_store_are_told),
        cmocka_unit_test(the_holder_of_a_lock_is_named),
        cmocka_unit_test(each_status_has_its_own_text),
        cmocka_unit_test(a_message_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
