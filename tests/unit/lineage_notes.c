/* Settings in notes: what sets a parameter, and the much larger part that must not. */
#include "support/unit.h"

#include <string.h>

#include <lineage/notes.h>

#include "format/row.h"

/* "alpha=0.3 gamma=1 " of what notes set */
static void assert_params(const char *notes, const char *want)
{
    struct lineage_trial trial = {0};
    struct buf got = {0};
    assert_int_equal(lineage_notes_parse(&trial, notes, NULL), LINEAGE_OK);
    buf_puts(&got, "");
    for (size_t i = 0; i < trial.n_params; i++)
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
    assert_params("alpha=; =3; alpha=nan; alpha=inf; alpha=0x10", "");
}

static void clip_scale_takes_only_its_own_numbers(void **state)
{
    struct lineage_trial trial = {0};
    (void)state;
    assert_int_equal(lineage_notes_parse(&trial, "ig_clip_scale mean=1.014 std=0.087 (wide); turn-level IS ratio "
                                                 "mean=1.04 std=0.12", NULL), LINEAGE_OK);
    assert_true(trial.ig_clip_scale_mean.present && trial.ig_clip_scale_mean.value == 1.014);
    assert_true(trial.ig_clip_scale_std.present && trial.ig_clip_scale_std.value == 0.087);
    assert_int_equal(trial.n_params, 0);
    lineage_trial_release(&trial);
}

static void information_gain_per_turn(void **state)
{
    struct lineage_trial trial = {0};
    (void)state;
    assert_int_equal(lineage_notes_parse(&trial, "info_gain turn=1 mean=0.5 std=0.25 n=12; info_gain turn=0 mean=-0.1 "
                                                 "std=0; info_gain turn=x mean=1 std=1; info_gain mean=1 std=1", NULL),
                     LINEAGE_OK);
    assert_int_equal(trial.n_turns, 2);
    assert_int_equal(trial.turns[0].turn, 0);
    assert_true(trial.turns[0].mean == -0.1 && trial.turns[0].count == 0);
    assert_true(trial.turns[1].turn == 1 && trial.turns[1].std == 0.25 && trial.turns[1].count == 12);
    lineage_trial_release(&trial);
}

static void notes_are_composed_and_read_back(void **state)
{
    struct lineage_param params[] = {{"alpha", 0.3}, {"γ", 1}};
    struct lineage_turn_stat turns[] = {{0, 0.25, 0.5, 8}};
    struct lineage_trial trial = {.notes = "words; more", .params = params, .n_params = 2, .turns = turns, .n_turns = 1,
                                  .ig_clip_scale_mean = {true, 1.014}, .ig_clip_scale_std = {true, 0.087}};
    struct arena arena = {0};
    char *notes;
    (void)state;
    assert_int_equal(row_compose_notes(&notes, &trial, &arena, NULL), LINEAGE_OK);
    assert_string_equal(notes, "ig_clip_scale mean=1.014 std=0.087; alpha=0.3; gamma=1.0; "
                               "info_gain turn=0 mean=0.25 std=0.5 n=8; words; more");
    assert_params(notes, "alpha=0.3 gamma=1 ");
    arena_release(&arena);
}

static void what_notes_say_already_is_not_said_again(void **state)
{
    struct lineage_param params[] = {{"alpha", 0.3}};
    struct lineage_trial trial = {.notes = "alpha=0.3 fixed", .params = params, .n_params = 1};
    struct lineage_error err;
    struct arena arena = {0};
    char *notes;
    (void)state;
    assert_int_equal(row_compose_notes(&notes, &trial, &arena, NULL), LINEAGE_OK);
    assert_string_equal(notes, "alpha=0.3 fixed");
    params[0].value = 0.4;
    assert_int_equal(row_compose_notes(&notes, &trial, &arena, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "alpha"));
    arena_release(&arena);
}

static void parameter_names_are_checked(void **state)
{
    (void)state;
    assert_true(lineage_param_name_ok("lr") && lineage_param_name_ok("muon.wd-2_x") && lineage_param_name_ok("α"));
    assert_false(lineage_param_name_ok("") || lineage_param_name_ok("2lr") || lineage_param_name_ok("a b") ||
                 lineage_param_name_ok("a;b") || lineage_param_name_ok("a=b") || lineage_param_name_ok("é"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_that_begins_with_a_setting_sets), cmocka_unit_test(the_last_value_of_a_key_wins),
        cmocka_unit_test(prose_sets_nothing),                      cmocka_unit_test(clip_scale_takes_only_its_own_numbers),
        cmocka_unit_test(information_gain_per_turn),               cmocka_unit_test(notes_are_composed_and_read_back),
        cmocka_unit_test(what_notes_say_already_is_not_said_again), cmocka_unit_test(parameter_names_are_checked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
