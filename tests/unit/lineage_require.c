/* Tests requirements such as `peak_vram_mb<=48000`: what is read, what is compared, and what the row then says. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include <lineage/require.h>

static void assert_reads(const char *text, const char *name, enum lineage_relation relation, double bound)
{
    struct lineage_requirement read;
    struct lineage_error err;
    assert_int_equal(lineage_requirement_parse(&read, text, &err), LINEAGE_OK);
    assert_string_equal(read.name, name);
    assert_int_equal(read.relation, relation);
    assert_true(read.bound == bound);
}

static void four_relations_are_read(void **state)
{
    (void)state;
    assert_reads("peak_vram_mb<=48000", "peak_vram_mb", LINEAGE_AT_MOST, 48000);
    assert_reads(" acc >= 0.96 ", "acc", LINEAGE_AT_LEAST, 0.96);
    assert_reads("eval/loss<-1e-3", "eval/loss", LINEAGE_LESS, -1e-3);
    assert_reads("score>0", "score", LINEAGE_MORE, 0);
}

static void anything_else_is_refused_with_its_text(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",         "acc",        "acc=1",  "<=1",    "acc<=",  "acc<=x", "acc<=1x",
                                        "acc<=nan", "acc<=1e999", "acc=<1", "a,b<=1", "a;b<=1", "acc<==1"};
    struct lineage_requirement read = {.bound = 7};
    struct lineage_error err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(lineage_requirement_parse(&read, wrong[i], &err), LINEAGE_EINVAL);
        assert_non_null(strstr(err.text, wrong[i]));
    }
    char longest[LINEAGE_REQUIREMENT_NAME_MAX + 8];
    memset(longest, 'a', sizeof longest);
    strcpy(longest + LINEAGE_REQUIREMENT_NAME_MAX, "<=1");
    assert_int_equal(lineage_requirement_parse(&read, longest, &err), LINEAGE_EINVAL);
    assert_true(read.bound == 7);
}

static void a_bound_belongs_to_its_side(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
        bool met;
    } cases[] = {{"x<=2", 2, true},    {"x<=2", 2.1, false}, {"x<2", 2, false},      {"x<2", 1.9, true},
                 {"x>=2", 2, true},    {"x>=2", 1.9, false}, {"x>2", 2, false},      {"x>2", 2.1, true},
                 {"x<=2", NAN, false}, {"x>=2", NAN, false}, {"x>2", INFINITY, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lineage_requirement read;
        assert_int_equal(lineage_requirement_parse(&read, cases[i].text, NULL), LINEAGE_OK);
        assert_int_equal(lineage_requirement_is_met(NULL, &read, (struct lineage_number){true, cases[i].value}), cases[i].met);
    }
}

static void the_reason_names_the_requirement_and_the_value(void **state)
{
    (void)state;
    char why[LINEAGE_REQUIREMENT_WHY_MAX], text[LINEAGE_REQUIREMENT_TEXT_MAX];
    struct lineage_requirement read;
    assert_int_equal(lineage_requirement_parse(&read, "peak_vram_mb <= 48000", NULL), LINEAGE_OK);
    assert_string_equal(lineage_requirement_format(text, &read), "peak_vram_mb<=48000");
    assert_false(lineage_requirement_is_met(why, &read, (struct lineage_number){true, 51234.5}));
    assert_string_equal(why, "requires peak_vram_mb<=48000, but it was 51234.5");
    assert_false(lineage_requirement_is_met(why, &read, (struct lineage_number){0}));
    assert_string_equal(why, "requires peak_vram_mb<=48000, but it was never reported");
}

static void metrics_come_before_columns(void **state)
{
    (void)state;
    const struct lineage_param metrics[] = {{"acc", 0.9, NULL}, {"total_s", 5, NULL}};
    const struct lineage_trial trial = {.metrics = metrics, .n_metrics = 2, .core_metric = {true, 3}, .total_s = {true, 60}};
    assert_true(lineage_requirement_value(&trial, "acc").value == 0.9);
    assert_true(lineage_requirement_value(&trial, "total_s").value == 5);
    assert_true(lineage_requirement_value(&trial, "core_metric").value == 3);
    assert_true(lineage_requirement_value(&trial, "score").value == 3);
    assert_false(lineage_requirement_value(&trial, "train_s").present);
    assert_false(lineage_requirement_value(&trial, "notes").present);
    assert_false(lineage_requirement_value(&trial, "other").present);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_relations_are_read),     cmocka_unit_test(anything_else_is_refused_with_its_text),
        cmocka_unit_test(a_bound_belongs_to_its_side), cmocka_unit_test(the_reason_names_the_requirement_and_the_value),
        cmocka_unit_test(metrics_come_before_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
