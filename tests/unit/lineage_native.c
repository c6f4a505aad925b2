/* Tests the cells of the native block: names without backticks, numbers in as few bytes as possible, and the reason
 * why a trial was discarded. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/render.h>
#include <lineage/report.h>
#include <lineage/text.h>

#include "render/native.h"
#include "support/files.h"
#include "support/rows.h"

#define assert_written(wanted, call)                                                                                             \
    do {                                                                                                                         \
        struct buf out = {0};                                                                                                    \
        buf_puts(&out, "");                                                                                                      \
        call;                                                                                                                    \
        assert_string_equal(out.data, wanted);                                                                                   \
        buf_release(&out);                                                                                                       \
    } while (0)

static struct lineage_number number(double value)
{
    return (struct lineage_number){true, value};
}

static void only_plain_names_stand_bare(void **state)
{
    static const char *const quoted[] = {"a b", "_a",      "-a",
                                         "a_",  "www.x.y", "WWW.x",
                                         "a|b", "a*",      "0123456789012345678901234567890123456789012345678901234567890"};
    char wanted[96];
    (void)state;
    assert_written("a.b-c_d:e+1", add_name(&out, "a.b-c_d:e+1"));
    assert_written("", add_name(&out, ""));
    for (size_t i = 0; i + 1 < sizeof quoted / sizeof *quoted; i++) {
        snprintf(wanted, sizeof wanted, "`%s`", quoted[i]);
        if (!strchr(quoted[i], '|'))
            assert_written(wanted, add_name(&out, quoted[i]));
    }
    assert_written("exp_014", add_id(&out, "014"));
    assert_written("exp_014", add_id(&out, "exp_014"));
    assert_written("exp_", add_id(&out, ""));
    assert_written("`0 1`", add_id(&out, "0 1"));
    assert_written("", add_quoted(&out, NULL, 10));
}

static void lengths_are_those_of_code_points(void **state)
{
    (void)state;
    assert_int_equal(code_points(""), 0);
    assert_int_equal(code_points("abc"), 3);
    assert_int_equal(code_points("\xC3\xA9\xE2\x86\x92"
                                 "a"),
                     3); /* é, an arrow, a */
}

static void numbers_take_the_fewest_bytes(void **state)
{
    (void)state;
    assert_written("—", add_score(&out, (struct lineage_number){0}));
    assert_written("nan", add_score(&out, number((double)NAN)));
    assert_written("inf", add_score(&out, number((double)INFINITY)));
    assert_written("0", add_score(&out, number(0)));
    assert_written("1.5", add_score(&out, number(1.5)));
    assert_written("120", add_score(&out, number(120)));
    assert_written("1e-05", add_score(&out, number(1e-5)));
    assert_written("1.5e+12", add_score(&out, number(1.5e12)));
    assert_written("+0.25", add_delta(&out, number(0.25)));
    assert_written("-1e-05", add_delta(&out, number(-1e-5)));
    assert_written("0", add_value(&out, -0.0));
    assert_written("1e+16", add_value(&out, 1e16));
    assert_written("0.1", add_value(&out, 0.1));
    assert_written("nan", add_value(&out, (double)NAN));
    assert_written("adam", add_setting(&out, 0, "adam"));
    assert_written("3", add_setting(&out, 3, NULL));
    assert_written("123.5", add_about(&out, 123.46, false));
    assert_written("1.23e+09", add_about(&out, 1.234e9, false));
    assert_written("+0.00123", add_about(&out, 0.001234, true));
}

static const struct lineage_number number_absent = {0};

static void a_discard_says_what_it_lacked(void **state)
{
    struct lineage_report report = {.direction = LINEAGE_LOWER, .needed = 0.1};
    const struct native n = {.report = &report};
    static const struct {
        double delta;
        enum lineage_direction direction;
        const char *wanted;
    } cases[] = {{-0.05, LINEAGE_LOWER, "discard (-0.05, needs less than -0.1)"},
                 {0.05, LINEAGE_LOWER, "discard (+0.05, worse)"},
                 {0.05, LINEAGE_HIGHER, "discard (+0.05, needs more than 0.1)"},
                 {0, LINEAGE_HIGHER, "discard (+0, no better)"},
                 {0.5, LINEAGE_HIGHER, "discard (+0.5, though better: not decided by the score)"}};
    struct lineage_trial trial = {.status = LINEAGE_DISCARD, .score = number(1)};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        report.direction = cases[i].direction;
        trial.delta_vs_best = number(cases[i].delta);
        assert_written(cases[i].wanted, add_outcome(&out, &n, &trial, number_absent));
    }
    trial.delta_vs_best = number(-0.5);
    trial.parent_exp = "exp_7";
    report.noise_std = 0.05;
    assert_written("discard (-0.5, worse; 0.25 better than 7)", add_outcome(&out, &n, &trial, number(0.25)));
    assert_written("discard (-0.5, worse; 0.1 worse than 7, within the noise)", add_outcome(&out, &n, &trial, number(-0.1)));
    assert_written("discard (-0.5, worse; equal to 7)", add_outcome(&out, &n, &trial, number(0)));
    assert_written("discard (-0.5, worse)", add_outcome(&out, &n, &trial, number(-0.5))); /* the parent was the best */
    report.direction = LINEAGE_LOWER;
    trial.delta_vs_best = number(0.5);
    trial.parent_exp = "a b";
    assert_written("discard (+0.5, worse; 0.25 better than `a b`)", add_outcome(&out, &n, &trial, number(-0.25)));
    trial.delta_vs_best = number((double)NAN);
    assert_written("discard", add_outcome(&out, &n, &trial, number_absent));
    trial.delta_vs_best.present = false;
    assert_written("discard", add_outcome(&out, &n, &trial, number_absent));
    trial.score.present = false;
    assert_written("discard (no score)", add_outcome(&out, &n, &trial, number_absent));
    trial.status = LINEAGE_KEEP;
    assert_written("keep", add_outcome(&out, &n, &trial, number_absent));
}

/* ---- the block ---- */

static char *render(const char *dir, const struct lineage_render_options *options)
{
    struct lineage_error err = {0};
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    size_t length;
    char *text;
    if (lineage_render(&text, &length, store, options, &err) != LINEAGE_OK)
        fail_msg("%s", err.text);
    lineage_store_close(store);
    return text;
}

static void sections_are_known_by_name(void **state)
{
    struct lineage_render_options options;
    struct lineage_error err;
    size_t length;
    char *dir = make_dir(), *text;
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    static const char *const wrong[] = {"bests", "bes", "best,", "best,,chain", " best", "knowledgex"};
    (void)state;
    lineage_render_options_init(&options);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options.sections = wrong[i];
        enum lineage_status status = lineage_render(&text, &length, store, &options, &err);
        if (i == 2) { /* a comma at the end is accepted */
            assert_int_equal(status, LINEAGE_OK);
            lineage_free(text);
        } else {
            assert_int_equal(status, LINEAGE_EINVAL);
            assert_non_null(strstr(err.text, "known are best"));
        }
    }
    options.sections = "knowledge,best"; /* the former name of chain */
    assert_int_equal(lineage_render(&text, &length, store, &options, &err), LINEAGE_OK);
    lineage_free(text);
    lineage_store_close(store);
    remove_dir(dir);
}

static void the_first_lines_stand_for_themselves(void **state)
{
    struct lineage_render_options options;
    char *dir = make_dir(), *text;
    static const char config[] = "{\"noise_std\": 0.25, \"noise_seeds\": 1}";
    (void)state;
    lineage_render_options_init(&options);
    text = render(dir, &options);
    assert_non_null(strstr(text, "empty lineage"));
    lineage_free(text);
    add_rows(dir, (const struct row[]){{"000", .status = "crash"}, {.id = NULL}});
    options.timestamp = "2026-01-01";
    options.specialist = "a b";
    text = render(dir, &options);
    assert_non_null(
        strstr(text, "# Session start — 2026-01-01\nYou are specialist **`a b`**. No trial ranks yet: 1 crash. 1 trial.\n"));
    assert_non_null(strstr(text, "(noise unknown: `lineage run --baseline --seeds 3 -- COMMAND`)"));
    lineage_free(text);
    write_file(in_dir(dir, "lineage.json"), config, sizeof config - 1);
    options.timestamp = options.specialist = "";
    text = render(dir, &options);
    assert_non_null(strstr(text, "deviation of 0.25; 1 seed a score; 100 trials a night)"));
    lineage_free(text);
    remove_dir(dir);
}

/* Settings that were tried again and again: a trial counts once and is listed once, however often its text gives a value. */
static void a_trial_is_tried_again_once(void **state)
{
    static const char rows[] = "exp_id\thypothesis\tstatus\tcore_metric\n"
                               "000\tbase\tkeep\t1\n"
                               "001\tRaise alpha 0.1 → 0.2; raise alpha 0.2 → 0.4\tdiscard\t2\n"
                               "002\tRaise alpha 0.1 → 0.3; raise alpha 0.3 → 0.5\tdiscard\t3\n"
                               "003\tRaise alpha 0.1 → 0.6\tdiscard\t4\n"
                               "004\tRaise gamma 1 → 2; raise gamma 2 → 3\tdiscard\t5\n"
                               "005\tRaise gamma 1 → 4\tdiscard\t6\n";
    struct lineage_render_options options;
    char *dir = make_dir(), *text;
    (void)state;
    lineage_render_options_init(&options);
    options.max_bytes = 0;
    write_file(in_dir(dir, "results.tsv"), rows, sizeof rows - 1);
    text = render(dir, &options);
    const char *again = strstr(text, "## Tried Again and Again");
    assert_non_null(again);
    assert_non_null(strstr(again, "- alpha: 3 trials, 0 failed"));
    assert_non_null(strstr(again, ": 001, 002, 003\n"));
    assert_null(strstr(again, "- gamma: 3 trials"));
    lineage_free(text);
    remove_dir(dir);
}

/* A person's text is printed whole, whatever the budget. A title that must be shortened is cut between characters. */
static void insights_take_their_room_first(void **state)
{
    struct lineage_render_options options;
    char *dir = make_dir(), *text;
    (void)state;
    add_rows(dir, (const struct row[]){{"000", "é", .status = "keep", .metric = "1"}, {.id = NULL}});
    lineage_render_options_init(&options);
    options.insights = "keep this";
    for (size_t max = 1; max < 400; max++) {
        options.max_bytes = max;
        text = render(dir, &options);
        assert_non_null(strstr(text, "\nkeep this\n"));
        assert_true(lineage_text_is_utf8(text, strlen(text)));
        assert_true(strlen(text) <= max + strlen("\nkeep this\n") || strlen(text) <= max);
        lineage_free(text);
    }
    options.sections = "best"; /* insights are not requested */
    options.max_bytes = 0;
    text = render(dir, &options);
    assert_null(strstr(text, "keep this"));
    lineage_free(text);
    options.sections = "insights";
    options.insights = "ends\n";
    text = render(dir, &options);
    assert_string_equal(text + strlen(text) - 6, "\nends\n");
    lineage_free(text);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_plain_names_stand_bare),    cmocka_unit_test(lengths_are_those_of_code_points),
        cmocka_unit_test(numbers_take_the_fewest_bytes),  cmocka_unit_test(a_discard_says_what_it_lacked),
        cmocka_unit_test(sections_are_known_by_name),     cmocka_unit_test(the_first_lines_stand_for_themselves),
        cmocka_unit_test(insights_take_their_room_first), cmocka_unit_test(a_trial_is_tried_again_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
