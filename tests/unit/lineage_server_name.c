/* Tests the names of stores on servers: the text that libpq gets, the store that is meant, the names that are refused,
 * and the local directory. */
#include "support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files/fs.h"
#include "format/arena.h"
#include "postgres/server_name.h"
#include "support/files.h"
#include "support/scarce_memory.h"

static struct lineage_error err;
static unsigned countdown;

bool memory_strikes(void)
{
    return countdown && !--countdown;
}

bool piece_strikes(void)
{
    return memory_strikes();
}

static void must_be(const char *text, const char *uri, const char *store)
{
    struct server_name name;
    assert_true(server_name_is(text));
    if (server_name_parse(&name, text, &err) != LINEAGE_OK)
        fail_msg("%s: %s", text, err.text);
    assert_string_equal(name.uri, uri);
    assert_string_equal(name.shown, text);
    assert_string_equal(name.store, store);
    server_name_release(&name);
    assert_null(name.uri);
}

static void the_store_is_taken_out_of_the_name(void **unused)
{
    (void)unused;
    must_be("postgres://h/db", "postgresql://h/db", "default");
    must_be("postgresql://h/db/", "postgresql://h/db", "default");
    must_be("postgres://h", "postgresql://h", "default");
    must_be("postgres://h/", "postgresql://h/", "default");
    must_be("postgres://", "postgresql://", "default");
    must_be("postgres://h//one", "postgresql://h/", "one");
    must_be("postgres://a@h:5433/db/one", "postgresql://a@h:5433/db", "one");
    must_be("postgres://h/db/one?sslmode=require&x=1", "postgresql://h/db?sslmode=require&x=1", "one");
    must_be("postgres://h/db?store=one&sslmode=require", "postgresql://h/db?sslmode=require", "one");
    must_be("postgresql:///?service=s&store=a.b_c-9", "postgresql:///?service=s", "a.b_c-9");
    must_be("postgres://h?", "postgresql://h", "default");
    must_be("postgres://h/db?&&x=1&", "postgresql://h/db?x=1", "default");
    must_be("postgres://h/db?storey=1&passwords=2&store", "postgresql://h/db?storey=1&passwords=2&store", "default");
    must_be("postgres://%2Ftmp%2Fs:5432/db/one", "postgresql://%2Ftmp%2Fs:5432/db", "one");
    /* After the host part, text with @ and : is not a password. */
    must_be("postgres://h/db/one?x=a@b:c", "postgresql://h/db?x=a@b:c", "one");
}

static void must_not_be(const char *text, const char *why)
{
    struct server_name name;
    assert_int_equal(server_name_parse(&name, text, &err), LINEAGE_EINVAL);
    if (!strstr(err.text, why) || strstr(err.text, "secret"))
        fail_msg("%s: %s", text, err.text);
    assert_null(name.uri);
    assert_null(name.shown);
}

static void a_password_is_refused_and_not_repeated(void **unused)
{
    (void)unused;
    assert_false(server_name_is("runs/postgres://h/db"));
    assert_false(server_name_is("postgres:/h/db"));
    must_not_be("postgres://alice:secret@h/db", "a password does not belong");
    must_not_be("postgres://:@h/db", "a password does not belong");
    must_not_be("postgres://h/db?password=secret", "a password does not belong");
    must_not_be("postgres://h/db?x=1&sslpassword=secret", "a password does not belong");
    must_not_be("postgres://h/db?p%61ssword=secret", "in plain letters");
    must_not_be("postgres://h/db?x=1&%70assword", "in plain letters");
    must_not_be("postgres://h/db one", "as %XX");
    must_not_be("postgres://h/db\x7f", "as %XX");
}

/* lineage.json may name anything as its log. */
static void another_text_is_refused(void **unused)
{
    (void)unused;
    must_not_be("nowhere", "'nowhere' does not name a store on a server: postgres://");
    must_not_be("", "does not name a store");
    must_not_be("http://h/db", "does not name a store");
}

static void a_store_has_a_plain_name(void **unused)
{
    char text[160] = "postgres://h/db/", store[SERVER_STORE_MAX + 1];
    (void)unused;
    must_not_be("postgres://h/db/.one", "'.one' is not the name of a store");
    must_not_be("postgres://h/db/a/b", "'a/b' is not the name");
    must_not_be("postgres://h/db/a%20b", "'a%20b' is not the name");
    must_not_be("postgres://h/db?store=", "a server: letters");
    must_not_be("postgres://h/db?store=a/b", "'a/b'");
    memset(store, 'a', sizeof store);
    store[SERVER_STORE_MAX - 1] = '\0';
    strcat(text, store);
    must_be(text, "postgresql://h/db", store);
    strcat(text, "a");
    must_not_be(text, "(63 at most)");
}

static void a_name_that_does_not_fit_into_memory_is_none(void **unused)
{
    struct server_name name;
    unsigned refused = 0;
    (void)unused;
    for (bool over = false; !over;) {
        countdown = refused + 1;
        enum lineage_status status = server_name_parse(&name, "postgres://a@h/db/one?x=1&store=two", &err);
        over = countdown > 0;
        countdown = 0;
        assert_int_equal(status, over ? LINEAGE_OK : LINEAGE_ENOMEM);
        refused += !over;
        server_name_release(&name);
    }
    assert_true(refused > 3);
}

/* ---- the directory ---- */

#define NAME "postgres://a@h/db/one"

static int set_up(void **state)
{
    *state = make_dir();
    return 0;
}

static int tear_down(void **state)
{
    unsetenv("XDG_STATE_HOME");
    remove_dir(*state);
    return 0;
}

static void one_name_has_one_directory(void **state)
{
    char *first, *again, *other;
    size_t length;
    struct stat st;
    setenv("XDG_STATE_HOME", *state, 1);
    assert_int_equal(server_name_make_dir(&first, NAME, &err), LINEAGE_OK);
    assert_int_equal(strncmp(first, *state, strlen(*state)), 0);
    assert_non_null(strstr(first, "/lineage/one-"));
    assert_int_equal(stat(first, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    char *settings = join(first, "lineage.json"), *text = read_file(settings, &length);
    assert_string_equal(text, "{\n  \"log\": \"" NAME "\"\n}\n");
    write_file(settings, "{}", 2);
    assert_int_equal(server_name_make_dir(&again, NAME, &err), LINEAGE_OK);
    assert_string_equal(first, again);
    free(text);
    text = read_file(settings, &length);
    assert_string_equal(text, "{}"); /* a person's change is kept */
    assert_int_equal(server_name_make_dir(&other, "postgresql://h/db/one", &err), LINEAGE_OK);
    assert_string_not_equal(first, other);
    free(first), free(again), free(other), free(settings), free(text);
}

static void without_a_state_directory_it_is_in_the_home(void **state)
{
    char *dir, *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL, *below = join(*state, ".local/state/lineage/one-");
    setenv("XDG_STATE_HOME", "not/absolute", 1);
    setenv("HOME", *state, 1);
    assert_int_equal(server_name_make_dir(&dir, NAME, &err), LINEAGE_OK);
    assert_int_equal(strncmp(dir, below, strlen(below)), 0);
    free(dir);
    setenv("HOME", "", 1);
    assert_int_equal(server_name_make_dir(&dir, NAME, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "neither XDG_STATE_HOME nor HOME"));
    assert_null(dir);
    unsetenv("HOME");
    assert_int_equal(server_name_make_dir(&dir, NAME, &err), LINEAGE_EINVAL);
    assert_int_equal(server_name_make_dir(&dir, "postgres://h/db/a/b", &err), LINEAGE_EINVAL);
    if (home)
        setenv("HOME", home, 1);
    free(home);
    free(below);
}

static void a_file_in_the_way_is_named(void **state)
{
    char *dir, *lineage = join(*state, "lineage");
    setenv("XDG_STATE_HOME", *state, 1);
    write_file(lineage, "", 0);
    assert_int_equal(server_name_make_dir(&dir, NAME, &err), LINEAGE_EIO);
    assert_non_null(strstr(err.text, lineage));
    assert_null(dir);
    free(lineage);
}

static int fail_call(void *context, const char *call)
{
    unsigned *left = context;
    (void)call;
    return *left && !--*left ? EIO : 0;
}

/* Whichever call fails, the next attempt completes the work. */
static void what_fails_is_said_and_mended_by_the_next(void **state)
{
    unsigned failed = 0;
    for (unsigned n = 1, over = 0; !over; n++) {
        char number[16], *dir, *settings;
        unsigned left = n;
        size_t length;
        snprintf(number, sizeof number, "%u", n);
        char *home = join(*state, number);
        setenv("XDG_STATE_HOME", home, 1);
        fs_set_fault(fail_call, &left);
        enum lineage_status status = server_name_make_dir(&dir, NAME, &err);
        fs_set_fault(NULL, NULL);
        over = left > 0;
        failed += status != LINEAGE_OK;
        assert_true(status == LINEAGE_OK || !dir);
        free(dir);
        assert_int_equal(server_name_make_dir(&dir, NAME, &err), LINEAGE_OK);
        settings = join(dir, "lineage.json");
        char *text = read_file(settings, &length);
        assert_non_null(strstr(text, NAME));
        free(dir), free(settings), free(text), free(home);
    }
    assert_true(failed > 5);
}

static void without_memory_there_is_no_directory_and_then_there_is(void **state)
{
    char *dir;
    unsigned refused = 0;
    setenv("XDG_STATE_HOME", *state, 1);
    for (bool over = false; !over;) {
        countdown = refused + 1;
        enum lineage_status status = server_name_make_dir(&dir, NAME, &err);
        over = countdown > 0;
        countdown = 0;
        assert_int_equal(status, over ? LINEAGE_OK : LINEAGE_ENOMEM);
        refused += !over;
        free(dir);
    }
    assert_true(refused > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_store_is_taken_out_of_the_name),
        cmocka_unit_test(a_password_is_refused_and_not_repeated),
        cmocka_unit_test(another_text_is_refused),
        cmocka_unit_test(a_store_has_a_plain_name),
        cmocka_unit_test(a_name_that_does_not_fit_into_memory_is_none),
        cmocka_unit_test_setup_teardown(one_name_has_one_directory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_state_directory_it_is_in_the_home, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_in_the_way_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_fails_is_said_and_mended_by_the_next, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_memory_there_is_no_directory_and_then_there_is, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
