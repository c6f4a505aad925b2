/*
 * Tests the digests of the rows: how they are computed, that every change of an old row is found, and what a killed
 * process leaves behind.
 */
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "files/fs.h"
#include "log/digest_chain.h"
#include "log/log_file.h"
#include "support/file_fault.h"
#include "support/files.h"
#include "support/rows.h"

#define DIGESTS ".results.tsv.digests"
#define HEADER                                                                                                                   \
    "exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\tcore_metric\t"         \
    "val_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\n"

static struct lineage_error err;

static enum lineage_status append(struct lineage_store *store, const char *hypothesis, bool sync)
{
    struct lineage_append_options options;
    struct lineage_trial trial = {.hypothesis = hypothesis, .status = LINEAGE_KEEP, .core_metric = {true, 1.5}};
    lineage_append_options_init(&options);
    options.no_sync = !sync;
    return lineage_store_append(store, &trial, &options, NULL, &err);
}

/* Appends n rows, each with its own handle, as commands do. */
static void append_rows(const char *dir, unsigned n)
{
    const struct lineage_open_options options = {.no_mirror = true};
    while (n--) {
        struct lineage_store *store;
        assert_int_equal(lineage_store_open(&store, dir, &options, &err), LINEAGE_OK);
        assert_int_equal(append(store, "a \"quoted\" row", true), LINEAGE_OK);
        lineage_store_close(store);
    }
}

struct broken {
    unsigned n;
    uint64_t line; /* line of the first finding */
    char text[300];
};

static void hear_broken(void *context, uint64_t line, const char *text)
{
    struct broken *broken = context;
    if (!broken->n++) {
        broken->line = line;
        snprintf(broken->text, sizeof broken->text, "%s", text);
    }
}

/* Checks the file itself. The store is opened without a mirror, because the mirror would notice a change as well. */
static struct broken check(const char *dir, struct log_digests *digests)
{
    struct broken broken = {0};
    struct log *log;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    digests->broken = hear_broken;
    digests->context = &broken;
    assert_int_equal(log_file_open(&log, fd, dir, &err), LINEAGE_OK);
    assert_int_equal(log_check_digests(log, digests, &err), LINEAGE_OK);
    log_close(log);
    close(fd);
    return broken;
}

static uint64_t assert_unbroken(const char *dir)
{
    struct log_digests digests = {.broken = NULL};
    struct broken broken = check(dir, &digests);
    if (broken.n)
        fail_msg("%s", broken.text);
    assert_true(digests.kept <= digests.head.records);
    return digests.head.records - digests.kept;
}

static void head_of(const char *dir, char text[DIGEST_TEXT])
{
    struct log_digests digests = {.broken = NULL};
    check(dir, &digests);
    digest_write(text, digests.head.digest);
}

/* Python's hashlib computed the expected values. */
static void a_digest_is_of_the_bytes_alone(void **state)
{
    char head[DIGEST_TEXT];
    add_bytes(*state, "exp_id\tstatus\r\na\t\"one\ntwo\"\n\nb\tkeep\rc\tkeep\nd\tke");
    head_of(*state, head);
    assert_string_equal(head, "3dd8e567e16537d8b9d21705b20119172af7f1e53387ca9609f20a7d5f55341f");
}

static void a_lone_cr_waits_for_what_follows(void **state)
{
    char head[DIGEST_TEXT];
    struct log_digests digests = {.broken = NULL};
    add_bytes(*state, "exp_id\tstatus\r\na\tkeep\r");
    head_of(*state, head);
    assert_string_equal(head, "a4eb45bca9be9fd6768a1b18b8027e7315e8c67e295f5fdc5de047a2bab08563");
    add_bytes(*state, "b\tke");
    check(*state, &digests);
    assert_int_equal(digests.head.records, 1);
    add_bytes(*state, "ep\n");
    check(*state, &digests);
    assert_int_equal(digests.head.records, 3);
}

static void each_row_has_its_line(void **state)
{
    size_t length;
    append_rows(*state, 3);
    char *text = read_file(in_dir(*state, DIGESTS), &length);
    unsigned lines = 0;
    for (const char *c = text; (c = strchr(c, '\n')); c++)
        lines++;
    assert_int_equal(lines, 3);
    assert_memory_equal(text, "2 ", 2);
    free(text);
    assert_int_equal(assert_unbroken(*state), 0);
}

/* Rows of other tools, and rows that were not synced, get their digests when the next synced row is appended. */
static void what_others_wrote_is_taken_in(void **state)
{
    static const struct row theirs[] = {{.id = "x", .status = "keep", .metric = "1.0"}, {.id = NULL}};
    append_rows(*state, 1);
    add_rows(*state, theirs);
    struct lineage_store *store = open_store(*state, LINEAGE_LOWER, NULL);
    assert_int_equal(append(store, "not synced", false), LINEAGE_OK);
    assert_int_equal(assert_unbroken(*state), 2);
    assert_int_equal(append(store, "synced", true), LINEAGE_OK);
    assert_int_equal(assert_unbroken(*state), 0);
    lineage_store_close(store);
}

static void old_stores_get_digests(void **state)
{
    static const struct row theirs[] = {{.id = "x", .status = "keep", .metric = "1.0"}, {.id = NULL}};
    add_rows(*state, theirs);
    assert_int_equal(assert_unbroken(*state), 2);
    append_rows(*state, 1);
    assert_int_equal(assert_unbroken(*state), 0);
}

/* A change of any byte is found in its line, whichever bit changes. */
static void every_changed_byte_is_found(void **state)
{
    static const unsigned char flips[] = {0x01, 0x20, 0x80};
    size_t length;
    append_rows(*state, 4);
    char *path = join(*state, "results.tsv"), *text = read_file(path, &length);
    uint64_t line = 1; /* the header and the first row share one line of digests */
    for (size_t i = 0; i < length; i++) {
        for (size_t f = 0; f < sizeof flips; f++) {
            struct log_digests digests = {.broken = NULL};
            text[i] ^= (char)flips[f];
            write_file(path, text, length);
            text[i] ^= (char)flips[f];
            struct broken broken = check(*state, &digests);
            if (!broken.n || broken.line != (line == 2 ? 1 : line))
                fail_msg("byte %zu, flip %x: %u found, line %u for %u", i, flips[f], broken.n, (unsigned)broken.line,
                         (unsigned)line);
        }
        line += text[i] == '\n';
    }
    free(text);
    free(path);
}

static void every_cut_is_found(void **state)
{
    size_t length;
    append_rows(*state, 3);
    char *path = join(*state, "results.tsv"), *text = read_file(path, &length);
    for (size_t n = 0; n < length; n++) {
        struct log_digests digests = {.broken = NULL};
        write_file(path, text, n);
        assert_true(check(*state, &digests).n > 0);
    }
    free(text);
    free(path);
}

/* Two changes give two findings, and unchanged rows after the first change are not reported. */
static void two_changes_are_two_findings(void **state)
{
    struct log_digests digests = {.broken = NULL};
    append_rows(*state, 6);
    size_t length;
    char *path = join(*state, "results.tsv"), *text = read_file(path, &length);
    char *second = strstr(strstr(text, "\n001\t"), "quoted"), *fifth = strstr(strstr(text, "\n004\t"), "quoted");
    *second = 'Q';
    *fifth = 'Q';
    write_file(path, text, length);
    struct broken broken = check(*state, &digests);
    assert_int_equal(broken.n, 2);
    assert_int_equal(broken.line, 3);
    assert_non_null(strstr(broken.text, "record 3 "));
    free(text);
    free(path);
}

/* Verify still finds the change after the mirror was rebuilt, until a person declares that the change was intended. */
static void only_a_person_makes_them_anew(void **state)
{
    struct lineage_digests digests;
    struct lineage_verification all = {.n_known = 0};
    struct heard heard = {0};
    size_t n;
    append_rows(*state, 3);
    edit_bytes(*state, "\n001\t", "\n0O1\t");
    struct lineage_store *store = open_store(*state, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_rebuild(store, &err), LINEAGE_OK);
    assert_int_equal(append(store, "behind", true), LINEAGE_OK);
    assert_int_equal(lineage_verify_all(store, &all, hear_finding, &heard, &err), LINEAGE_OK);
    assert_int_equal(all.n_findings, 2); /* the row 001 has another id now, so it is gone, too */
    assert_string_equal(heard.kinds, "gone:0 digest:3 note:0 ");
    assert_string_equal(all.digests.head, "");
    heard = (struct heard){0};
    assert_int_equal(lineage_rebuild_digests(store, &digests, &n, hear_finding, &heard, &err), LINEAGE_OK);
    assert_int_equal(n, 1);
    assert_string_equal(heard.kinds, "digest:3 ");
    assert_int_equal(strlen(digests.head), 64);
    assert_int_equal(digests.kept, digests.records);
    assert_int_equal(lineage_verify(store, &n, NULL, NULL, &err), LINEAGE_OK);
    assert_int_equal(n, 0);
    lineage_store_close(store);
}

static size_t findings_with(const char *dir, const char *known)
{
    struct lineage_known_digest one = {.digest = known};
    struct lineage_verification all = {.known = &one, .n_known = known != NULL};
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_verify_all(store, &all, NULL, NULL, &err), LINEAGE_OK);
    lineage_store_close(store);
    return all.n_findings;
}

/* A forger may change the rows together with all files of the store, but they then do not match a digest that was
 * noted before. */
static void a_noted_digest_cannot_be_forged(void **state)
{
    char head[DIGEST_TEXT];
    append_rows(*state, 2);
    head_of(*state, head);
    append_rows(*state, 2);
    assert_int_equal(findings_with(*state, head), 0);
    edit_bytes(*state, "\n001\t", "\n0O1\t");
    remove(in_dir(*state, DIGESTS));
    removexattr(in_dir(*state, "results.tsv"), "user.lineage.digests");
    remove(in_dir(*state, "lineage.db"));
    append_rows(*state, 1);
    assert_int_equal(findings_with(*state, NULL), 1); /* the copy of this user has 001 */
    assert_int_equal(findings_with(*state, head), 2);
}

static void a_digest_has_64_digits(void **state)
{
    struct lineage_store *store = open_store(*state, LINEAGE_LOWER, NULL);
    static const char *const bad[] = {"", "00", "5e0e0cbb90", "G5e0e0cbb90",
                                      "00000000000000000000000000000000000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct lineage_known_digest one = {.digest = bad[i]};
        struct lineage_verification all = {.known = &one, .n_known = 1};
        assert_int_equal(lineage_verify_all(store, &all, NULL, NULL, &err), LINEAGE_EINVAL);
    }
    lineage_store_close(store);
}

/* ---- the file of digests ---- */

static bool has_note(const char *dir)
{
    return getxattr(in_dir(dir, "results.tsv"), "user.lineage.digests", NULL, 0) >= 0;
}

/* Cuts the last row and its digest off, in place. */
static void cut_both(const char *dir)
{
    static const char *const names[] = {"results.tsv", DIGESTS};
    for (size_t i = 0; i < 2; i++) {
        size_t length;
        char *path = join(dir, names[i]), *text = read_file(path, &length);
        for (length--; length && text[length - 1] != '\n'; length--)
            ;
        write_file(path, text, length);
        free(text);
        free(path);
    }
}

/* Only the attribute of the log shows that rows are missing together with their digests. It also stops the next append from
 * hiding that. */
static void rows_cut_with_their_digests_are_found(void **state)
{
    struct heard heard = {0};
    struct log_digests digests = {.broken = NULL};
    append_rows(*state, 3);
    if (!has_note(*state))
        skip();
    cut_both(*state);
    struct broken broken = check(*state, &digests);
    assert_int_equal(broken.n, 1);
    assert_non_null(strstr(broken.text, "speaks of 4 in"));
    struct lineage_store *store = open_store(*state, LINEAGE_LOWER, &heard);
    assert_int_equal(append(store, "one", true), LINEAGE_OK);
    assert_int_equal(append(store, "two", true), LINEAGE_OK);
    assert_int_equal(heard.n, 2);
    lineage_store_close(store);
    digests = (struct log_digests){.broken = NULL};
    assert_int_equal(check(*state, &digests).n, 1);
}

/* Garbage without a line end could be a line that a kill cut off, and the rows still have the noted digest. */
static void a_file_of_garbage_is_found(void **state)
{
    (void)state;
    static const char *const garbage[] = {"", "x", "2 21", "no digests are here, and no line ends either", "hello\n"};
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        struct log_digests digests = {.broken = NULL};
        char *dir = make_dir();
        append_rows(dir, 3);
        write_file(in_dir(dir, DIGESTS), garbage[i], strlen(garbage[i]));
        assert_int_equal(check(dir, &digests).n, has_note(dir) || i == 4);
        remove_dir(dir);
    }
}

static void a_line_that_was_cut_is_made_again(void **state)
{
    size_t length;
    append_rows(*state, 3);
    char *path = join(*state, DIGESTS), *text = read_file(path, &length);
    for (size_t n = (size_t)(strchr(text, '\n') - text) + 1; n < length; n++) {
        struct log_digests digests = {.broken = NULL};
        write_file(path, text, n);
        assert_int_equal(check(*state, &digests).n, has_note(*state));
        append_rows(*state, 1);
        assert_int_equal(assert_unbroken(*state), 0);
    }
    free(text);
    free(path);
}

/* A process was killed after it wrote the first line and before it set the attribute, so the attribute is missing. */
static void a_first_line_that_was_cut_is_made_again(void **state)
{
    append_rows(*state, 1);
    removexattr(in_dir(*state, "results.tsv"), "user.lineage.digests");
    write_file(in_dir(*state, DIGESTS), "2 21", 4);
    assert_unbroken(*state);
    append_rows(*state, 1);
    assert_int_equal(assert_unbroken(*state), 0);
}

/* On a file system with extended attributes, deleted digests are reported and not made again. A copy of the rows has
 * no attribute, so its digests start anew. */
static void digests_that_are_gone_stay_gone(void **state)
{
    struct heard heard = {0};
    struct log_digests digests = {.broken = NULL};
    struct lineage_digests made;
    size_t n;
    append_rows(*state, 2);
    char *results = join(*state, "results.tsv"), *copy = join(*state, "copy");
    bool noted = getxattr(results, "user.lineage.digests", NULL, 0) >= 0;
    remove(in_dir(*state, DIGESTS));
    if (noted)
        assert_int_equal(check(*state, &digests).n, 1);
    struct lineage_store *store = open_store(*state, LINEAGE_LOWER, &heard);
    assert_int_equal(append(store, "one", true), LINEAGE_OK);
    assert_int_equal(append(store, "two", true), LINEAGE_OK);
    assert_int_equal(heard.n, noted);
    assert_int_equal(file_exists(in_dir(*state, DIGESTS)), !noted);
    assert_int_equal(lineage_rebuild_digests(store, &made, &n, NULL, NULL, &err), LINEAGE_OK);
    assert_int_equal(n, noted);
    assert_int_equal(made.kept, 5);
    lineage_store_close(store);
    assert_int_equal(assert_unbroken(*state), 0);
    copy_file(results, copy);
    assert_int_equal(rename(copy, results), 0);
    remove(in_dir(*state, DIGESTS));
    append_rows(*state, 1);
    assert_int_equal(assert_unbroken(*state), 0);
    free(results);
    free(copy);
    if (!noted)
        skip();
}

static void zeros_of_a_crash_are_dropped(void **state)
{
    static const char zeros[100];
    append_rows(*state, 2);
    FILE *out = fopen(in_dir(*state, DIGESTS), "ab");
    fwrite(zeros, 1, sizeof zeros, out);
    fclose(out);
    assert_unbroken(*state);
    append_rows(*state, 1);
    assert_int_equal(assert_unbroken(*state), 0);
}

static void every_changed_digest_is_found(void **state)
{
    size_t length;
    append_rows(*state, 3);
    char *path = join(*state, DIGESTS), *text = read_file(path, &length);
    for (size_t i = 0; i + 1 < length; i++) { /* without its line end the last line counts as cut off */
        struct log_digests digests = {.broken = NULL};
        text[i] ^= 1;
        write_file(path, text, length);
        text[i] ^= 1;
        if (!check(*state, &digests).n)
            fail_msg("byte %zu", i);
    }
    free(text);
    free(path);
}

/* A damaged last line is not continued, but rows can still be appended. */
static void a_damaged_last_line_is_left_and_said(void **state)
{
    struct heard heard = {0};
    struct log_digests digests = {.broken = NULL};
    size_t before, after;
    append_rows(*state, 2);
    FILE *out = fopen(in_dir(*state, DIGESTS), "ab");
    fputs("hello\n", out);
    fclose(out);
    free(read_file(in_dir(*state, DIGESTS), &before));
    struct lineage_store *store = open_store(*state, LINEAGE_LOWER, &heard);
    assert_int_equal(append(store, "one", true), LINEAGE_OK);
    assert_int_equal(append(store, "two", true), LINEAGE_OK);
    assert_int_equal(heard.n, 1);
    assert_non_null(strstr(heard.text, "rebuild --digests"));
    lineage_store_close(store);
    free(read_file(in_dir(*state, DIGESTS), &after));
    assert_int_equal(before, after);
    assert_int_equal(check(*state, &digests).n, 1);
}

/* A symbolic link is not followed, because digests would then be written elsewhere. */
static void a_link_is_not_followed(void **state)
{
    struct heard heard = {0};
    struct log_digests digests = {.broken = NULL};
    assert_int_equal(symlink("elsewhere", in_dir(*state, DIGESTS)), 0);
    struct lineage_store *store = open_store(*state, LINEAGE_LOWER, &heard);
    assert_int_equal(append(store, "one", true), LINEAGE_OK);
    lineage_store_close(store);
    assert_false(file_exists(in_dir(*state, "elsewhere")));
    assert_int_equal(heard.n, 1);
    assert_int_equal(check(*state, &digests).n, 1);
}

/* ---- the store's own changes, killed and failed at each call ---- */

typedef void prepare_fn(const char *dir);
typedef void act_fn(struct lineage_store *store);

static void nothing(const char *dir)
{
    (void)dir;
}

static void torn_end(const char *dir)
{
    append_rows(dir, 2);
    add_bytes(dir, "009\t2026-01-01T00:00:00Z\ts\t");
}

/* Adds another tool's record with a quote that never closes. The next append replaces that record by line ends. */
static void endless_record(const char *dir)
{
    append_rows(dir, 2);
    add_bytes(dir, "009\t2026-01-01T00:00:00Z\t\"never closed\t\t\n");
    static const struct row theirs[] = {
        {.id = "x", .status = "keep", .metric = "1.0"}, {.id = "y", .status = "keep", .metric = "1.0"}, {.id = NULL}};
    add_rows(dir, theirs);
}

static void header_without_end(const char *dir)
{
    char header[] = HEADER;
    header[sizeof HEADER - 2] = '\0';
    add_bytes(dir, header);
}

static void changed_row(const char *dir)
{
    append_rows(dir, 3);
    edit_bytes(dir, "\n001\t", "\n0O1\t");
}

static void append_one(struct lineage_store *store)
{
    (void)append(store, "a row", true);
}

/* A row with a line end in a cell is written like an import. */
static void append_with_line_end(struct lineage_store *store)
{
    (void)append(store, "a row\nof two lines", true);
}

static void rebuild(struct lineage_store *store)
{
    struct lineage_digests digests;
    size_t n;
    (void)!lineage_rebuild_digests(store, &digests, &n, NULL, NULL, &err);
}

/* Runs act in a child with this fault. Returns false if act makes fewer calls than the fault's number. */
static bool act_with_fault(const char *dir, act_fn *act, struct file_fault fault)
{
    int state;
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct lineage_store *store = NULL;
        struct lineage_open_options options = {.no_mirror = true};
        fs_set_fault(file_fault_strike, &fault);
        if (lineage_store_open(&store, dir, &options, &err) == LINEAGE_OK)
            act(store);
        lineage_store_close(store);
        leave(fault.hit ? 0 : 3);
    }
    assert_int_equal(waitpid(child, &state, 0), child);
    return !WIFEXITED(state) || WEXITSTATUS(state) != 3;
}

static void copy_store(const char *from, const char *to)
{
    char **names = list_dir(from, "");
    for (size_t i = 0; names[i]; i++)
        if (strncmp(names[i], "results.tsv", 11) == 0 || strcmp(names[i], DIGESTS) == 0) {
            char *a = join(from, names[i]), *b = join(to, names[i]);
            copy_file(a, b);
            free(a);
            free(b);
        }
    free_list(names);
}

/* changed: a row did not match its digest before the act, so a finding is allowed after it. */
static void survive(const char *dir, prepare_fn *prepare, act_fn *act, bool changed)
{
    static const int what[] = {0, EIO, FS_FAULT_SHORT};
    prepare(dir);
    for (size_t w = 0; w < sizeof what / sizeof *what; w++)
        for (unsigned n = 1;; n++) {
            char *scratch = make_dir();
            struct log_digests digests = {.broken = NULL};
            copy_store(dir, scratch);
            bool hit = act_with_fault(scratch, act, (struct file_fault){n, what[w], false});
            if (!changed)
                assert_unbroken(scratch);
            else if (check(scratch, &digests).n)
                act_with_fault(scratch, act, (struct file_fault){0});
            append_rows(scratch, 1);
            assert_int_equal(assert_unbroken(scratch), 0);
            remove_dir(scratch);
            if (!hit)
                break;
        }
}

static void a_first_row(void **state)
{
    survive(*state, nothing, append_one, false);
}

static void a_row_behind_a_torn_end(void **state)
{
    survive(*state, torn_end, append_one, false);
}

static void a_row_behind_an_endless_record(void **state)
{
    survive(*state, endless_record, append_one, false);
}

static void a_row_behind_a_header_without_end(void **state)
{
    survive(*state, header_without_end, append_one, false);
}

static void rows_that_are_staged(void **state)
{
    survive(*state, endless_record, append_with_line_end, false);
}

static void digests_made_anew(void **state)
{
    survive(*state, changed_row, rebuild, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_digest_is_of_the_bytes_alone, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(a_lone_cr_waits_for_what_follows, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(each_row_has_its_line, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(what_others_wrote_is_taken_in, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(old_stores_get_digests, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(every_changed_byte_is_found, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(every_cut_is_found, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(two_changes_are_two_findings, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(only_a_person_makes_them_anew, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(a_noted_digest_cannot_be_forged, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(a_digest_has_64_digits, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(a_line_that_was_cut_is_made_again, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(rows_cut_with_their_digests_are_found, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(a_file_of_garbage_is_found, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(a_first_line_that_was_cut_is_made_again, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(digests_that_are_gone_stay_gone, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(zeros_of_a_crash_are_dropped, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(every_changed_digest_is_found, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(a_damaged_last_line_is_left_and_said, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(a_link_is_not_followed, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(a_first_row, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(a_row_behind_a_torn_end, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(a_row_behind_an_endless_record, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(a_row_behind_a_header_without_end, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(rows_that_are_staged, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(digests_made_anew, set_up_dir, tear_down_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
