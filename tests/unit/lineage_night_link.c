/* Tests the part of notes that says which trial of a night a row records. */
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

#include <lineage/notes.h>

static void assert_link(const char *notes, const char *want)
{
    struct lineage_night_link link;
    char got[512] = "";
    if (lineage_night_link_parse(&link, notes))
        snprintf(got, sizeof got, "%s|%s|%llx", link.sweep, link.trial, (unsigned long long)link.key);
    assert_string_equal(got, want);
}

static void a_night_is_a_whole_piece(void **state)
{
    (void)state;
    assert_link(NULL, "");
    assert_link("alpha=0.3; night ladder, trial v1d seed=2, key 00ab00000000000f; EM 0.3", "ladder|v1d seed=2|ab00000000000f");
    assert_link("night a, trial b, key 0000000000000001 ;night c, trial d, key 0000000000000002", "c|d|2");
    assert_link("night a, b, trial c, trial d, key e, key 0000000000000001", "a, b|c, trial d, key e|1");
    assert_link("night , trial , key 0000000000000001", "||1");
}

static void what_is_said_about_a_night_is_no_link(void **state)
{
    (void)state;
    assert_link("as in night a, trial b, key 0000000000000001", "");
    assert_link("night a, trial b, key 0000000000000001 again", "");
    assert_link("night a, trial b, key 000000000000001", "");
    assert_link("night a, trial b, key 00000000000000001", "");
    assert_link("night a, trial b, key 000000000000000A", "");
    assert_link("night a; trial b, key 0000000000000001", "");
    assert_link("night a, key 0000000000000001", "");
    assert_link("night with a long name, no other, key 0000000000000001", "");
    assert_link("night with a long name, trial b key, 0000000000000001", "");
    assert_link("night with a long name, no, key 0000000000000001, trial b", "");
    assert_link("night with a, kez 0000000000000001, trial , key 0000000000000001", "with a, kez 0000000000000001||1");
    assert_link("night with a long name, key, trial, key 00000000000, trial 1", "");
}

static void what_a_night_writes_reads_back(void **state)
{
    (void)state;
    struct lineage_night_link link;
    char piece[LINEAGE_NIGHT_LINK_MAX], name[600];
    memset(name, 'x', sizeof name);
    memcpy(name + LINEAGE_NIGHT_SWEEP_MAX - 2, "\xc3\xa9", 2); /* é, which must not be cut in two */
    name[sizeof name - 1] = '\0';
    assert_link(lineage_night_link_format(piece, "a; alpha=9", "b\nc", 0xfedcba9876543210u), "a, alpha=9|b c|fedcba9876543210");
    assert_link(lineage_night_link_format(piece, "a, trial b", " c ", 1), "a. trial b|c|1");
    assert_true(lineage_night_link_parse(&link, lineage_night_link_format(piece, name, name, 2)));
    assert_int_equal(strlen(link.sweep), LINEAGE_NIGHT_SWEEP_MAX - 2);
    assert_int_equal(strlen(link.trial), LINEAGE_NIGHT_TRIAL_MAX - 1);
    /* A name longer than a night writes is refused, because a shortened name could be another night's. */
    char notes[2 * sizeof name + 64];
    snprintf(notes, sizeof notes, "night %s, trial b, key 0000000000000001", name);
    assert_link(notes, "");
    snprintf(notes, sizeof notes, "night a, trial %s, key 0000000000000001", name);
    assert_link(notes, "");
    memset(name, '\xbf', sizeof name - 1); /* no byte starts a code point */
    assert_link(lineage_night_link_format(piece, name, "b", 3), "|b|3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_night_is_a_whole_piece),
                                       cmocka_unit_test(what_is_said_about_a_night_is_no_link),
                                       cmocka_unit_test(what_a_night_writes_reads_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
