/* Tests which parts of notes set a parameter, and which of the many other parts must not. */
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/notes.h>

#include "format/row.h"

/* Compares the parameters that `notes` sets with `want`, such as "alpha=0.3 gamma=1 ". */
static void assert_params(const char *notes, const char *want)
{
    struct lineage_trial trial = {0};
    struct buf got = {0};
    assert_int_equal(lineage_notes_parse(&trial, notes, NULL), LINEAGE_OK);
    buf_puts(&got, "");
    for (size_t i = 0; i < trial.n_params; i++)
        if (trial.params[i].text)
            buf_printf(&got, "%s=<%s> ", trial.params[i].name, trial.params[i].text);
        else
            buf_printf(&got, "%s=%g ", trial.params[i].name, trial.params[i].value);
    assert_string_equal(got.data, want);
    buf_release(&got);
    lineage_trial_release(&trial);
}

static void a_piece_that_begins_with_a_setting_sets(void **state)
{
    (void)state;
    assert_params("alpha=0.3; gamma=1.0", "alpha=0.3 gamma=1 ");
    assert_params("alpha=0.300 fixed; lr=1e-4 (cosine)", "alpha=0.3 lr=0.0001 ");
    assert_params("α=0.3;β=-2 ; γ=.5", "alpha=0.3 beta=-2 gamma=0.5 ");
    assert_params("adv_rescale_alpha=0.9", "alpha=0.9 ");
    assert_params("seed=7, lr=0.1, wd=0.01", "lr=0.1 seed=7 wd=0.01 ");
    assert_params("gamma=1.0.", "gamma=1 ");
}

static void the_last_value_of_a_key_wins(void **state)
{
    (void)state;
    assert_params("alpha=0.3; α=0.5; alpha=0.7", "alpha=0.7 ");
}

static void prose_sets_nothing(void **state)
{
    (void)state;
    assert_params("", "");
    assert_params("uses beta2=0.95 where the parent has beta2=0.9", "");
    assert_params("beta2=0.9→0.95", "");
    assert_params("alpha=0.3%", "");
    assert_params("alpha=0.3x; lr=1e-4/2", "");
    assert_params("alpha = 0.3", "");
    assert_params("em_curve=[31.5, 33.0]; d={'a': 1}", "");
    assert_params("the best had; a note, alpha=0.3", "");
    assert_params("reverted: lr=5 was silly; batch=9", "");
    assert_params("lr=1e-4; optimizer=adam; a note; batch=9; beta=1", "lr=0.0001 optimizer=<adam> ");
    assert_params("night a.json, trial b, key c; lr=1; ig_clip_scale mean=1; beta=2", "beta=2 lr=1 ");
    assert_params("alpha=; =3; alpha=nan; alpha=inf; alpha=0x10", "");
    assert_params("alpha=1e999; beta=-1e999; gamma=2, delta=1e400, eta=1; tau=1e300 or 1e999", "gamma=2 tau=1e+300 ");
}

static void no_statistic_is_infinite(void **state)
{
    struct lineage_trial trial = {0};
    (void)state;
    assert_int_equal(lineage_notes_parse(&trial,
                                         "ig_clip_scale mean=1e999 std=2; ig_clip_scale_std=1e999; info_gain turn=1 "
                                         "mean=-1e999 std=0; info_gain turn=2 mean=1 std=1e999",
                                         NULL),
                     LINEAGE_OK);
    assert_false(trial.ig_clip_scale_mean.present || trial.ig_clip_scale_std.present);
    assert_int_equal(trial.n_turns, 0);
    lineage_trial_release(&trial);
}

static void a_piece_of_texts_sets_texts(void **state)
{
    (void)state;
    assert_params("optimizer=adam", "optimizer=<adam> ");
    assert_params(" optimizer=adam ; α=0.3", "alpha=0.3 optimizer=<adam> ");
    assert_params("alpha=0.3, optimizer=adam, model=Qwen/Qwen3-8B", "alpha=0.3 model=<Qwen/Qwen3-8B> optimizer=<adam> ");
    assert_params("size='7B'; schedule='cosine, warm-up 10',who='it''s (1=1)'",
                  "schedule=<cosine, warm-up 10> size=<7B> who=<it's (1=1)> ");
    assert_params("optimizer=adam; optimizer=sgd", "optimizer=<sgd> ");
    assert_params("β=high", "beta=<high> ");
}

/* People and older tools write notes like these, which must not set a parameter. */
static void prose_sets_no_text(void **state)
{
    static const char *const prose[] = {"optimizer=adam diverged",
                                        "optimizer=adam (as the parent)",
                                        "optimizer=adam.",
                                        "loss=high?",
                                        "loss=high!",
                                        "optimizer=adam→sgd",
                                        "optimizer=adam->sgd",
                                        "mode=a|b",
                                        "f=g(x)",
                                        "a=b=c",
                                        "x=y, but z=w is worse",
                                        "x=y,",
                                        "x=y, lr=0.1",
                                        "x=y,,z=w",
                                        "lr =adam",
                                        "lr= adam",
                                        "=adam",
                                        "x=",
                                        "x=,y=z",
                                        "x=\"adam\"",
                                        "x=\"a b\"",
                                        "it's x='y",
                                        "x='y",
                                        "x=''",
                                        "x='y'z",
                                        "x='y' z",
                                        "x='''",
                                        "x=nan",
                                        "x=inf",
                                        "x=-infinity",
                                        "x=Infinity",
                                        "x=0.3%",
                                        "x=7B",
                                        "x=_a",
                                        "x=é",
                                        "x=a\tb=c",
                                        "x='a\tb'",
                                        "x=low-",
                                        "x=low:",
                                        "x=up/",
                                        "see x=y",
                                        "ig_clip_scale_mean=high",
                                        "ig_clip_scale_std='a'",
                                        "ig_clip_scale mean=high",
                                        "info_gain turn=x",
                                        "night s, trial a=b, key 1",
                                        "[x=y]",
                                        "(x=y)",
                                        "x=y z=w",
                                        "x=y/z w",
                                        "a.b=c d"};
    (void)state;
    for (size_t i = 0; i < sizeof prose / sizeof *prose; i++)
        assert_params(prose[i], "");
}

/* A number that an older program reads from notes stays that number, and stays the only value of its name. */
static void texts_never_change_a_number(void **state)
{
    (void)state;
    assert_params("alpha=0.3; alpha=high", "alpha=0.3 ");
    assert_params("alpha=high; alpha=0.3; alpha=low", "alpha=0.3 ");
    assert_params("alpha=0.3, beta=high and low", "alpha=0.3 ");
    assert_params("alpha=0.3, beta=high, gamma=1", "alpha=0.3 ");
    assert_params("alpha=0.3 beta=high", "alpha=0.3 ");
    assert_params("a=b, alpha=0.3", "");
}

static void texts_are_as_long_as_they_may_be(void **state)
{
    char notes[400], want[400], name[LINEAGE_PARAM_TEXT_MAX + 2];
    (void)state;
    memset(name, 'a', sizeof name);
    name[LINEAGE_PARAM_TEXT_MAX + 1] = '\0';
    assert_false(lineage_param_text_ok(name));
    snprintf(notes, sizeof notes, "x=%s; y='%s'", name, name);
    assert_params(notes, "");
    name[LINEAGE_PARAM_TEXT_MAX] = '\0';
    snprintf(notes, sizeof notes, "x=%s; y='%s'", name, name);
    snprintf(want, sizeof want, "x=<%s> y=<%s> ", name, name);
    assert_params(notes, want);
}

static void texts_are_composed_and_read_back(void **state)
{
    static const char *const texts[] = {"adam", "7B", "it's", "'", "a, b", "nan", "0.3", "x=y", "é→", "a ", "v1.", "(a)"};
    struct arena arena = {0};
    struct buf scratch = {0};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct lineage_param params[] = {{"alpha", 0.3, NULL}, {"t", 0, texts[i]}};
        struct lineage_trial said = {0}, trial = {.notes = "words", .params = params, .n_params = 2};
        const char *notes;
        assert_int_equal(row_check(&trial, NULL), LINEAGE_OK);
        assert_int_equal(row_compose_notes(&notes, &trial, &scratch, &arena, NULL), LINEAGE_OK);
        assert_int_equal(lineage_notes_parse(&said, notes, NULL), LINEAGE_OK);
        assert_int_equal(said.n_params, 2);
        assert_string_equal(said.params[1].text, texts[i]);
        assert_string_equal(notes_remark(notes, &arena), "words");
        lineage_trial_release(&said);
    }
    buf_release(&scratch);
    arena_release(&arena);
}

static void texts_that_cannot_be_written_are_refused(void **state)
{
    static const char *const texts[] = {"", "a;b", "a\tb", "a\nb", "\x7f", "\xff"};
    struct lineage_error err;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct lineage_param param = {"optimizer", 0, texts[i]};
        struct lineage_trial trial = {.params = &param, .n_params = 1};
        assert_int_equal(row_check(&trial, &err), LINEAGE_EINVAL);
        assert_non_null(strstr(err.text, "optimizer"));
    }
}

static void a_text_that_notes_contradict_is_refused(void **state)
{
    static const char *const notes[] = {"optimizer=sgd", "optimizer=1", "optimizer=adam; optimizer='adam w'"};
    struct lineage_param param = {"optimizer", 0, "adam"}, number = {"optimizer", 1, NULL};
    struct lineage_error err;
    struct arena arena = {0};
    struct buf scratch = {0};
    const char *out;
    (void)state;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        struct lineage_trial trial = {.notes = notes[i], .params = &param, .n_params = 1};
        assert_int_equal(row_compose_notes(&out, &trial, &scratch, &arena, &err), LINEAGE_EINVAL);
        assert_non_null(strstr(err.text, "optimizer"));
    }
    struct lineage_trial same = {.notes = "optimizer='adam'; words", .params = &param, .n_params = 1};
    assert_int_equal(row_compose_notes(&out, &same, &scratch, &arena, &err), LINEAGE_OK);
    assert_string_equal(out, "optimizer='adam'; words");
    struct lineage_trial other = {.notes = "optimizer=adam", .params = &number, .n_params = 1};
    assert_int_equal(row_compose_notes(&out, &other, &scratch, &arena, &err), LINEAGE_EINVAL);
    buf_release(&scratch);
    arena_release(&arena);
}

static void wide_integers_are_texts(void **state)
{
    static const char *const wide[][2] = {{"9007199254740992", "9007199254740992"},
                                          {"+9007199254740993", "9007199254740993"},
                                          {" 9007199254740993 ", "9007199254740993"},
                                          {"-009007199254740993", "-9007199254740993"},
                                          {"302934307671667531413257853548643485645", "302934307671667531413257853548643485645"}};
    static const char *const others[] = {"9007199254740991",  "9007199254740993x",    "9007199254740993.0", "1e16",
                                         "9007199254740993:", "00000000000000000001", "- 9007199254740993", ""};
    char text[LINEAGE_PARAM_TEXT_MAX + 1], longest[LINEAGE_PARAM_TEXT_MAX + 2];
    const char *rest = longest;
    (void)state;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        assert_true(lineage_param_is_text(rest = wide[i][0]) && lineage_param_text_next(text, &rest) && !*rest);
        assert_string_equal(text, wide[i][1]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(lineage_param_is_text(rest = others[i]) || lineage_param_text_next(text, &rest));
    memset(longest, '9', sizeof longest);
    longest[LINEAGE_PARAM_TEXT_MAX + 1] = '\0';
    static const char *const lists[][2] = {
        {"[64, 32]", "[64, 32]"}, {"(0.9,0.99)", "(0.9,0.99)"}, {"{\"a\": [1, 2]}", "{\"a\": [1, 2]}"},
        {"['a, b']", "['a, b']"}, {"(q|v)_proj", "(q|v)_proj"}, {"[a", "[a"}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        assert_true(lineage_param_is_text(rest = lists[i][0]) && lineage_param_text_next(text, &rest) && !*rest);
        assert_string_equal(text, lists[i][1]);
    }
    assert_true(lineage_param_is_text(rest = longest) && !lineage_param_text_next(text, &rest));
    rest = longest + 1;
    assert_true(lineage_param_text_next(text, &rest) && strcmp(text, longest + 1) == 0);
}

static void texts_are_typed_as_a_list(void **state)
{
    static const char *const wrong[] = {"", "7B", "'a", "'a'b", "a,", ",a", "a;b", "''"};
    char text[LINEAGE_PARAM_TEXT_MAX + 1];
    const char *list = "adam, 'a, b''s',warm up";
    (void)state;
    assert_true(lineage_param_text_next(text, &list));
    assert_string_equal(text, "adam");
    assert_true(lineage_param_text_next(text, &list));
    assert_string_equal(text, "a, b's");
    assert_true(lineage_param_text_next(text, &list));
    assert_string_equal(text, "warm up");
    assert_string_equal(list, "");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        list = wrong[i];
        assert_false(lineage_param_text_next(text, &list));
    }
}

static void clip_scale_takes_only_its_own_numbers(void **state)
{
    struct lineage_trial trial = {0};
    (void)state;
    assert_int_equal(lineage_notes_parse(&trial,
                                         "ig_clip_scale mean=1.014 std=0.087 (wide); turn-level IS ratio "
                                         "mean=1.04 std=0.12",
                                         NULL),
                     LINEAGE_OK);
    assert_true(trial.ig_clip_scale_mean.present && trial.ig_clip_scale_mean.value == 1.014);
    assert_true(trial.ig_clip_scale_std.present && trial.ig_clip_scale_std.value == 0.087);
    assert_int_equal(trial.n_params, 0);
    lineage_trial_release(&trial);
}

static void information_gain_per_turn(void **state)
{
    struct lineage_trial trial = {0};
    (void)state;
    assert_int_equal(lineage_notes_parse(&trial,
                                         "info_gain turn=1 mean=0.5 std=0.25 n=12; info_gain turn=0 mean=-0.1 "
                                         "std=0; info_gain turn=x mean=1 std=1; info_gain mean=1 std=1",
                                         NULL),
                     LINEAGE_OK);
    assert_int_equal(trial.n_turns, 2);
    assert_int_equal(trial.turns[0].turn, 0);
    assert_true(trial.turns[0].mean == -0.1 && trial.turns[0].count == 0);
    assert_true(trial.turns[1].turn == 1 && trial.turns[1].std == 0.25 && trial.turns[1].count == 12);
    lineage_trial_release(&trial);
}

static void notes_are_composed_and_read_back(void **state)
{
    struct lineage_param params[] = {{"alpha", 0.3, NULL}, {"γ", 1, NULL}};
    struct lineage_turn_stat turns[] = {{0, 0.25, 0.5, 8}};
    struct lineage_trial trial = {.notes = "words; more",
                                  .params = params,
                                  .n_params = 2,
                                  .turns = turns,
                                  .n_turns = 1,
                                  .ig_clip_scale_mean = {true, 1.014},
                                  .ig_clip_scale_std = {true, 0.087}};
    struct arena arena = {0};
    struct buf scratch = {0};
    const char *notes;
    (void)state;
    assert_int_equal(row_compose_notes(&notes, &trial, &scratch, &arena, NULL), LINEAGE_OK);
    assert_string_equal(notes, "ig_clip_scale mean=1.014 std=0.087; alpha=0.3; gamma=1; "
                               "info_gain turn=0 mean=0.25 std=0.5 n=8; words; more");
    assert_params(notes, "alpha=0.3 gamma=1 ");
    buf_release(&scratch);
    arena_release(&arena);
}

static void what_notes_say_already_is_not_said_again(void **state)
{
    struct lineage_param params[] = {{"alpha", 0.3, NULL}};
    struct lineage_trial trial = {.notes = "alpha=0.3 fixed", .params = params, .n_params = 1};
    struct lineage_error err;
    struct arena arena = {0};
    struct buf scratch = {0};
    const char *notes;
    (void)state;
    assert_int_equal(row_compose_notes(&notes, &trial, &scratch, &arena, NULL), LINEAGE_OK);
    assert_string_equal(notes, "alpha=0.3 fixed");
    params[0].value = 0.4;
    assert_int_equal(row_compose_notes(&notes, &trial, &scratch, &arena, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "alpha"));
    buf_release(&scratch);
    arena_release(&arena);
}

static void parameter_names_are_checked(void **state)
{
    (void)state;
    assert_true(lineage_param_name_ok("lr") && lineage_param_name_ok("muon.wd-2_x") && lineage_param_name_ok("α"));
    assert_false(lineage_param_name_ok("") || lineage_param_name_ok("2lr") || lineage_param_name_ok("a b") ||
                 lineage_param_name_ok("a;b") || lineage_param_name_ok("a=b") || lineage_param_name_ok("é"));
}

/* Statistics that have their own members in a trial never become parameters, however they are written. */
static void clip_scale_may_stand_as_parameters(void **state)
{
    struct lineage_trial trial = {0};
    (void)state;
    assert_int_equal(lineage_notes_parse(&trial, "ig_clip_scale_mean=0.5; ig_clip_scale_std=0.25", NULL), LINEAGE_OK);
    assert_int_equal(trial.n_params, 0);
    assert_true(trial.ig_clip_scale_mean.present && trial.ig_clip_scale_mean.value == 0.5);
    assert_true(trial.ig_clip_scale_std.present && trial.ig_clip_scale_std.value == 0.25);
    lineage_trial_release(&trial);
}

static void turns_are_whole_numbers(void **state)
{
    static const char *const prose[] = {"info_gain turn=-1 mean=1 std=1",
                                        "info_gain turn=0.5 mean=1 std=1",
                                        "info_gain turn=4294967296 mean=1 std=1",
                                        "info_gain turn=1 mean=1",
                                        "info_gain turn=1 std=1",
                                        "info_gain mean=1 std=1",
                                        "info_gain turn=1 n=0.5 mean=1 std=1"};
    struct lineage_trial trial = {0};
    (void)state;
    for (size_t i = 0; i < sizeof prose / sizeof *prose; i++) {
        assert_int_equal(lineage_notes_parse(&trial, prose[i], NULL), LINEAGE_OK);
        assert_int_equal(trial.n_turns, 0);
    }
    const char *notes = "info_gain turn=2 mean=1 std=2; info_gain turn=1 mean=3 std=4 n=5; info_gain turn=2 mean=6 std=7";
    assert_int_equal(lineage_notes_parse(&trial, notes, NULL), LINEAGE_OK);
    assert_int_equal(trial.n_turns, 2);
    assert_true(trial.turns[0].turn == 1 && trial.turns[0].count == 5);
    assert_true(trial.turns[1].turn == 2 && trial.turns[1].mean == 6); /* the last mean of turn 2 wins */
    lineage_trial_release(&trial);
}

static void a_list_ends_with_what_is_no_text(void **state)
{
    char text[LINEAGE_PARAM_TEXT_MAX + 1], *longest = malloc(LINEAGE_PARAM_TEXT_MAX + 2);
    static const char *const none[] = {"", "7B", "adam,", "'a' b", "a;b", "''", "'a"};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        const char *rest = none[i];
        assert_false(lineage_param_text_next(text, &rest));
        assert_ptr_equal(rest, none[i]);
    }
    memset(longest, 'x', LINEAGE_PARAM_TEXT_MAX + 1);
    longest[LINEAGE_PARAM_TEXT_MAX + 1] = '\0';
    const char *rest = longest;
    assert_false(lineage_param_text_next(text, &rest));
    assert_true(lineage_param_text_next(text, &(const char *){longest + 1}));
    free(longest);
}

static void the_reason_of_a_failure_is_found(void **state)
{
    static const struct {
        const char *notes, *reason;
    } cases[] = {
        {"lr=0.1; night s, trial a, key 0123456789abcdef; failed after step 2 of 9: NameError: x (t.py:1); last lines: a",
         "failed after step 2 of 9: NameError: x (t.py:1)"},
        {"training took more than 60 s, stopped", "training took more than 60 s, stopped"},
        {"again: it failed: once;it held 5 bytes of memory, 4 are allowed; x", "it held 5 bytes of memory, 4 are allowed"},
        {"a;  model.bin has 2000 bytes, 1000 are allowed ;b", "model.bin has 2000 bytes, 1000 are allowed "},
        {"loss is not a finite number, stopped", "loss is not a finite number, stopped"},
        {"the idea failed: it was silly", ""},
        {"plain words; 3 are allowed", "3 are allowed"},
        {"", ""},
        {NULL, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *reason = lineage_notes_reason(cases[i].notes);
        size_t n = strcspn(reason, ";");
        if (n != strlen(cases[i].reason) || strncmp(reason, cases[i].reason, n) != 0)
            fail_msg("'%s' gives '%s'", cases[i].notes ? cases[i].notes : "NULL", reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_piece_that_begins_with_a_setting_sets),
                                       cmocka_unit_test(the_last_value_of_a_key_wins),
                                       cmocka_unit_test(prose_sets_nothing),
                                       cmocka_unit_test(clip_scale_takes_only_its_own_numbers),
                                       cmocka_unit_test(no_statistic_is_infinite),
                                       cmocka_unit_test(information_gain_per_turn),
                                       cmocka_unit_test(notes_are_composed_and_read_back),
                                       cmocka_unit_test(what_notes_say_already_is_not_said_again),
                                       cmocka_unit_test(parameter_names_are_checked),
                                       cmocka_unit_test(a_piece_of_texts_sets_texts),
                                       cmocka_unit_test(prose_sets_no_text),
                                       cmocka_unit_test(texts_never_change_a_number),
                                       cmocka_unit_test(texts_are_as_long_as_they_may_be),
                                       cmocka_unit_test(texts_are_composed_and_read_back),
                                       cmocka_unit_test(texts_that_cannot_be_written_are_refused),
                                       cmocka_unit_test(a_text_that_notes_contradict_is_refused),
                                       cmocka_unit_test(wide_integers_are_texts),
                                       cmocka_unit_test(texts_are_typed_as_a_list),
                                       cmocka_unit_test(clip_scale_may_stand_as_parameters),
                                       cmocka_unit_test(turns_are_whole_numbers),
                                       cmocka_unit_test(the_reason_of_a_failure_is_found),
                                       cmocka_unit_test(a_list_ends_with_what_is_no_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
