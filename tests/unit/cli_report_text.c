/* Tests the short ways to write numbers (report/picture.h) and texts (report/html_escape.h) of a page: a value for each border. */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "report/html_escape.h"
#include "report/picture.h"

static void numbers(void **state)
{
    static const struct {
        double value;
        int decimals;
        const char *text;
    } cases[] = {{0, 0, "0"},
                 {0, 9, "0"},
                 {-0.04, 1, "0"},
                 {0.04, 1, "0"},
                 {0.05, 1, "0.1"},
                 {-0.06, 1, "-0.1"},
                 {0.25, 1, "0.3"},
                 {0.96, 1, "1"},
                 {-1, 0, "-1"},
                 {100, 0, "100"},
                 {100, 1, "100"},
                 {120.5, 1, "120.5"},
                 {10.04, 1, "10"},
                 {1.05, 2, "1.05"},
                 {1.0625, 12, "1.0625"},
                 {0.00123456789, 11, "0.00123456789"},
                 {999.96, 1, "1000"},
                 {999999999.4, 0, "999999999"},
                 {1e15, 0, "1000000000000000"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[DECIMAL_MAX];
        const size_t n = decimal_text(text, cases[i].value, cases[i].decimals);
        if (n != strlen(cases[i].text) || memcmp(text, cases[i].text, n) != 0)
            fail_msg("%.17g is '%.*s', not '%s'", cases[i].value, (int)n, text, cases[i].text);
    }
}

static void must_write(const char *text, size_t max, void (*write)(FILE *, const char *, size_t), const char *right)
{
    char *written = NULL;
    size_t size;
    FILE *out = open_memstream(&written, &size);
    assert_non_null(out);
    write(out, text, max);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(written, right);
    free(written);
}

static void texts(void **state)
{
    static const struct {
        const char *text;
        size_t max;
        const char *html, *json;
    } cases[] = {{"", 0, "", "\"\""},
                 {" plain~", 0, " plain~", "\" plain~\""},
                 {"a&", 0, "a&amp;", "\"a\\u0026\""},
                 {"a<", 0, "a&lt;", "\"a\\u003c\""},
                 {"a>", 0, "a&gt;", "\"a\\u003e\""},
                 {"a\"", 0, "a&quot;", "\"a\\\"\""},
                 {"a'", 0, "a&#39;", "\"a\\u0027\""},
                 {"a`", 0, "a&#96;", "\"a`\""},
                 {"a\\", 0, "a\\", "\"a\\\\\""},
                 {"plain", 5, "plain", "\"plain\""},
                 {"plain", 4, "plai…", "\"plai…\""},
                 {"plain<", 5, "plain…", "\"plain…\""},
                 {"plai\u00f1s", 5, "plai\u00f1…", "\"plai\u00f1…\""},
                 {"plain\u0301s", 5, "plain…", "\"plain…\""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        must_write(cases[i].text, cases[i].max, html_text, cases[i].html);
        must_write(cases[i].text, cases[i].max, html_json_string, cases[i].json);
    }
    static const char *const controls[] = {"a\x1f", "a\x7f", "a\n"};
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
        char *written = NULL;
        size_t size;
        FILE *out = open_memstream(&written, &size);
        assert_non_null(out);
        html_text(out, controls[i], 0);
        assert_int_equal(fclose(out), 0);
        assert_null(strpbrk(written, "\x1f\x7f\n"));
        free(written);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
