/* Tests the stored code of trials: what a diff is about, the piece of notes, and files and diffs by digest, also if
 * somebody damaged them or put something else in their place. */
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/code.h>
#include <lineage/render.h>
#include <lineage/verify.h>

#include "code/code_objects.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

/* ---- diffs ---- */

static void assert_stat(const char *diff, const char *want)
{
    struct lineage_diffstat stat;
    char text[LINEAGE_DIFFSTAT_MAX];
    lineage_diffstat_read(&stat, diff, strlen(diff));
    assert_string_equal(lineage_diffstat_format(text, &stat), want);
}

static void a_diff_is_described_by_its_size_file_and_heading(void **state)
{
    (void)state;
    assert_stat("--- a/train.py\n+++ b/train.py\n@@ -3,4 +3,6 @@ linear decay\n a\n-b\n+c\n+d\n+e\n f\n g\n",
                "+3 -1 in train.py: linear decay");
    assert_stat("--- train.py\t2026-01-01\n+++ train.py\t2026-01-02\n@@ -1 +1 @@\n-lr = 1\n+# decay: lr = 2\n",
                "+1 -1 in train.py: decay: lr = 2");
    assert_stat("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n", "+0 -1 in x: gone");
    assert_stat("diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n", "+0 -0 in run.sh");
    assert_stat("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\ndiff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1,2 @@ "
                "f()\n 1\n+x\n",
                "+2 -1 in a and 1 more file: f()");
}

/* A removed line `-- x` looks like the head of a file, and an added `++ y` too. */
static void lines_of_a_hunk_are_not_names(void **state)
{
    (void)state;
    assert_stat("--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n 1\n", "+1 -1 in q.sql: ++ y");
}

static void any_text_is_a_diff(void **state)
{
    (void)state;
    assert_stat("", "+0 -0");
    assert_stat("hello", "+0 -0");
    assert_stat("@@ -1,99999999999999999999 +1 @@ x\n+a", "+1 -0: x");
    assert_stat("--- a/e\n+++ b/e\n@@ -1 +1 @@ a;b\x01\x1b[31m\xff\n-x\n+y\n", "+1 -1 in e: a,b  [31m?");
    char *big = malloc(200000);
    memset(big, 'x', 199999);
    big[199999] = '\0';
    memcpy(big, "--- a/", 6);
    assert_stat(big, "+0 -0");
    memcpy(big, "@@ -1 +1 @@ \xc3\xa9", 14);
    struct lineage_diffstat stat;
    lineage_diffstat_read(&stat, big, 199999);
    assert_true(strlen(stat.heading) < sizeof stat.heading && strlen(stat.heading) > 100);
    free(big);
}

/* ---- the piece ---- */

#define DIGEST "0123456789abcdef0123456789abcdef"

static void assert_note(const char *notes, const char *want)
{
    struct lineage_code_note note = {.change = "unchanged"};
    char text[LINEAGE_CODE_NOTE_MAX];
    bool found = lineage_code_note_parse(&note, notes);
    assert_string_equal(found ? lineage_code_note_format(text, &note) : "none", want);
    assert_true(found || strcmp(note.change, "unchanged") == 0);
}

static void the_first_whole_piece_names_the_code(void **state)
{
    (void)state;
    assert_note("lr=1; code " DIGEST, "code " DIGEST);
    assert_note(" code " DIGEST ", +3 -1 in train.py: linear decay ; prose", "code " DIGEST ", +3 -1 in train.py: linear decay");
    assert_note("code " DIGEST "; code ffffffffffffffffffffffffffffffff", "code " DIGEST);
    assert_note(NULL, "none");
    assert_note("code review; code " DIGEST "0; code 0123; code " DIGEST " x; code " DIGEST ",", "none");
    assert_note("the code " DIGEST, "none");
}

static void assert_commit(const char *notes, const char *want)
{
    struct lineage_commit_note note = {.change = "unchanged"};
    char text[LINEAGE_CODE_NOTE_MAX];
    bool found = lineage_commit_note_parse(&note, notes);
    assert_string_equal(found ? lineage_commit_note_format(text, &note) : "none", want);
    assert_true(found || strcmp(note.change, "unchanged") == 0);
}

static void the_first_whole_piece_names_the_commit(void **state)
{
    (void)state;
    assert_commit("lr=1; commit 0123456789ab", "commit 0123456789ab");
    assert_commit("commit 0123456789ab, +3 -1 in train.py: def get_lr(step): ; commit ffffffffffff",
                  "commit 0123456789ab, +3 -1 in train.py: def get_lr(step):");
    assert_commit("commit to it; commit 0123456789abc; commit 0123456789a; commit 0123456789ab,", "none");
    assert_commit("code " DIGEST, "none");
    assert_note("commit 0123456789ab", "none");
    assert_commit(NULL, "none");
}

/* ---- files by digest ---- */

struct place {
    char *dir, *source;
    struct lineage_store *store;
};

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    p->dir = make_dir();
    p->source = make_dir();
    p->store = open_store(p->dir, LINEAGE_LOWER, NULL);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    lineage_store_close(p->store);
    remove_dir(p->dir);
    remove_dir(p->source);
    free(p);
    return 0;
}

static void put(const struct place *p, const char *name, const char *text)
{
    char *path = join(p->source, name);
    write_file(path, text, strlen(text));
    free(path);
}

static const char *const named[] = {"run.sh", "train.py"};

/* Stores the source directory as the code of a trial, and appends its row. */
static void keep(const struct place *p, const char *id, const char *diff, const struct lineage_code *parent)
{
    char note[LINEAGE_CODE_NOTE_MAX];
    const struct lineage_code_source source = {p->source, diff, parent, named, 2};
    assert_int_equal(lineage_code_keep(note, p->store, &source, &err), LINEAGE_OK);
    const struct row rows[] = {{id, .status = "discard", .metric = "1", .notes = note}, {.id = NULL}};
    add_rows(p->dir, rows);
}

static struct lineage_code load(const struct place *p, const char *id)
{
    struct lineage_trial row = {0};
    struct lineage_code code;
    assert_int_equal(lineage_find(p->store, id, &row, &err), LINEAGE_OK);
    assert_int_equal(lineage_code_load(&code, p->store, &row, &err), LINEAGE_OK);
    lineage_trial_release(&row);
    return code;
}

static void assert_file(const char *dir, const char *name, const char *text, unsigned mode)
{
    struct stat st;
    char *path = join(dir, name), *there;
    size_t length;
    there = read_file(path, &length);
    assert_string_equal(there, text);
    assert_true(stat(path, &st) == 0 && (st.st_mode & 0777) == mode);
    free(there);
    free(path);
}

/* The number of entries of a directory other than . and .. */
static size_t n_in(const char *dir)
{
    char **names = list_dir(dir, "");
    size_t n = 0;
    while (names[n])
        n++;
    free_list(names);
    return n - 2;
}

static size_t n_objects(const struct place *p)
{
    char *place = join(p->dir, "lineage_code");
    size_t n = n_in(place);
    free(place);
    return n;
}

static void keep_two(const struct place *p)
{
    char *script = join(p->source, "run.sh"), *sub = join(p->source, "lib");
    put(p, "train.py", "lr = 1\n");
    put(p, "run.sh", "true\n");
    assert_true(chmod(script, 0755) == 0);
    assert_true(mkdir(sub, 0755) == 0);
    keep(p, "000", NULL, NULL);
    struct lineage_code parent = load(p, "000");
    put(p, "train.py", "lr = 2\n");
    put(p, "lib/new.py", "");
    keep(p, "001", "--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@ faster\n-lr = 1\n+lr = 2\n", &parent);
    lineage_code_release(&parent);
    free(script);
    free(sub);
}

static void every_trial_gives_its_files_back(void **state)
{
    const struct place *p = *state;
    char *out = make_dir(), *text;
    size_t length;
    struct lineage_trial row = {0};
    keep_two(p);
    struct lineage_code code = load(p, "001");
    assert_int_equal(code.n_files, 3);
    assert_string_equal(code.files[0].name, "lib/new.py");
    assert_int_equal(code.n_diffs, 1);
    assert_true(code.changed);
    assert_int_equal(lineage_code_write(p->store, &code, out, &err), LINEAGE_OK);
    assert_file(out, "train.py", "lr = 2\n", 0644);
    assert_file(out, "run.sh", "true\n", 0755);
    assert_file(out, "lib/new.py", "", 0644);
    lineage_code_release(&code);

    assert_int_equal(lineage_find(p->store, "001", &row, &err), LINEAGE_OK);
    assert_int_equal(lineage_code_diff(&text, &length, p->store, &row, &err), LINEAGE_OK);
    assert_true(strstr(text, "+lr = 2") && strlen(text) == length);
    lineage_free(text);
    lineage_trial_release(&row);
    assert_int_equal(lineage_find(p->store, "000", &row, &err), LINEAGE_OK);
    assert_int_equal(lineage_code_diff(&text, &length, p->store, &row, &err), LINEAGE_ENOTFOUND);
    lineage_trial_release(&row);
    remove_dir(out);
}

/* Objects: two versions of train.py, run.sh, the empty file, the diff, two lists. */
static void equal_objects_are_stored_once(void **state)
{
    const struct place *p = *state;
    keep_two(p);
    assert_int_equal(n_objects(p), 7);
    struct lineage_code code = load(p, "001");
    keep(p, "002", NULL, &code); /* the same code by another trial: the same list */
    assert_int_equal(n_objects(p), 7);
    struct lineage_code same = load(p, "002");
    assert_string_equal(same.digest, code.digest);
    assert_false(same.changed);
    lineage_code_release(&same);
    lineage_code_release(&code);
}

static void a_file_that_a_diff_removed_stays_removed(void **state)
{
    const struct place *p = *state;
    char *script = join(p->source, "run.sh");
    keep_two(p);
    struct lineage_code parent = load(p, "001");
    assert_int_equal(parent.n_gone, 0);
    assert_int_equal(unlink(script), 0);
    keep(p, "002", "x", &parent);
    lineage_code_release(&parent);
    parent = load(p, "002");
    assert_int_equal(parent.n_gone, 1);
    assert_string_equal(parent.gone[0], "run.sh");
    lineage_code_release(&parent);
    free(script);
}

/* ---- damage ---- */

struct findings {
    size_t n;
    char text[2048];
};

static void hear(void *context, const struct lineage_finding *finding)
{
    struct findings *f = context;
    size_t used = strlen(f->text);
    f->n += strcmp(finding->kind, "code") == 0;
    snprintf(f->text + used, sizeof f->text - used, "%s %s: %s\n", finding->kind, finding->exp_id, finding->text);
}

/* Verifies the store: n findings about code, one of them with the text. */
static void assert_found(const struct place *p, size_t n, const char *text)
{
    struct findings f = {0};
    size_t all;
    assert_int_equal(lineage_verify(p->store, &all, hear, &f, &err), LINEAGE_OK);
    if (f.n != n || !strstr(f.text, text))
        fail_msg("%zu findings, not %zu with '%s':\n%s", f.n, n, text, f.text);
}

static char *object(const struct place *p, const char *digest)
{
    char *place = join(p->dir, "lineage_code"), *path = join(place, digest);
    free(place);
    return path;
}

static void verify_finds_what_is_wrong(void **state)
{
    const struct place *p = *state;
    char *out = make_dir();
    keep_two(p);
    assert_found(p, 0, "");
    struct lineage_code code = load(p, "001");
    char *file = object(p, code.files[2].digest), *diff = object(p, code.diffs[0]), *list = object(p, code.digest);

    write_file(file, "lr = 9\n", 7); /* damaged: neither read nor written anywhere */
    assert_found(p, 1, "code 001: lineage_code/");
    assert_found(p, 1, "is damaged");
    assert_int_equal(lineage_code_write(p->store, &code, out, &err), LINEAGE_ECORRUPT);
    assert_int_equal(n_in(out), 0); /* nothing was written */
    put(p, "train.py", "lr = 2\n"); /* storing the same bytes again repairs it */
    keep(p, "002", NULL, &code);
    assert_found(p, 0, "");

    assert_int_equal(unlink(file), 0);
    assert_found(p, 1, "is gone");
    assert_int_equal(lineage_code_write(p->store, &code, out, &err), LINEAGE_ENOTFOUND);
    assert_int_equal(symlink("/etc/passwd", file), 0); /* a link is not followed */
    assert_found(p, 1, "is a link");
    assert_int_equal(lineage_code_write(p->store, &code, out, &err), LINEAGE_ECORRUPT);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkfifo(file, 0600), 0); /* a pipe blocks nobody */
    assert_found(p, 1, "is not a file");
    assert_int_equal(unlink(file), 0);
    keep(p, "003", NULL, &code);
    assert_found(p, 0, "");

    assert_int_equal(unlink(diff), 0);
    assert_found(p, 1, "is gone");
    write_file(diff, "other", 5);
    assert_found(p, 1, "is damaged");
    assert_int_equal(truncate(diff, (off_t)CODE_OBJECT_BYTES + 1), 0);
    assert_found(p, 1, "is not a file of at most");
    assert_int_equal(unlink(diff), 0);
    assert_int_equal(unlink(list), 0);
    assert_found(p, 1, "is gone"); /* without the list nobody knows what else is missing */
    lineage_code_release(&code);
    free(file);
    free(diff);
    free(list);
    remove_dir(out);
}

static void verify_names_foreign_files(void **state)
{
    const struct place *p = *state;
    keep_two(p);
    char *readme = object(p, "README"), *unnamed = object(p, DIGEST), *temporary = object(p, "." DIGEST ".1-1.tmp");
    write_file(readme, "x", 1);
    write_file(temporary, "x", 1); /* of a writer that was killed */
    assert_found(p, 1, "lineage_code/README is not of this store");
    write_file(unnamed, "x", 1); /* no row names it, but its digest does not match its name */
    assert_found(p, 2, DIGEST " is damaged");
    free(readme);
    free(unnamed);
    free(temporary);
}

/* A directory that is a link leads out of the store: nothing is read there and nothing is written. */
static void the_place_is_not_a_link(void **state)
{
    const struct place *p = *state;
    char *place = join(p->dir, "lineage_code"), *elsewhere = make_dir(), note[LINEAGE_CODE_NOTE_MAX];
    const struct lineage_code_source source = {p->source, NULL, NULL, named, 2};
    put(p, "train.py", "lr = 1\n");
    assert_int_equal(symlink(elsewhere, place), 0);
    assert_int_equal(lineage_code_keep(note, p->store, &source, &err), LINEAGE_EIO);
    assert_int_equal(n_in(elsewhere), 0);
    assert_found(p, 1, "lineage_code is not a directory of this store");
    free(place);
    remove_dir(elsewhere);
}

/* ---- hostile lists ---- */

static enum lineage_status load_list(const struct place *p, const char *text)
{
    char digest[LINEAGE_CODE_DIGEST_MAX], notes[64];
    struct lineage_code code;
    assert_int_equal(code_object_put(digest, p->store, text, strlen(text), &err), LINEAGE_OK);
    snprintf(notes, sizeof notes, "code %s", digest);
    const struct lineage_trial trial = {.exp_id = "000", .notes = notes};
    enum lineage_status status = lineage_code_load(&code, p->store, &trial, &err);
    lineage_code_release(&code);
    return status;
}

static void a_list_leads_nowhere_else(void **state)
{
    static const char *const bad[] = {"",
                                      "hello",
                                      "lineage code 2\n",
                                      "lineage code 1\nfile\n",
                                      "lineage code 1\nfile 644 " DIGEST " \n",
                                      "lineage code 1\nfile 644 " DIGEST " /etc/passwd\n",
                                      "lineage code 1\nfile 644 " DIGEST " ../x\n",
                                      "lineage code 1\nfile 644 " DIGEST " a/../../x\n",
                                      "lineage code 1\nfile 644 " DIGEST " a//b\n",
                                      "lineage code 1\nfile 644 " DIGEST " a/\n",
                                      "lineage code 1\nfile 644 " DIGEST " .\n",
                                      "lineage code 1\nfile 4755 " DIGEST " x\n",
                                      "lineage code 1\nfile 6a4 " DIGEST " x\n",
                                      "lineage code 1\nfile 644 ../" DIGEST " x\n",
                                      "lineage code 1\nfile 644 " DIGEST " x\nfile 644 " DIGEST " x\n",
                                      "lineage code 1\nfile 644 " DIGEST " y\nfile 644 " DIGEST " x\n",
                                      "lineage code 1\nfile 644 " DIGEST " a\x01\n",
                                      "lineage code 1\nfile 644 " DIGEST " \xff\n",
                                      "lineage code 1\ngone ../x\n",
                                      "lineage code 1\ndiff x\n",
                                      "lineage code 1\ndiff " DIGEST "\nfile 644 " DIGEST " x\n",
                                      "lineage code 1\nmore\n"};
    const struct place *p = *state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (load_list(p, bad[i]) != LINEAGE_ECORRUPT)
            fail_msg("list %zu is accepted: %s", i, bad[i]);
    assert_int_equal(load_list(p, "lineage code 1\nfile 644 " DIGEST " a/b\ngone x\ndiff " DIGEST "\n"), LINEAGE_OK);
    assert_int_equal(load_list(p, "lineage code 1\n"), LINEAGE_OK);
}

/* Files of a list are written over links and not through them. */
static void writing_follows_no_link(void **state)
{
    const struct place *p = *state;
    char *out = make_dir(), *elsewhere = make_dir(), *victim = join(elsewhere, "victim");
    char *file = join(out, "train.py"), *sub = join(out, "lib");
    keep_two(p);
    struct lineage_code code = load(p, "001");
    write_file(victim, "mine", 4);
    assert_int_equal(symlink(victim, file), 0);
    assert_int_equal(symlink(elsewhere, sub), 0);
    assert_int_equal(lineage_code_write(p->store, &code, out, &err), LINEAGE_EIO); /* lib leads elsewhere */
    assert_int_equal(unlink(sub), 0);
    assert_int_equal(lineage_code_write(p->store, &code, out, &err), LINEAGE_OK);
    assert_file(out, "train.py", "lr = 2\n", 0644);
    assert_file(elsewhere, "victim", "mine", 0644);
    lineage_code_release(&code);
    free(victim);
    free(file);
    free(sub);
    remove_dir(out);
    remove_dir(elsewhere);
}

/* ---- limits ---- */

static enum lineage_status try_keep(const struct place *p, const char *diff)
{
    char note[LINEAGE_CODE_NOTE_MAX];
    const struct lineage_code_source source = {p->source, diff, NULL, NULL, 0};
    return lineage_code_keep(note, p->store, &source, &err);
}

static void no_trial_fills_the_store(void **state)
{
    const struct place *p = *state;
    char *big = join(p->source, "big"), *odd = join(p->source, "a\nb"), *link = join(p->source, "link");
    write_file(big, "", 0);
    assert_int_equal(truncate(big, (off_t)LINEAGE_CODE_FILE_BYTES), 0);
    assert_int_equal(try_keep(p, NULL), LINEAGE_OK);
    assert_int_equal(truncate(big, (off_t)LINEAGE_CODE_FILE_BYTES + 1), 0);
    assert_int_equal(try_keep(p, NULL), LINEAGE_ELIMIT);
    assert_int_equal(unlink(big), 0);
    write_file(odd, "", 0);
    assert_int_equal(try_keep(p, NULL), LINEAGE_EINVAL);
    assert_int_equal(unlink(odd), 0);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    assert_int_equal(try_keep(p, NULL), LINEAGE_EINVAL);
    assert_int_equal(unlink(link), 0);
    char *diff = malloc(LINEAGE_CODE_DIFF_BYTES + 2);
    memset(diff, 'x', LINEAGE_CODE_DIFF_BYTES + 1);
    diff[LINEAGE_CODE_DIFF_BYTES + 1] = '\0';
    assert_int_equal(try_keep(p, diff), LINEAGE_ELIMIT);
    free(diff);
    for (int i = 0; i < LINEAGE_CODE_FILES_MAX + 1; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        put(p, name, "");
    }
    assert_int_equal(try_keep(p, NULL), LINEAGE_ELIMIT);
    free(big);
    free(odd);
    free(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_diff_is_described_by_its_size_file_and_heading),
        cmocka_unit_test(lines_of_a_hunk_are_not_names),
        cmocka_unit_test(any_text_is_a_diff),
        cmocka_unit_test(the_first_whole_piece_names_the_commit),
        cmocka_unit_test(the_first_whole_piece_names_the_code),
        cmocka_unit_test_setup_teardown(every_trial_gives_its_files_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_objects_are_stored_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_a_diff_removed_stays_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(verify_finds_what_is_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(verify_names_foreign_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_place_is_not_a_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_leads_nowhere_else, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writing_follows_no_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_trial_fills_the_store, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
