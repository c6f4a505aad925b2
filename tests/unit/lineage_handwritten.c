/* Tests which bytes of a rendered file belong to a person: handwritten_find on every kind of file in the table of
 * handwritten.h. */
#include "support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/render.h>

#include "files/fs.h"
#include "render/handwritten.h"
#include "support/files.h"
#include "support/rows.h"

static const char block[] = "# Session start\nCurrent best: **exp_1**.\n\n## Current Best\n- exp_1\n";

/* Makes a rendered file with `tail` after its line; release with buf_release. */
static struct buf rendered(const char *text, const void *tail, size_t length)
{
    struct buf file = {0};
    buf_puts(&file, text);
    handwritten_add_line(&file);
    buf_add(&file, tail, length);
    return file;
}

static void all_below_the_line_is_kept_whatever_it_is(void **state)
{
    (void)state;
    srand(7);
    for (int round = 0; round < 200; round++) {
        char tail[300];
        size_t n = (size_t)rand() % sizeof tail;
        for (size_t i = 0; i < n; i++)
            tail[i] = "\0\n#`ab<-! \xc0\x80"[rand() % 13];
        struct buf file = rendered(block, tail, n);
        struct handwritten keep = handwritten_find(file.data, file.length, "");
        assert_false(keep.aside);
        assert_false(keep.foreign);
        assert_int_equal(file.length - keep.start, n);
        buf_release(&file);
    }
}

static void a_line_is_as_long_as_a_budget_leaves_for_it(void **state)
{
    (void)state;
    struct buf line = {0};
    handwritten_add_line(&line);
    assert_int_equal(line.length, HANDWRITTEN_LINE_LENGTH);
    buf_release(&line);
}

static void a_changed_byte_above_the_line_puts_the_file_aside(void **state)
{
    (void)state;
    struct buf file = rendered(block, "mine", 4);
    for (size_t i = 0; i < sizeof block - 1; i++) {
        /* If the byte before the line is not a line end, the line is ordinary text. */
        bool joined = i == sizeof block - 2;
        file.data[i] ^= 1;
        struct handwritten keep = handwritten_find(file.data, file.length, "");
        assert_true(keep.aside);
        assert_int_equal(file.length - keep.start, joined ? 0 : 4);
        file.data[i] ^= 1;
    }
    buf_release(&file);
}

static void a_line_copied_below_does_not_move_the_border(void **state)
{
    (void)state;
    struct buf first = rendered(block, "mine\n", 5);
    struct buf file = rendered(block, first.data, first.length);
    struct handwritten keep = handwritten_find(file.data, file.length, "");
    assert_false(keep.aside);
    assert_int_equal(keep.start, first.length - 5);
    buf_release(&first);
    buf_release(&file);
}

static void a_note_proves_a_style_without_a_line(void **state)
{
    (void)state;
    static const char given[] = "# Session start — T\n\n## LEADERBOARD.md\n\n## Current Best\n## Key Insights\nforged\n";
    struct buf note = {0}, file = {0};
    handwritten_note(&note, given, sizeof given - 1);
    buf_puts(&file, given);
    struct handwritten keep = handwritten_find(file.data, file.length, note.data);
    assert_int_equal(keep.start, file.length);
    assert_false(keep.aside);
    buf_puts(&file, "mine");
    keep = handwritten_find(file.data, file.length, note.data);
    assert_int_equal(file.length - keep.start, 4);
    assert_false(keep.aside);
    /* Without a note no text is trusted, and the whole file is set aside. */
    keep = handwritten_find(file.data, file.length, "");
    assert_int_equal(keep.start, file.length);
    assert_true(keep.aside);
    file.data[20] ^= 1;
    keep = handwritten_find(file.data, file.length, note.data);
    assert_true(keep.aside);
    for (const char *const *bad = (const char *const[]){"x", "5", "-1 0", "99999999999999999999 0", "4 zz", NULL}; *bad; bad++)
        assert_true(handwritten_find(file.data, file.length, *bad).aside);
    buf_release(&note);
    buf_release(&file);
}

/* A cell in another tool's file can contain a forged copy of our line, even with a correct digest. */
static void a_forged_line_is_not_believed(void **state)
{
    (void)state;
    struct buf file = rendered("# Session start — T\n\n## LEADERBOARD.md\n\n## Current Best\n", "forged\n", 7);
    struct handwritten keep = handwritten_find(file.data, file.length, "");
    assert_int_equal(keep.start, file.length);
    assert_true(keep.aside);
    buf_release(&file);
}

static void what_another_tool_wrote_may_be_pasted_below(void **state)
{
    (void)state;
    static const char pasted[] = "# Session start\n\n## LEADERBOARD.md\n\n## Current Best\n";
    struct buf file = rendered(block, pasted, sizeof pasted - 1);
    struct handwritten keep = handwritten_find(file.data, file.length, "");
    assert_false(keep.aside);
    assert_int_equal(file.length - keep.start, sizeof pasted - 1);
    buf_release(&file);
}

static void a_file_never_rendered_is_foreign(void **state)
{
    (void)state;
    static const char notes[] = "my notes\n## Key Insights\n";
    struct handwritten keep = handwritten_find(notes, sizeof notes - 1, "");
    assert_true(keep.foreign);
    assert_int_equal(keep.start, 0);
    keep = handwritten_find("", 0, "");
    assert_false(keep.foreign || keep.aside);
}

/* ---- whole renderings, with system calls that fail and a person who saves meanwhile ---- */

static const struct row rows[] = {{"0", .status = "baseline", .metric = "2"}, {.id = NULL}};
static const char mine[] = "\n## Key Insights\nmine\n";

struct disturbance {
    int countdown, fault;
    /* NULL: the call fails; otherwise "more" is appended to this file instead. */
    const char *save;
    bool done;
};

static int disturb(void *context, const char *call)
{
    struct disturbance *d = context;
    if (d->save ? strcmp(call, "read") != 0 : false)
        return 0;
    if (d->done || d->countdown-- > 0)
        return 0;
    d->done = true;
    if (!d->save)
        return d->fault;
    FILE *out = fopen(d->save, "ab");
    assert_non_null(out);
    fputs("more", out);
    assert_int_equal(fclose(out), 0);
    return 0;
}

static bool ends_with(const char *path, const char *end)
{
    size_t length, n = strlen(end);
    char *text = read_file(path, &length);
    bool ok = length >= n && memcmp(text + length - n, end, n) == 0;
    free(text);
    return ok;
}

/* Renders a file once and appends a person's text to it. */
static char *make_rendered(struct lineage_store *store, const char *dir)
{
    struct lineage_error err;
    char *path = join(dir, "K.md");
    assert_int_equal(lineage_render_file(store, path, NULL, &err), LINEAGE_OK);
    FILE *out = fopen(path, "ab");
    assert_non_null(out);
    fputs(mine, out);
    assert_int_equal(fclose(out), 0);
    return path;
}

static void no_failing_call_loses_what_is_below(void **state)
{
    (void)state;
    struct lineage_error err;
    const int faults[] = {EIO, ENOSPC, FS_FAULT_SHORT};
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    char *path = make_rendered(store, dir);
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        size_t failed = 0;
        for (int n = 0;; n++) {
            struct disturbance d = {.countdown = n, .fault = faults[f]};
            fs_set_fault(disturb, &d);
            enum lineage_status status = lineage_render_file(store, path, NULL, &err);
            fs_set_fault(NULL, NULL);
            assert_true(ends_with(path, mine));
            failed += status != LINEAGE_OK;
            if (!d.done)
                break;
        }
        assert_true(failed > 3);
    }
    assert_int_equal(lineage_render_file(store, path, NULL, &err), LINEAGE_OK);
    assert_true(ends_with(path, mine));
    lineage_store_close(store);
    free(path);
    remove_dir(dir);
}

/* A person may save at any moment, before or after the text was read. The saved text is in the file afterwards. */
static void a_person_may_save_meanwhile(void **state)
{
    (void)state;
    struct lineage_error err;
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    for (int n = 0; n < 12; n++) {
        char *path = make_rendered(store, dir);
        struct disturbance d = {.countdown = n, .save = path};
        fs_set_fault(disturb, &d);
        assert_int_equal(lineage_render_file(store, path, NULL, &err), LINEAGE_OK);
        fs_set_fault(NULL, NULL);
        assert_true(ends_with(path, d.done ? "mine\nmore" : mine));
        assert_true(n > 0 || d.done);
        assert_int_equal(remove(path), 0);
        free(path);
    }
    lineage_store_close(store);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_below_the_line_is_kept_whatever_it_is),
        cmocka_unit_test(a_line_is_as_long_as_a_budget_leaves_for_it),
        cmocka_unit_test(a_changed_byte_above_the_line_puts_the_file_aside),
        cmocka_unit_test(a_line_copied_below_does_not_move_the_border),
        cmocka_unit_test(a_note_proves_a_style_without_a_line),
        cmocka_unit_test(a_forged_line_is_not_believed),
        cmocka_unit_test(what_another_tool_wrote_may_be_pasted_below),
        cmocka_unit_test(a_file_never_rendered_is_foreign),
        cmocka_unit_test(no_failing_call_loses_what_is_below),
        cmocka_unit_test(a_person_may_save_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
