/* Tests cli_print: the kinds of its formats, and that a line reaches an unbuffered stream in one write. */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

struct writes {
    char text[512];
    size_t length, n;
};

static ssize_t count(void *cookie, const char *bytes, size_t n)
{
    struct writes *writes = cookie;
    assert_true(writes->length + n < sizeof writes->text);
    memcpy(writes->text + writes->length, bytes, n);
    writes->length += n;
    writes->n++;
    return (ssize_t)n;
}

/* A stream like standard error. */
static FILE *unbuffered(struct writes *writes)
{
    FILE *out = fopencookie(writes, "w", (cookie_io_functions_t){.write = count});
    assert_non_null(out);
    assert_int_equal(setvbuf(out, NULL, _IONBF, 0), 0);
    return out;
}

static void kinds(void **state)
{
    struct writes writes = {0};
    FILE *out = unbuffered(&writes);
    (void)state;
    cli_print(out, "%s|%.3s|%.*s|%.0s|%c|%d|%u|%zu|%lu|%llu|%.2f|%f|%.3g|%g|%%|", "a\tb", "abcdef", 2, "xyz", "a\nb", 'c', -1, 2U,
              (size_t)3, 4UL, 5ULL, 1.005, 0.5, 1234.5, 0.25);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(writes.text, "a\tb|ab…|x…|a⏎b|c|-1|2|3|4|5|1.00|0.500000|1.23e+03|0.25|%|");
}

static void one_write(void **state)
{
    struct writes writes = {0};
    FILE *out = unbuffered(&writes);
    (void)state;
    cli_print(out, "lineage: %s:%" PRIu64 ": %.60s%s%.0s\n", "results.tsv", (uint64_t)7, "014", ": ",
              "the score is not a number");
    cli_print(out, "%s", "");
    assert_int_equal(fclose(out), 0);
    assert_string_equal(writes.text, "lineage: results.tsv:7: 014: the score is not a number\n");
    assert_int_equal(writes.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(one_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
