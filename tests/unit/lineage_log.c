/* Tests results.tsv as bytes: what a lock guarantees, what happens to torn bytes, and which file is followed. */
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/fs.h"
#include "log/log_file.h"
#include "support/files.h"
#include "support/rows.h"

struct place {
    char *dir;
    int fd;
    struct log *log;
};

static struct lineage_error err;

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->dir = make_dir();
    p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(log_file_open(&p->log, p->fd, p->dir, &err), LINEAGE_OK);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    log_close(p->log);
    close(p->fd);
    remove_dir(p->dir);
    free(p);
    return 0;
}

static void append(struct place *p, const char *bytes)
{
    struct log_state now;
    assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_OK);
    assert_int_equal(log_append(p->log, &now, bytes, strlen(bytes), true, &err), LINEAGE_OK);
    log_release(p->log);
}

static void assert_holds(const char *dir, const char *name, const char *bytes)
{
    size_t length;
    char *text = read_file(in_dir(dir, name), &length);
    assert_int_equal(length, strlen(bytes));
    assert_string_equal(text, bytes);
    free(text);
}

/* True if another open file description can take the lock now. */
static bool can_lock(const char *dir)
{
    int fd = open(in_dir(dir, "results.tsv"), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    bool taken = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return taken;
}

static void a_missing_file_is_an_empty_log(void **state)
{
    struct place *p = *state;
    struct log_state now;
    struct buf out = {0};
    assert_int_equal(log_look(p->log, &now, &err), LINEAGE_OK);
    assert_false(now.exists);
    assert_int_equal(log_read(p->log, 0, 100, &out, &err), LINEAGE_OK);
    assert_int_equal(out.length, 0);
    assert_false(file_exists(in_dir(p->dir, "results.tsv")));
    buf_release(&out);
}

static void a_file_made_for_nothing_is_removed(void **state)
{
    struct place *p = *state;
    struct log_state now;
    assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_OK);
    assert_int_equal(now.size, 0);
    log_release(p->log);
    assert_false(file_exists(in_dir(p->dir, "results.tsv")));
    append(p, "h\na\n");
    assert_holds(p->dir, "results.tsv", "h\na\n");
}

static void the_lock_is_on_the_file_itself(void **state)
{
    struct place *p = *state;
    struct log_state now;
    append(p, "h\n");
    assert_true(can_lock(p->dir));
    assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_OK);
    assert_int_equal(now.size, 2);
    assert_false(can_lock(p->dir));
    log_release(p->log);
    assert_true(can_lock(p->dir));
}

static void a_replaced_file_is_followed(void **state)
{
    struct place *p = *state;
    struct buf out = {0};
    append(p, "h\nold\n");
    assert_int_equal(log_read(p->log, 0, 100, &out, &err), LINEAGE_OK);
    char *other = join(p->dir, "other");
    write_file(other, "h\n", 2);
    assert_int_equal(rename(other, in_dir(p->dir, "results.tsv")), 0);
    append(p, "new\n");
    assert_holds(p->dir, "results.tsv", "h\nnew\n");
    out.length = 0;
    assert_int_equal(log_read(p->log, 2, 100, &out, &err), LINEAGE_OK);
    assert_int_equal(out.length, 4);
    assert_memory_equal(out.data, "new\n", 4);
    buf_release(&out);
    free(other);
}

/* Each step changes the log, or makes the claim wait. In either case log_claim_unchanged must return false. */
static void only_an_unchanged_log_is_claimed_at_one_look(void **state)
{
    struct place *p = *state;
    struct log_state before, now;
    char *other = join(p->dir, "other"), *staged = join(p->dir, "results.tsv.import");
    now = (struct log_state){0};
    assert_false(log_claim_unchanged(p->log, &now));
    append(p, "h\na\n");
    assert_int_equal(log_look(p->log, &before, &err), LINEAGE_OK);
    now = before;
    assert_true(log_claim_unchanged(p->log, &now));
    assert_false(can_lock(p->dir));
    assert_int_equal(log_append(p->log, &now, "b\n", 2, false, &err), LINEAGE_OK);
    log_release(p->log);
    assert_holds(p->dir, "results.tsv", "h\na\nb\n");

    /* The log has grown, and this state has no size. */
    assert_false(log_claim_unchanged(p->log, &(struct log_state){.exists = true}));
    assert_false(log_claim_unchanged(p->log, &before));
    assert_int_equal(log_look(p->log, &before, &err), LINEAGE_OK);
    write_file(staged, "00000000000000000006\nc\n", 23); /* left by an import that was killed */
    now = before;
    assert_false(log_claim_unchanged(p->log, &now));
    assert_int_equal(unlink(staged), 0);
    int held = open(in_dir(p->dir, "results.tsv"), O_RDONLY);
    assert_int_equal(flock(held, LOCK_EX), 0);
    now = before;
    assert_false(log_claim_unchanged(p->log, &now));
    close(held);
    write_file(other, "h\nx\ny\n", 6); /* same size as before */
    assert_int_equal(rename(other, in_dir(p->dir, "results.tsv")), 0);
    now = before;
    assert_false(log_claim_unchanged(p->log, &now));
    assert_true(can_lock(p->dir));
    assert_int_equal(unlink(in_dir(p->dir, "results.tsv")), 0);
    now = before;
    assert_false(log_claim_unchanged(p->log, &now));
    assert_false(file_exists(in_dir(p->dir, "results.tsv")));
    free(other);
    free(staged);
}

static void torn_bytes_are_moved_aside_and_numbered(void **state)
{
    struct place *p = *state;
    const char *const tails[] = {"cut", "again"};
    const char *const names[] = {"results.tsv.torn-1", "results.tsv.torn-2"};
    struct log_state now;
    append(p, "h\na\n");
    for (size_t i = 0; i < 2; i++) {
        char name[64];
        add_bytes(p->dir, tails[i]);
        assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_OK);
        assert_int_equal(log_set_aside(p->log, &now, 4, name, &err), LINEAGE_OK);
        assert_int_equal(now.size, 4);
        log_release(p->log);
        assert_string_equal(name, names[i]);
    }
    append(p, "b\n");
    assert_holds(p->dir, names[0], tails[0]);
    assert_holds(p->dir, names[1], tails[1]);
    assert_holds(p->dir, "results.tsv", "h\na\nb\n");
}

static void what_is_no_regular_file_is_refused(void **state)
{
    struct place *p = *state;
    struct log_state now;
    struct buf out = {0};
    assert_int_equal(mkfifo(in_dir(p->dir, "results.tsv"), 0666), 0);
    assert_int_equal(log_look(p->log, &now, &err), LINEAGE_EIO);
    assert_int_equal(log_read(p->log, 0, 1, &out, &err), LINEAGE_EIO);
    assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_EIO);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_int_equal(remove(in_dir(p->dir, "results.tsv")), 0);
    assert_int_equal(symlink("/dev/null", in_dir(p->dir, "results.tsv")), 0);
    assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_EIO);
    buf_release(&out);
}

/* ---- what an import left that was cut off ---- */

/* Each case gives the log before the claim, with the staged file of a killed import, and the log after the claim. */
static void what_an_import_left_is_taken_back(void **state)
{
    struct place *p = *state;
    static const char staged[] = "00000000000000000002\na\nbb\n";
    static const struct {
        const char *found, *left, *aside; /* aside: expected text of torn-1; NULL: no such file */
        bool taken_back, size_only;
    } cases[] = {
        {"h\n", "h\n", NULL, true, false},                 /* no byte of the import was written */
        {"h\na", "h\n", NULL, true, false},                /* a part of the first record */
        {"h\na\n", "h\n", NULL, true, false},              /* the first record */
        {"h\na\nb", "h\n", NULL, true, false},             /* the first record and a part of the second */
        {"h\na\nbb\n", "h\na\nbb\n", NULL, false, false},  /* the complete import */
        {"h\na\nbb\nc\n", "h\na\nbb\nc\n", NULL, false, false},
        {"h\na\nc\n", "h\n\n\nc\n", "a\n", true, false},   /* another tool wrote c after the first record */
        {"h\nac\n", "h\nac\n", NULL, true, false},         /* another tool completed a part to its own record */
        {"h\nc\n", "h\nc\n", NULL, true, false},           /* another tool's c alone: the import wrote nothing */
        {"h", "h", NULL, true, false},                     /* another tool truncated the file */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct log_state now;
        write_file(in_dir(p->dir, "results.tsv"), cases[i].found, strlen(cases[i].found));
        write_file(in_dir(p->dir, "results.tsv.import"), staged, sizeof staged - 1);
        assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_OK);
        assert_int_equal(now.taken_back, cases[i].taken_back);
        assert_int_equal(now.size, strlen(cases[i].left));
        assert_holds(p->dir, "results.tsv", cases[i].left);
        assert_int_equal(now.cut_off, cases[i].taken_back);
        assert_false(file_exists(in_dir(p->dir, "results.tsv.import")));
        log_release(p->log);
        assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_OK);
        assert_int_equal(now.taken_back, cases[i].taken_back); /* true until log_settle */
        assert_false(now.cut_off);
        assert_int_equal(log_settle(p->log, &err), LINEAGE_OK);
        log_release(p->log);
        assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_OK);
        assert_false(now.taken_back);
        log_release(p->log);
        assert_int_equal(file_exists(in_dir(p->dir, "results.tsv.torn-1")), cases[i].aside != NULL);
        if (cases[i].aside) {
            assert_holds(p->dir, "results.tsv.torn-1", cases[i].aside);
            assert_int_equal(remove(in_dir(p->dir, "results.tsv.torn-1")), 0);
        }
    }
}

/* The file is incomplete after a machine crash without sync, or another program made a file with that name. */
static void what_no_import_left_changes_nothing(void **state)
{
    struct place *p = *state;
    struct log_state now;
    append(p, "h\na\n");
    write_file(in_dir(p->dir, "results.tsv.import"), "0000", 4);
    assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_OK);
    assert_false(now.taken_back);
    log_release(p->log);
    assert_false(file_exists(in_dir(p->dir, "results.tsv.import")));
    assert_int_equal(symlink("results.tsv", in_dir(p->dir, "results.tsv.import")), 0);
    assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_OK);
    log_release(p->log);
    assert_holds(p->dir, "results.tsv", "h\na\n");
    assert_int_equal(mkdir(in_dir(p->dir, "results.tsv.import"), 0755), 0);
    assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_EIO);
    assert_non_null(strstr(err.text, "end the import into"));
    assert_true(can_lock(p->dir));
}

/* ---- another tool meanwhile, and calls that fail ---- */

static void a_file_that_changes_under_the_lock_is_left_alone(void **state)
{
    struct place *p = *state;
    struct log_state now;
    char name[64], *other = join(p->dir, "other");
    append(p, "h\nabc\n");
    assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_OK);
    assert_int_equal(truncate(in_dir(p->dir, "results.tsv"), 3), 0);
    assert_int_equal(log_set_aside(p->log, &now, 2, name, &err), LINEAGE_EIO);
    assert_non_null(strstr(err.text, "changed while its lock was held"));
    assert_int_equal(log_blank(p->log, &now, 2, 99, name, &err), LINEAGE_EIO);
    assert_holds(p->dir, "results.tsv", "h\na");
    now.size = 3;
    write_file(other, "x\nyyy\nz\n", 8);
    assert_int_equal(rename(other, in_dir(p->dir, "results.tsv")), 0);
    /* The locked file is no longer results.tsv. */
    assert_int_equal(log_blank(p->log, &now, 2, 3, name, &err), LINEAGE_EIO);
    assert_holds(p->dir, "results.tsv", "x\nyyy\nz\n");
    log_release(p->log);
    free(other);
}

/* The n-th call with this name fails. */
struct failing {
    const char *call;
    unsigned at;
    int error;
};

static int fail_nth(void *context, const char *call)
{
    struct failing *failing = context;
    return strcmp(call, failing->call) == 0 && failing->at && !--failing->at ? failing->error : 0;
}

static void a_record_is_kept_or_moved_whole(void **state)
{
    struct place *p = *state;
    static const struct failing calls[] = {{"read", 1, EIO},      {"open", 1, EACCES}, {"write", 1, ENOSPC}, {"fsync", 1, EIO},
                                           {"fsync", 2, EIO},     {"open", 2, EMFILE}, {"stat", 2, EIO},     {"write", 2, EIO},
                                           {"fdatasync", 1, EIO}, {"open", 3, EMFILE}, {"stat", 3, EIO}};
    append(p, "h\nabc\nd\n");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct failing failing = calls[i];
        struct log_state now;
        size_t length;
        char name[64];
        assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_OK);
        fs_set_fault(fail_nth, &failing);
        enum lineage_status status = log_blank(p->log, &now, 2, 6, name, &err);
        fs_set_fault(NULL, NULL);
        log_release(p->log);
        char *text = read_file(in_dir(p->dir, "results.tsv"), &length);
        assert_int_equal(length, 8);
        if (status == LINEAGE_OK || memcmp(text, "h\nabc\nd\n", 8) != 0) { /* then the copy exists and is complete */
            assert_memory_equal(text, "h\n\n\n\n\nd\n", 8);
            assert_holds(p->dir, "results.tsv.torn-1", "abc\n");
            write_file(in_dir(p->dir, "results.tsv"), "h\nabc\nd\n", 8);
        }
        free(text);
        remove(in_dir(p->dir, "results.tsv.torn-1"));
    }
}

/* The lock is polled for a second and then waited for. Any error other than EWOULDBLOCK ends the attempt at once. */
static int busy(void *context, const char *call)
{
    unsigned *times = context;
    return strcmp(call, "flock") == 0 && *times && --*times ? EWOULDBLOCK : 0;
}

static void a_lock_is_waited_for(void **state)
{
    struct place *p = *state;
    struct log_state now;
    unsigned times = 3;
    struct failing failing = {"flock", 1, ENOLCK};
    append(p, "h\n");
    fs_set_fault(busy, &times);
    assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_OK);
    log_release(p->log);
    times = 1000; /* busy for longer than the second, without a callback */
    assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_ELOCKED);
    fs_set_fault(fail_nth, &failing);
    assert_int_equal(log_claim(p->log, &now, &err), LINEAGE_ELOCKED);
    assert_non_null(strstr(err.text, "cannot lock"));
    assert_non_null(strstr(err.text, "flock: mount it so"));
    fs_set_fault(NULL, NULL);
    append(p, "a\n");
    assert_holds(p->dir, "results.tsv", "h\na\n");
}

/* ---- an append of many that was cut off, and whatever fails while it is taken back ---- */

static unsigned countdown;
static int failure;

static int fail_later(void *context, const char *call)
{
    (void)context, (void)call;
    return countdown && !--countdown ? failure : 0;
}

static const struct cut {
    const char *before, *bytes; /* the log before the append; the appended rows */
    size_t there;               /* number of appended bytes that were written */
    const char *behind;         /* bytes that another tool wrote after them */
} cuts[] = {
    {"h\nA\n", "B\nC\n", 4, ""},
    {"h\nA\n", "B\nC\n", 0, ""},
    {"h\nA\n", "B\nC\n", 3, ""},
    {"h\nA\n", "B\nC\n", 3, "o\tp\n"},
    {"h\nA\n", "B\nC\n", 1, "o\tp\n"},
    {"h\nA\n", "B\n\"C\nD\"\n", 4, "o\tp\nq\n"},
    {"h\nA\n", "B\n\"C\nD\"\n", 4, "o\tp"},
    {"", "h\nB\n", 3, "o\n"},
    {"", "h\nB\n", 1, "o\n"},
    {"", "h\nB\n", 3, ""},
    {"h\nA\n", "B\nC\n", 2, "x\n"},
};

static void leave_cut(const char *dir, const struct cut *cut)
{
    char text[256];
    int n = snprintf(text, sizeof text, "%020zu\n%s", strlen(cut->before), cut->bytes);
    write_file(in_dir(dir, "results.tsv.import"), text, (size_t)n);
    n = snprintf(text, sizeof text, "%s%.*s%s", cut->before, (int)cut->there, cut->bytes, cut->behind);
    write_file(in_dir(dir, "results.tsv"), text, (size_t)n);
}

/* Claims the log with the n-th call failing, then again without a fault. Returns the log's bytes afterwards (free);
 * *struck is true if a call failed. */
static char *take_back(const struct cut *cut, unsigned n, bool *struck)
{
    char *dir = make_dir(), *text;
    struct log *log;
    struct log_state now;
    size_t length;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    leave_cut(dir, cut);
    assert_int_equal(log_file_open(&log, fd, dir, &err), LINEAGE_OK);
    countdown = n;
    fs_set_fault(fail_later, NULL);
    if (log_claim(log, &now, &err) == LINEAGE_OK)
        log_release(log);
    *struck = n && !countdown;
    countdown = 0;
    fs_set_fault(NULL, NULL);
    if (log_claim(log, &now, &err) != LINEAGE_OK)
        fail_msg("call %u: %s", n, err.text);
    log_release(log);
    assert_false(file_exists(in_dir(dir, "results.tsv.import")));
    text = file_exists(in_dir(dir, "results.tsv")) ? read_file(in_dir(dir, "results.tsv"), &length) : strdup("");
    log_close(log);
    close(fd);
    remove_dir(dir);
    return text;
}

static void a_cut_append_is_taken_back_whatever_fails_meanwhile(void **state)
{
    static const int failures[] = {EIO, ENOLCK, EINTR};
    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        bool struck;
        char *wanted = take_back(&cuts[i], 0, &struck);
        assert_true(strncmp(wanted, cuts[i].before, strlen(cuts[i].before)) == 0);
        /* The other tool's bytes survive, unless an open quote of ours would swallow them; such a line is moved
         * aside. */
        assert_true(strchr(cuts[i].bytes, '"') || strstr(wanted, cuts[i].behind));
        for (size_t f = 0; f < sizeof failures / sizeof *failures; f++) {
            failure = failures[f];
            struck = true;
            for (unsigned n = 1; struck; n++) {
                char *got = take_back(&cuts[i], n, &struck);
                if (strcmp(got, wanted) != 0)
                    fail_msg("cut %zu, call %u, error %d: '%s', not '%s'", i, n, failure, got, wanted);
                free(got);
            }
        }
        free(wanted);
    }
}

/* The file holds only a part of the staged bytes, or bytes that this program never staged. */
static void what_is_no_staged_append_changes_nothing(void **state)
{
    struct place *p = *state;
    struct log_state now;
    append(p, "h\nA\n");
    write_file(in_dir(p->dir, "results.tsv.import"), "1\n", 2);
    append(p, "B\n");
    assert_false(file_exists(in_dir(p->dir, "results.tsv.import")));
    assert_int_equal(mkdir(in_dir(p->dir, "results.tsv.import"), 0777), 0);
    if (log_claim(p->log, &now, &err) == LINEAGE_OK)
        log_release(p->log);
    assert_holds(p->dir, "results.tsv", "h\nA\nB\n");
    assert_int_equal(rmdir(in_dir(p->dir, "results.tsv.import")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_no_regular_file_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_file_is_an_empty_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_made_for_nothing_is_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_lock_is_on_the_file_itself, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_replaced_file_is_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_an_unchanged_log_is_claimed_at_one_look, set_up, tear_down),
        cmocka_unit_test_setup_teardown(torn_bytes_are_moved_aside_and_numbered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_an_import_left_is_taken_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_no_import_left_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_changes_under_the_lock_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_record_is_kept_or_moved_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lock_is_waited_for, set_up, tear_down),
        cmocka_unit_test(a_cut_append_is_taken_back_whatever_fails_meanwhile),
        cmocka_unit_test_setup_teardown(what_is_no_staged_append_changes_nothing, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
