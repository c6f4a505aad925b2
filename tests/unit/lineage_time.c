/* Tests dates in ISO 8601 and in words, and which dates are refused. */
#include "support/unit.h"

#include <string.h>
#include <time.h>

#include <lineage/time.h>

static struct lineage_error err;

/* A Thursday. */
static int64_t now(void)
{
    int64_t seconds = 0;
    assert_int_equal(lineage_time_parse(&seconds, "2026-05-07T15:30:10Z", 0, &err), LINEAGE_OK);
    return seconds;
}

static void assert_reads(const char *text, const char *wanted)
{
    char out[LINEAGE_TIME_MAX];
    int64_t seconds = 0;
    if (lineage_time_parse(&seconds, text, now(), &err) != LINEAGE_OK)
        fail_msg("%s", err.text);
    if (strcmp(lineage_time_format(out, seconds), wanted) != 0)
        fail_msg("'%s' is %s, not %s", text, out, wanted);
}

static void assert_refused(const char *text, const char *because)
{
    int64_t seconds = 42;
    if (lineage_time_parse(&seconds, text, now(), &err) != LINEAGE_EINVAL)
        fail_msg("'%s' was read", text);
    if (!strstr(err.text, because))
        fail_msg("'%s': '%s' lacks '%s'", text, err.text, because);
    assert_true(seconds == 42);
}

static void iso_8601_in_its_usual_forms(void **state)
{
    (void)state;
    assert_reads("2026-05-07", "2026-05-07T00:00:00Z");
    assert_reads("20260507", "2026-05-07T00:00:00Z");
    assert_reads("2026-05", "2026-05-01T00:00:00Z");
    assert_reads("2026", "2026-01-01T00:00:00Z");
    assert_reads("2026-127", "2026-05-07T00:00:00Z");
    assert_reads("2026127", "2026-05-07T00:00:00Z");
    assert_reads("2024-366", "2024-12-31T00:00:00Z");
    assert_reads("2026-W19-4", "2026-05-07T00:00:00Z");
    assert_reads("2026-W19", "2026-05-04T00:00:00Z");
    assert_reads("2026W194", "2026-05-07T00:00:00Z");
    assert_reads("2020-W53-7", "2021-01-03T00:00:00Z");
    assert_reads("2026-05-07T18", "2026-05-07T18:00:00Z");
    assert_reads("2026-05-07 18:05", "2026-05-07T18:05:00Z");
    assert_reads("20260507T180507Z", "2026-05-07T18:05:07Z");
    assert_reads("2026-05-07t18:05:07.999z", "2026-05-07T18:05:07Z");
    assert_reads("2026-05-07T24:00", "2026-05-08T00:00:00Z");
    assert_reads("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z");
}

static void zones_are_taken_off(void **state)
{
    (void)state;
    assert_reads("2026-05-07T01:00+02:00", "2026-05-06T23:00:00Z");
    assert_reads("2026-05-07T01:00+0530", "2026-05-06T19:30:00Z");
    assert_reads("2026-05-07T23:00-02", "2026-05-08T01:00:00Z");
    assert_reads("20260507T0100+02", "2026-05-06T23:00:00Z");
}

static void words_count_from_now(void **state)
{
    (void)state;
    assert_reads("now", "2026-05-07T15:30:10Z");
    assert_reads("today", "2026-05-07T00:00:00Z");
    assert_reads("Yesterday", "2026-05-06T00:00:00Z");
    assert_reads("tomorrow", "2026-05-08T00:00:00Z");
    assert_reads("yesterday 18:00", "2026-05-06T18:00:00Z");
    assert_reads("thursday", "2026-05-07T00:00:00Z");
    assert_reads("fri", "2026-05-01T00:00:00Z");
    assert_reads("Wednesday 06:00", "2026-05-06T06:00:00Z");
    assert_reads("3 days ago", "2026-05-04T15:30:10Z");
    assert_reads("1 day ago", "2026-05-06T15:30:10Z");
    assert_reads("36 hours", "2026-05-06T03:30:10Z");
    assert_reads("2w", "2026-04-23T15:30:10Z");
    assert_reads("12h", "2026-05-07T03:30:10Z");
    assert_reads("90 min ago", "2026-05-07T14:00:10Z");
    assert_reads("3 months ago", "2026-02-07T15:30:10Z");
    assert_reads("1 year ago", "2025-05-07T15:30:10Z");
    assert_reads("@1778112000", "2026-05-07T00:00:00Z");
}

static void months_keep_to_the_calendar(void **state)
{
    (void)state;
    char out[LINEAGE_TIME_MAX];
    int64_t end_of_march = 0, seconds = 0;
    assert_int_equal(lineage_time_parse(&end_of_march, "2024-03-31", 0, &err), LINEAGE_OK);
    assert_int_equal(lineage_time_parse(&seconds, "1 month ago", end_of_march, &err), LINEAGE_OK);
    assert_string_equal(lineage_time_format(out, seconds), "2024-02-29T00:00:00Z");
}

/* If day and month cannot be told apart, or the form is unknown, the message shows what to write instead. */
static void other_dates_are_refused(void **state)
{
    (void)state;
    assert_refused("07.05.2026", "2026-05-07 or 2026-07-05");
    assert_refused("05/07/2026", "2026-07-05 or 2026-05-07");
    assert_refused("13.05.2026", "write 2026-05-13");
    assert_refused("05/13/2026", "write 2026-05-13");
    assert_refused("07.05.26", "YYYY-MM-DD");
    assert_refused("99.99.2026", "YYYY-MM-DD");
    static const char *const none[] = {"",
                                       "2026-13",
                                       "2026-02-29",
                                       "2026-00-10",
                                       "2026-5-7",
                                       "202605",
                                       "2026-0507",
                                       "2026-05-07x",
                                       "2026-05-07T",
                                       "2026-05-07T25",
                                       "2026-05-07T18:60",
                                       "2026-05-07T18:05:61",
                                       "2026-05-07T24:01",
                                       "2026-05-07T18:05+24:00",
                                       "2026-05-07T18:05:07.Z",
                                       "2026-W54-1",
                                       "2025-W53",
                                       "2026-W19-8",
                                       "2026-366",
                                       "2026-000",
                                       "soon",
                                       "3 moons ago",
                                       "5 m",
                                       "days ago",
                                       "-3 days",
                                       "yesterdays",
                                       "last week",
                                       "monday morning",
                                       "@",
                                       "1778112000",
                                       "9999999999 days ago",
                                       "3000 years ago",
                                       "nan"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_refused(none[i], "is not a date");
    assert_int_equal(lineage_time_parse(&(int64_t){0}, NULL, 0, NULL), LINEAGE_EINVAL);
}

/* Every day of 800 years is formatted and read back, and agrees with libc. */
static void the_calendar_is_that_of_libc(void **state)
{
    (void)state;
    char out[LINEAGE_TIME_MAX], wanted[LINEAGE_TIME_MAX];
    for (int64_t day = -200000; day < 100000; day++) {
        struct tm tm;
        time_t at = (time_t)(day * 86400 + 3723);
        int64_t seconds = 0;
        assert_non_null(gmtime_r(&at, &tm));
        strftime(wanted, sizeof wanted, "%Y-%m-%dT%H:%M:%SZ", &tm);
        assert_string_equal(lineage_time_format(out, at), wanted);
        assert_int_equal(lineage_time_parse(&seconds, out, 0, &err), LINEAGE_OK);
        assert_true(seconds == at);
        strftime(wanted, sizeof wanted, "%G-W%V-%u", &tm);
        assert_int_equal(lineage_time_parse(&seconds, wanted, 0, &err), LINEAGE_OK);
        assert_true(seconds == at - 3723);
    }
}

static void instants_beyond_the_years_are_moved_in(void **state)
{
    (void)state;
    char out[LINEAGE_TIME_MAX];
    assert_string_equal(lineage_time_format(out, INT64_MAX), "9999-12-31T23:59:59Z");
    assert_string_equal(lineage_time_format(out, INT64_MIN), "0000-03-01T00:00:00Z");
    assert_reads("0000-01-01", "0000-03-01T00:00:00Z");
}

/* Each text contains one mistake, at a different place. */
static void almost_dates_are_refused(void **state)
{
    static const char *const wrong[] = {"2026-W1",
                                        "2026-W00",
                                        "2026-W01-0",
                                        "2026-W01-8",
                                        "2026-W01-",
                                        "2026W01x",
                                        "2026-000",
                                        "2026-366",
                                        "2026-13",
                                        "2026-00",
                                        "2026-1",
                                        "202605",
                                        "2026-0507",
                                        "20260532",
                                        "2026-05-00",
                                        "2026-05-3",
                                        "2026-05-32",
                                        "2026-02-30",
                                        "2026-05-07T1",
                                        "2026-05-07T18:",
                                        "2026-05-07T18:5",
                                        "2026-05-07T18:05:",
                                        "2026-05-07T18:05:7",
                                        "2026-05-07T1805x",
                                        "2026-05-07T18:05:07.",
                                        "2026-05-07T18:05:61",
                                        "2026-05-07T18:60",
                                        "2026-05-07T25",
                                        "2026-05-07T24:01",
                                        "2026-05-07T18:05+2",
                                        "2026-05-07T18:05+02:",
                                        "2026-05-07T18:05+24",
                                        "2026-05-07T18:05+02:60",
                                        "2026-05-07T18:05Zx",
                                        "now then",
                                        "3",
                                        "3 parsecs",
                                        "3 days hence",
                                        "3 days ago or so",
                                        "1234567890 days",
                                        "@",
                                        "@1234567890123",
                                        "@12x",
                                        "ss",
                                        "3 ss",
                                        "",
                                        "x"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(wrong[i], "is not a date");
    assert_int_equal(lineage_time_parse(&(int64_t){0}, NULL, now(), &err), LINEAGE_EINVAL);
}

static void more_forms_of_the_standard(void **state)
{
    (void)state;
    assert_reads("2026-w19-4", "2026-05-07T00:00:00Z");
    assert_reads("2026-05-07T18:05:07,5", "2026-05-07T18:05:07Z");
    assert_reads("2 MONTHS", "2026-03-07T15:30:10Z");
    assert_reads("2 DAYS ago", "2026-05-05T15:30:10Z");
    assert_reads("5s", "2026-05-07T15:30:05Z");
}

/* A date in another country's form can be read in two ways, in one way, or not at all. */
static void dates_of_other_countries_are_told_how_to_be_written(void **state)
{
    (void)state;
    assert_refused("05/07/2026", "2026-07-05 or 2026-05-07");
    assert_refused("7.7.2026", "write 2026-07-07");
    assert_refused("25.12.2026", "write 2026-12-25");
    assert_refused("12/25/2026", "write 2026-12-25");
    assert_refused("25.25.2026", "is not a date; write YYYY");
    assert_refused("32.5.2026", "is not a date; write YYYY");
    assert_refused("5.32.2026", "is not a date; write YYYY");
    assert_refused("5.7-2026", "is not a date; write YYYY");
    assert_refused("5:7:2026", "is not a date; write YYYY");
    assert_refused("0.7.2026", "is not a date; write YYYY");
    assert_refused("5.0.2026", "is not a date; write YYYY");
    assert_refused("5.7.0", "is not a date; write YYYY");
    assert_refused("2026/05/07", "is not a date; write YYYY");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(iso_8601_in_its_usual_forms),
                                       cmocka_unit_test(zones_are_taken_off),
                                       cmocka_unit_test(words_count_from_now),
                                       cmocka_unit_test(months_keep_to_the_calendar),
                                       cmocka_unit_test(other_dates_are_refused),
                                       cmocka_unit_test(the_calendar_is_that_of_libc),
                                       cmocka_unit_test(instants_beyond_the_years_are_moved_in),
                                       cmocka_unit_test(almost_dates_are_refused),
                                       cmocka_unit_test(more_forms_of_the_standard),
                                       cmocka_unit_test(dates_of_other_countries_are_told_how_to_be_written)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
