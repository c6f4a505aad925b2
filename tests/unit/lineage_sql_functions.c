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
    static const char *const formats[] = {"%d",     "%5d|", "%-5d|",  "%05d", "%+d",     "% d",       "%,d",     "%.3d", "%8.3d|",
                                          "%lld",   "%ld",  "%i",     "%u",   "%x",      "%#x",       "%X",      "%o",   "%#o",
                                          "%p",     "%r",   "%f",     "%.2f", "%10.2f|", "%-10.2f|",  "%010.2f", "%e",   "%.3E",
                                          "%g",     "%G",   "%!.17g", "%!f",  "%s",      "%10s|",     "%-10s|",  "%.2s", "%!.2s",
                                          "%8.2s|", "%c",   "%.3c",   "%5c|", "%-5c|",   "%q",        "%Q",      "%w",   "%.2q",
                                          "%z",     "%%",   "100%",   "a%nb", "%y",      "%d and %s", "%",       "",     "plain",
                                          "%5%|",   "%#Q",  "%.0f",   "%.f",  "%.d",     "%s%s%s%s",  "%j",      "%l",   "%5"};
    static const char *const values[] = {"",
                                         ", 7",
                                         ", -7",
                                         ", 12345678",
                                         ", 3.14159",
                                         ", 1e300",
                                         ", -0.0",
                                         ", NULL",
                                         ", 'it''s'",
                                         ", 'äöü€😀'",
                                         ", ''",
                                         ", x'414243'",
                                         ", 9223372036854775807",
                                         ", '12abc', 'x'"};
    static const char *const expressions[] = {"printf()",
                                              "printf(NULL)",
                                              "printf('%*d|', 5, 7)",
                                              "printf('%*d|', -5, 7)",
                                              "printf('%.*f', 3, 3.14159)",
                                              "printf('%*.*f|', 9, 3, 3.14159)",
                                              "printf('%.*f', -3, 3.14159)",
                                              "printf('%*d')",
                                              "printf('%.*c', 4, 'ab')",
                                              "format('%.*s', 2, 'abc')",
                                              "printf(12)",
                                              "instr('abcabc', 'c')",
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
    assert_int_equal(sql_bound_functions(ours), SQLITE_OK);
    assert_int_equal(sql_bound_functions(ours), SQLITE_OK);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            char expression[200];
            sqlite3_snprintf(sizeof expression, expression, "printf('%s'%s)", formats[i], values[k]);
            ask(theirs, expression, expected, sizeof expected);
            ask(ours, expression, got, sizeof got);
            if (strcmp(got, expected) != 0)
                fail_msg("%s is %s, in SQLite %s", expression, got, expected);
        }
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        ask(theirs, expressions[i], expected, sizeof expected);
        ask(ours, expressions[i], got, sizeof got);
        if (strcmp(got, expected) != 0)
            fail_msg("%s is %s, in SQLite %s", expressions[i], got, expected);
    }
    sqlite3_close(theirs);
    sqlite3_close(ours);
}

/* Patterns and texts of few letters, so that parts occur in each other; with bytes that are not UTF-8 and NULs. */
static const char *random_text(char *out, uint64_t *seed, size_t most, const char *const *letters, size_t n)
{
    size_t length = 0;
    out[0] = '\0';
    for (size_t i = (*seed = *seed * 6364136223846793005u + 1442695040888963407u) >> 33; i % (most + 1); i--) {
        const char *letter = letters[(*seed = *seed * 6364136223846793005u + 1442695040888963407u) >> 33 & (n - 1)];
        length += (size_t)sprintf(out + length, "%s", letter);
        if (length > 100)
            break;
    }
    return out;
}

/* Binds the texts as bytes, so that no quoting is in between. */
static void ask_pattern(sqlite3 *db, const char *sql, const char *pattern, const char *text, char *answer, int size)
{
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, pattern, -1, SQLITE_STATIC);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        sqlite3_snprintf(size, answer, "%s", sqlite3_column_text(stmt, 0));
    else
        sqlite3_snprintf(size, answer, "error: %s", sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
}

static void patterns_match_as_in_sqlite(void **state)
{
    static const char *const in_pattern[] = {"a", "b", "A", "%", "_",  "%",        "*",    "?",
                                             "[", "]", "^", "-", "\\", "\xc3\xa4", "\x80", "ab"};
    static const char *const in_text[] = {"a", "b", "A", "B", "ab", "\xc3\xa4", "\x80", "]"};
    static const char *const statements[] = {"SELECT ?1 LIKE ?2", "SELECT ?1 GLOB ?2", "SELECT ?1 LIKE ?2 ESCAPE '\\'",
                                             "SELECT ?1 LIKE ?2 ESCAPE '%'", "SELECT ?1 LIKE ?2 ESCAPE 'a'"};
    static const char *const expressions[] = {
        "'abc' LIKE NULL",
        "NULL LIKE 'a'",
        "'a' LIKE 'A' ESCAPE NULL",
        "'a' LIKE 'a' ESCAPE 'xy'",
        "'a' LIKE 'a' ESCAPE ''",
        "123 LIKE '1%'",
        "'1' GLOB 1",
        "x'6162' LIKE 'A_'",
        "'\xc3\x84' LIKE '\xc3\xa4'",
        "'' LIKE ''",
        "'' GLOB '*'",
        "'a' GLOB '[^]]'",
        "']' GLOB '[]]'",
        "'b' GLOB '[a-c]'",
        "'-' GLOB '[a-]'",
        "'\xc3\xb6' GLOB '[\xc3\xa4-\xc3\xbc]'",
        "'x' GLOB '[a'",
        "'100%' LIKE '100\\%' ESCAPE '\\'",
        "like('a%', 'abc')",
        "glob('a*', 'abc')",
        "'aXbXc' LIKE 'a%b%c'",
        "printf('%.3000c', 'x') || 'y' LIKE '%xy'",
        "printf('%.100c', 'ab') GLOB '*' || printf('%.64c', 'a') || '*'",
        "printf('%.200c', 'a') LIKE '%' || printf('%.130c', 'a') || '%' || printf('%.65c', 'a')"};
    sqlite3 *theirs = NULL, *ours = NULL;
    char expected[2048], got[2048], pattern[128], text[128];
    uint64_t seed = 1;
    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &theirs), SQLITE_OK);
    assert_int_equal(sqlite3_open(":memory:", &ours), SQLITE_OK);
    assert_int_equal(sql_bound_functions(ours), SQLITE_OK);
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        ask(theirs, expressions[i], expected, sizeof expected);
        ask(ours, expressions[i], got, sizeof got);
        if (strcmp(got, expected) != 0)
            fail_msg("%s is %s, in SQLite %s", expressions[i], got, expected);
    }
    for (int i = 0; i < 100000; i++) {
        const char *sql = statements[i % 5];
        random_text(pattern, &seed, 9, in_pattern, 16);
        random_text(text, &seed, 12, in_text, 8);
        ask_pattern(theirs, sql, pattern, text, expected, sizeof expected);
        ask_pattern(ours, sql, pattern, text, got, sizeof got);
        if (strcmp(got, expected) != 0)
            fail_msg("%s: '%s' and '%s' give %s, in SQLite %s", sql, text, pattern, got, expected);
    }
    sqlite3_close(theirs);
    sqlite3_close(ours);
}

static void a_size_beyond_the_longest_value_is_an_error(void **state)
{
    static const char *const expressions[] = {"printf('%.*c', 2000000000, 'x')",
                                              "printf('%.2000000000c', 'x')",
                                              "printf('%99999999999999999999d', 1)",
                                              "printf('%*d', -9223372036854775807 - 1, 1)",
                                              "printf('%.2000000000f', 1.0)",
                                              "printf('%.1000c%s', 'x', 'y')",
                                              "replace(printf('%.900c', 'a'), 'a', 'bb')"};
    sqlite3 *db = NULL;
    char got[2048];
    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sql_bound_functions(db), SQLITE_OK);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1000);
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        ask(db, expressions[i], got, sizeof got);
        assert_string_equal(got, "error: string or blob too big");
    }
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_answer_as_sqlite_does),
        cmocka_unit_test(patterns_match_as_in_sqlite),
        cmocka_unit_test(a_size_beyond_the_longest_value_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
