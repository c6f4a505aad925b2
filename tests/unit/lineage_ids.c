/* Tests the set of ids of rows that the mirror has not read, both consecutive numbers and other ids. */
#include "support/unit.h"

#include <stdio.h>

#include "append/id_set.h"

static void assert_has(const struct id_set *set, const char *const *ids, bool there)
{
    for (; *ids; ids++)
        if (id_set_has(set, *ids) != there)
            fail_msg("%s is %sin the set", *ids, there ? "not " : "");
}

/* The ids 008 to 1001 are consecutive and padded to three digits. Ids that only look similar are not in the set. */
static void counted_ids_are_found_as_they_were_written(void **state)
{
    struct id_set set = {0};
    char id[16];
    (void)state;
    for (unsigned i = 8; i <= 1001; i++) {
        snprintf(id, sizeof id, "%03u", i);
        assert_false(id_set_has(&set, id));
        assert_true(id_set_add(&set, id));
    }
    assert_int_equal(set.n, 994);
    assert_has(&set, (const char *const[]){"008", "009", "010", "999", "1000", "1001", NULL}, true);
    assert_has(&set,
               (const char *const[]){"007", "8", "08", "0008", "0999", "01000", "1002", "exp_008", "008 ", "", "00a",
                                     "18446744073709551624", NULL},
               false);
    id_set_clear(&set);
    assert_has(&set, (const char *const[]){"008", "1000", NULL}, false);
}

static void other_ids_are_found_beside_them(void **state)
{
    static const char *const ids[] = {"014", "exp_015", "015", "abc", "16", "016", "0017", "017", "014", "99999999999999999999",
                                      "12",  NULL};
    static const char *const others[] = {"exp_014", "14", "0014", "0016", "17", "018", "13", "", NULL};
    struct id_set set = {0};
    (void)state;
    for (const char *const *id = ids; *id; id++)
        assert_true(id_set_add(&set, *id));
    assert_has(&set, ids, true);
    assert_has(&set, others, false);
    assert_int_equal(set.n, 11);
    id_set_clear(&set);
    assert_has(&set, ids, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counted_ids_are_found_as_they_were_written),
                                       cmocka_unit_test(other_ids_are_found_beside_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
