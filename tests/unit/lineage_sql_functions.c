/* Compares the bounded functions of `lineage sql` with SQLite's own, whose place they take. */
#include "support/unit.h"

#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "questions/questions.h"

/* The answer as SQL text (quote), which tells NULL, texts and blobs apart. */
static void ask(sqlite3 *db, const char *expression, char *answer, int size)
{
    sqlite3_stmt *stmt = NULL;
    char *text = sqlite3_mprintf("SELECT quote(%s)", expression);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        sqlite3_snprintf(size, answer, "%s", sqlite3_column_text(stmt, 0));
    else
        sqlite3_snprintf(size, answer, "error: %s", sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    sqlite3_free(text);
}

static void they_answer_as_sqlite_does(void **state)
{
    static const char *const expressions[] = {"instr('abcabc', 'c')",
                                              "instr('abc', '')",
                                              "instr('', 'a')",
                                              "instr('', '')",
                                              "instr(NULL, 'a')",
                                              "instr('a', NULL)",
                                              "instr('äöü€😀x', 'x')",
                                              "instr('äöü', 'ö')",
                                              "instr(x'c3a4c3b6', x'b6')",
                                              "instr(12345, 34)",
                                              "instr(x'', x'')",
                                              "instr(x'61', '')",
                                              "replace('abcabc', 'b', 'XY')",
                                              "replace('aaa', 'aa', 'b')",
                                              "replace('abc', '', 'x')",
                                              "replace('', 'a', 'x')",
                                              "replace('abc', 'abc', '')",
                                              "replace(NULL, 'a', 'b')",
                                              "replace('a', NULL, 'b')",
                                              "replace('a', 'b', NULL)",
                                              "replace(121, 1, 3)",
                                              "replace('äö', 'ö', 'o')",
                                              "trim('  a  ', ' ')",
                                              "ltrim('xxaxx', 'x')",
                                              "rtrim('xxaxx', 'x')",
                                              "trim('äaä', 'ä')",
                                              "trim('xyaxy', 'yx')",
                                              "trim('xx', 'x')",
                                              "trim('', 'x')",
                                              "trim('x', '')",
                                              "trim(NULL, 'x')",
                                              "trim('x', NULL)",
                                              "trim(121, 1)",
                                              "rtrim('ä€', '€')",
                                              "ltrim('€ä', 'ä')",
                                              "trim('öä', 'ä')",
                                              "trim('  a  ')"};
    sqlite3 *theirs = NULL, *ours = NULL;
    char expected[2048], got[2048];
    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &theirs), SQLITE_OK);
    assert_int_equal(sqlite3_open(":memory:", &ours), SQLITE_OK);
    assert_int_equal(sql_add_functions(ours, NULL), SQLITE_OK);
    assert_int_equal(sql_add_functions(ours, NULL), SQLITE_OK);
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        ask(theirs, expressions[i], expected, sizeof expected);
        ask(ours, expressions[i], got, sizeof got);
        if (strcmp(got, expected) != 0)
            fail_msg("%s is %s, in SQLite %s", expressions[i], got, expected);
    }
    sqlite3_close(theirs);
    sqlite3_close(ours);
}

static void a_size_beyond_the_longest_value_is_an_error(void **state)
{
    sqlite3 *db = NULL;
    char got[2048];
    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sql_add_functions(db, NULL), SQLITE_OK);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1000);
    ask(db, "replace(printf('%.900c', 'a'), 'a', 'bb')", got, sizeof got);
    assert_string_equal(got, "error: string or blob too big");
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_answer_as_sqlite_does),
        cmocka_unit_test(a_size_beyond_the_longest_value_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
