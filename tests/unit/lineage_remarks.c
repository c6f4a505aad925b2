/* Tests remarks on trials: they are appended under a lock and read by trial, whatever else the file contains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <lineage/remarks.h>

#include "files/fs.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

static const struct row rows[] = {{"000", .status = "keep", .metric = "1"}, {"exp_001", .status = "crash"}, {.id = NULL}};

struct heard_remarks {
    char text[1024];
    size_t most;
};

static bool hear_remark(void *context, const struct lineage_remark *remark)
{
    struct heard_remarks *heard = context;
    size_t used = strlen(heard->text);
    snprintf(heard->text + used, sizeof heard->text - used, "%s/%s/%s|", remark->exp_id, remark->author, remark->text);
    return !heard->most || --heard->most;
}

static const char *remarks_on(struct lineage_store *store, const char *id, size_t most)
{
    static struct heard_remarks heard;
    heard = (struct heard_remarks){.most = most};
    assert_int_equal(lineage_remarks_read(store, id, hear_remark, &heard, &err), LINEAGE_OK);
    return heard.text;
}

static enum lineage_status remark(struct lineage_store *store, const char *id, const char *author, const char *text)
{
    const struct lineage_remark said = {.exp_id = id, .author = author, .text = text};
    return lineage_remark_append(store, &said, &err);
}

static void a_remark_is_kept_with_its_trial(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(remarks_on(store, NULL, 0), ""); /* no file */
    assert_int_equal(remark(store, "000", "ada", "line one\nline \"two\"\t"), LINEAGE_OK);
    assert_int_equal(remark(store, "2", NULL, "x"), LINEAGE_ENOTFOUND);
    assert_int_equal(remark(store, "1", NULL, "out of memory"), LINEAGE_OK);
    assert_int_equal(remark(store, "000", "", "again"), LINEAGE_OK);
    assert_string_equal(remarks_on(store, "000", 0), "000/ada/line one\nline \"two\"\t|000//again|");
    /* The id is spelled as in the trial's row. */
    assert_string_equal(remarks_on(store, "exp_001", 0), "exp_001//out of memory|");
    assert_string_equal(remarks_on(store, NULL, 2), "000/ada/line one\nline \"two\"\t|exp_001//out of memory|");
    lineage_store_close(store);
    remove_dir(dir);
}

static void what_is_no_remark_is_refused(void **state)
{
    (void)state;
    char *dir = make_dir(), *text = malloc(LINEAGE_REMARK_MAX + 2);
    memset(text, 'x', LINEAGE_REMARK_MAX + 1);
    text[LINEAGE_REMARK_MAX + 1] = '\0';
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(remark(store, "000", NULL, ""), LINEAGE_EINVAL);
    assert_int_equal(remark(store, "000", NULL, NULL), LINEAGE_EINVAL);
    assert_int_equal(remark(store, "000", NULL, "\xff"), LINEAGE_EINVAL);
    assert_int_equal(remark(store, "000", "\xc0\x80", "x"), LINEAGE_EINVAL);
    assert_int_equal(remark(store, "000", NULL, text), LINEAGE_ELIMIT);
    assert_int_equal(remark(store, "000", text, "x"), LINEAGE_ELIMIT);
    assert_int_equal(remark(store, NULL, NULL, "x"), LINEAGE_ENOTFOUND);
    assert_false(file_exists(in_dir(dir, "remarks.jsonl")));
    text[LINEAGE_REMARK_MAX] = '\0';
    assert_int_equal(remark(store, "000", NULL, text), LINEAGE_OK);
    free(text);
    lineage_store_close(store);
    remove_dir(dir);
}

/* The other lines come from a killed writer, an editor or another tool. */
static void what_others_left_in_the_file_hides_no_remark(void **state)
{
    (void)state;
    static const char left[] = "\n[1, 2]\n{\"exp_id\": \"000\"}\nnonsense \xff\n"
                               "{\"exp_id\": \"000\", \"text\": \"by hand\", \"more\": 1}\r\n{\"time\":\"2026-1";
    char *dir = make_dir();
    add_rows(dir, rows);
    write_file(in_dir(dir, "remarks.jsonl"), left, sizeof left - 1);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(remarks_on(store, "000", 0), "000//by hand|");
    assert_int_equal(remark(store, "000", NULL, "after the cut"), LINEAGE_OK);
    assert_string_equal(remarks_on(store, "000", 0), "000//by hand|000//after the cut|");
    lineage_store_close(store);
    remove_dir(dir);
}

/* The caller may pass the time. If the file was replaced by a pipe, nothing is written to the pipe. */
static void a_remark_has_a_time_and_a_file(void **state)
{
    (void)state;
    struct lineage_remark said = {.timestamp = "\xff", .exp_id = "000", .text = "x"};
    char *dir = make_dir();
    size_t length;
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_remark_append(store, &said, &err), LINEAGE_EINVAL);
    said.timestamp = "2026-01-02T03:04:05Z";
    assert_int_equal(lineage_remark_append(store, &said, &err), LINEAGE_OK);
    char *file = read_file(in_dir(dir, "remarks.jsonl"), &length);
    assert_non_null(strstr(file, "\"time\":\"2026-01-02T03:04:05Z\""));
    free(file);
    assert_int_equal(remove(in_dir(dir, "remarks.jsonl")), 0);
    assert_int_equal(mkfifo(in_dir(dir, "remarks.jsonl"), 0644), 0);
    assert_int_equal(lineage_remark_append(store, &said, &err), LINEAGE_EIO);
    assert_int_equal(lineage_remarks_read(store, NULL, hear_remark, NULL, &err), LINEAGE_EINVAL);
    lineage_store_close(store);
    remove_dir(dir);
}

/* A line that could be written only in part is removed. */
static int cut_writes(void *context, const char *call)
{
    return strcmp(call, context) != 0 ? 0 : strcmp(call, "write") == 0 ? FS_FAULT_SHORT : EIO;
}

static void what_fails_leaves_the_file_as_it_was(void **state)
{
    (void)state;
    static char *const calls[] = {"write", "fdatasync", "flock", "read"};
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(remark(store, "000", "", "first"), LINEAGE_OK);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        fs_set_fault(cut_writes, calls[i]);
        enum lineage_status status = remark(store, "000", "", "second");
        fs_set_fault(NULL, NULL);
        assert_true(status == LINEAGE_EIO || status == LINEAGE_ELOCKED);
        assert_true(err.text[0]);
        assert_string_equal(remarks_on(store, NULL, 0), "000//first|");
    }
    lineage_store_close(store);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_remark_is_kept_with_its_trial), cmocka_unit_test(what_is_no_remark_is_refused),
        cmocka_unit_test(what_others_left_in_the_file_hides_no_remark), cmocka_unit_test(a_remark_has_a_time_and_a_file),
        cmocka_unit_test(what_fails_leaves_the_file_as_it_was)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
