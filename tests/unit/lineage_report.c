/* Tests reports: their parts, that a report stays valid after its store is closed, which rules fill which parts, and
 * how rows are chosen to fit a budget. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/report.h>

#include "render/budget.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

static struct lineage_report *load(const struct row *rows, enum lineage_report_rules rules)
{
    struct lineage_report_options options;
    struct lineage_report *report;
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
    lineage_report_options_init(&options);
    options.rules = rules;
    assert_int_equal(lineage_report_load(&report, store, &options, &err), LINEAGE_OK);
    lineage_store_close(store);
    remove_dir(dir); /* the tests need only the report */
    return report;
}

static const struct row sweep[] = {
    {"0", "a", .status = "baseline", .metric = "1", .notes = "lr=0.1; alpha=0.1; gamma=1"},
    {"1", "a", "0", "keep", "2", .notes = "lr=0.1; alpha=0.3; gamma=1", .expected = "+1", .delta = "1"},
    {"2", "b", "1", "discard", "1.5", .notes = "lr=0.1; alpha=0.3; gamma=0.9; cold start", .expected = "+1", .delta = "-0.5"},
    {"3", "b", "2", "keep", "3", .notes = "lr=0.1; alpha=0.1; seed=1", .expected = "+0.5", .delta = "1"},
    {"4", "b", "3", "crash", .notes = "lr=0.1; alpha=0.3; words | no memory"},
    {"5", "a", "3", "crash", .notes = "lr=0.1; alpha=0.3; others | no memory"},
    {"6", "a", "3", "disqualified", "9", .notes = "lr=0.1"},
    {"7", "a", "3", "harness_abort", .notes = "lr=0.2; alpha=0.1; gamma=0.9"},
    {.id = NULL}};

static void parts_agree_with_the_rows(void **state)
{
    (void)state;
    struct lineage_report *r = load(sweep, LINEAGE_RULES_NATIVE);
    assert_string_equal(r->metric, "core_metric");
    assert_int_equal(r->rows, 8);
    assert_int_equal(r->labels[LINEAGE_CRASH], 2);
    assert_int_equal(r->labels[LINEAGE_HARNESS_ABORT], 1);
    assert_string_equal(r->best->exp_id, "3");
    assert_int_equal(r->chain.n, 3);
    assert_int_equal(r->chain.total, 3);
    assert_int_equal(r->chain.passed_over[2], 1);
    assert_int_equal(r->n_leaders, 2);
    assert_string_equal(r->leaders[0].exp_id, "3");
    assert_int_equal(r->n_recent, 7); /* without the aborted trial */
    assert_string_equal(r->recent[0].exp_id, "6");
    assert_int_equal(r->n_calibration, 2);
    assert_string_equal(r->calibration[0].specialist, "b");
    assert_int_equal(r->calibration[0].same_sign, 1);
    assert_null(r->board);
    lineage_report_release(r);
}

static const struct lineage_report_full *full_of(const struct lineage_report *r, const char *id)
{
    for (size_t i = 0; i < r->n_full; i++)
        if (strcmp(r->full[i].trial.exp_id, id) == 0)
            return &r->full[i];
    fail_msg("no trial %s", id);
    return NULL;
}

static void a_trial_is_told_by_what_it_changed(void **state)
{
    (void)state;
    struct lineage_report *r = load(sweep, LINEAGE_RULES_NATIVE);
    const struct lineage_report_full *f = full_of(r, "3");
    assert_string_equal(f->compared_with, "2");
    /* The changes: alpha has another value, seed is new. lr is unchanged, and gamma is inherited. */
    assert_int_equal(f->n_changes, 2);
    assert_string_equal(f->changes[0].name, "alpha");
    assert_true(f->changes[0].before.value == 0.3 && f->changes[0].after.value == 0.1);
    assert_string_equal(f->changes[1].name, "seed");
    assert_false(f->changes[1].before.present);
    assert_string_equal(full_of(r, "2")->remark, "cold start");
    /* It names itself as the best of its time, so it is compared with no trial. */
    f = full_of(r, "0");
    assert_string_equal(f->compared_with, "");
    assert_int_equal(f->n_changes, 2); /* lr is constant */
    lineage_report_release(r);
}

/* The chain of the best may be longer than any limit: each trial declares only what it changed. */
static void parameters_are_inherited_from_any_distance(void **state)
{
    (void)state;
    enum { LONG = 300 };
    struct row rows[LONG + 1] = {{.id = NULL}};
    char ids[LONG][8], scores[LONG][8], notes[LONG][32];
    for (int i = 0; i < LONG; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        snprintf(scores[i], sizeof scores[i], "%d", i);
        snprintf(notes[i], sizeof notes[i], "b=%d%s", i, i == 0 ? "; a=3; c=tanh; seed=1" : i == LONG - 1 ? "; a=5" : "");
        rows[i] = (struct row){ids[i], "s", i ? ids[i - 1] : NULL, i ? "keep" : "baseline", scores[i], .notes = notes[i]};
    }
    struct lineage_report *r = load(rows, LINEAGE_RULES_NATIVE);
    assert_int_equal(r->best->n_params, 3);
    assert_true(r->best->params[0].value == 5 && r->best->params[1].value == LONG - 1);
    assert_string_equal(r->best->params[2].text, "tanh"); /* and the root's seed is its own */
    const struct lineage_report_full *f = full_of(r, ids[LONG - 1]);
    assert_int_equal(f->n_changes, 2);
    assert_true(f->changes[0].before.present && f->changes[0].before.value == 3 && f->changes[0].after.value == 5);
    lineage_report_release(r);
}

static void coverage_names_what_nobody_tried(void **state)
{
    (void)state;
    struct lineage_report *r = load(sweep, LINEAGE_RULES_NATIVE);
    assert_int_equal(r->n_params, 4); /* alpha gamma lr seed */
    assert_string_equal(r->params[0].name, "alpha");
    assert_int_equal(r->params[0].n_values, 2);
    assert_int_equal(r->params[0].values[0].n, 2); /* without the aborted trial */
    assert_true(r->params[0].values[0].best.value == 3);
    assert_int_equal(r->params[0].values[1].labels[LINEAGE_CRASH], 2);
    assert_true(r->params[2].constant); /* the aborted trial's value does not count */
    assert_false(r->params[3].constant);
    assert_int_equal(r->n_grids, 0); /* trial 3 has the gamma of its parent, so all four cells were tried */
    lineage_report_release(r);
    struct row other[sizeof sweep / sizeof *sweep];
    memcpy(other, sweep, sizeof sweep);
    other[3].parent = "1";
    r = load(other, LINEAGE_RULES_NATIVE);
    assert_int_equal(r->n_grids, 1);
    assert_int_equal(r->grids[0].n_untried, 1);
    assert_true(r->grids[0].x->values[r->grids[0].untried[0][0]].value == 0.1 &&
                r->grids[0].y->values[r->grids[0].untried[0][1]].value == 0.9); /* only an abort tried it */
    lineage_report_release(r);
}

/* The report lists parameters and values up to its limits. It counts the others, and gives the range of a parameter. */
static void more_parameters_and_values_than_are_listed(void **state)
{
    (void)state;
    enum { PARAMS = LINEAGE_REPORT_PARAMS + 3, VALUES = LINEAGE_REPORT_VALUES + 5 };
    struct row rows[VALUES + 1] = {{.id = NULL}};
    char ids[VALUES][8], notes[VALUES][2000] = {{0}};
    for (int i = 0; i < VALUES; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        snprintf(notes[i], sizeof notes[i], "a=%d; b=v%02d", i, i);
        for (int j = 2; !i && j < PARAMS; j++)
            snprintf(notes[i] + strlen(notes[i]), 12, "; p%02d=1", j);
        rows[i] = (struct row){ids[i], .status = "keep", .metric = "1", .notes = notes[i]};
    }
    struct lineage_report *r = load(rows, LINEAGE_RULES_NATIVE);
    assert_int_equal(r->n_params, LINEAGE_REPORT_PARAMS);
    assert_int_equal(r->more_params, 3);
    assert_true(r->params[0].more && r->params[1].more);
    assert_int_equal(r->params[0].n_values, LINEAGE_REPORT_VALUES);
    assert_true(r->params[0].high == VALUES - 1);
    assert_string_equal(r->params[1].high_text, "v16");
    lineage_report_release(r);
}

/* A setting changed if it is text in one trial and a number in the other. A nan that stayed nan did not change, and
 * one that only the later trial has declares nothing. */
static void settings_of_two_kinds_are_compared(void **state)
{
    (void)state;
    static const struct row rows[] = {{"0", "a", .status = "keep", .metric = "1", .notes = "p=1; q=x; r=nan; s=nan; t=1"},
                                      {"1", "a", "0", "keep", "2", .notes = "p=x; q=1; r=nan; s=1; t=nan"},
                                      {.id = NULL}};
    struct lineage_report *r = load(rows, LINEAGE_RULES_NATIVE);
    const struct lineage_report_full *f = full_of(r, "1");
    char names[64] = "";
    for (size_t i = 0; i < f->n_changes; i++)
        strcat(names, f->changes[i].name);
    assert_string_equal(names, "pqs");
    lineage_report_release(r);
}

/* Two parameters that always changed together do not form a grid with gaps, nor do two parameters that no trial sets
 * together. */
static void a_grid_has_gaps_or_is_none(void **state)
{
    (void)state;
    static const struct row rows[] = {{"0", "a", .status = "keep", .metric = "1", .notes = "a=1; b=1; c=1"},
                                      {"1", "a", .status = "keep", .metric = "1", .notes = "a=2; b=2; c=1"},
                                      {"2", "a", .status = "keep", .metric = "1", .notes = "a=1; b=1; c=2; e=1"},
                                      {"3", "a", .status = "keep", .metric = "1", .notes = "a=3; b=2; c=3; e=2"},
                                      {"4", "a", .status = "keep", .metric = "1", .notes = "a=3; b=3; c=3"},
                                      {.id = NULL}};
    struct lineage_report *r = load(rows, LINEAGE_RULES_NATIVE);
    for (size_t i = 0; i < r->n_grids; i++)
        assert_true(r->grids[i].n_untried > 0 && r->grids[i].n_untried < r->grids[i].n_cells);
    assert_int_not_equal(r->n_grids, 0);
    lineage_report_release(r);
}

static void rules_that_are_none_are_refused(void **state)
{
    (void)state;
    struct lineage_report_options options;
    struct lineage_report *report;
    char *dir = make_dir();
    add_rows(dir, (const struct row[]){{"", .status = "keep", .metric = "1"}, {.id = NULL}});
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    lineage_report_options_init(&options);
    options.rules = (enum lineage_report_rules)77;
    assert_int_equal(lineage_report_load(&report, store, &options, &err), LINEAGE_EINVAL);
    assert_null(report);
    options.rules = LINEAGE_RULES_FIELDKIT; /* the best trial has no id, so it has no chain */
    assert_int_equal(lineage_report_load(&report, store, &options, &err), LINEAGE_OK);
    assert_non_null(report->best);
    assert_int_equal(report->chain.n, 0);
    lineage_report_release(report);
    lineage_store_close(store);
    remove_dir(dir);
}

/* The pair is found by walking both lists of trials, because its trial is not among the first ones with that value. */
static void a_pair_tried_late_is_tried(void **state)
{
    (void)state;
    struct row rows[52] = {{.id = NULL}};
    char ids[51][8];
    for (int i = 0; i < 51; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        rows[i] = (struct row){ids[i], .status = "discard", .metric = "1", .notes = "alpha=0.1; gamma=1"};
    }
    rows[25].status = "harness_abort"; /* an aborted trial does not count as tried */
    rows[25].notes = "alpha=0.3; gamma=0.9";
    rows[40].notes = "alpha=0.1; gamma=0.9";
    rows[50].notes = "alpha=0.3; gamma=1";
    struct lineage_report *r = load(rows, LINEAGE_RULES_NATIVE);
    assert_int_equal(r->n_grids, 1);
    assert_int_equal(r->grids[0].n_untried, 1);
    assert_true(r->grids[0].x->values[r->grids[0].untried[0][0]].value == 0.3 &&
                r->grids[0].y->values[r->grids[0].untried[0][1]].value == 0.9);
    lineage_report_release(r);
}

static void failures_say_why(void **state)
{
    (void)state;
    struct lineage_report *r = load(sweep, LINEAGE_RULES_NATIVE);
    assert_int_equal(r->n_failures, 2);
    assert_int_equal(r->failures[0].label, LINEAGE_CRASH);
    assert_int_equal(r->failures[0].n_reasons, 1);
    assert_string_equal(r->failures[0].reasons[0].text, "no memory");
    assert_string_equal(r->failures[0].reasons[0].exp_id, "5");
    assert_int_equal(r->failures[0].reasons[0].n, 2);
    assert_int_equal(r->failures[0].n_specialists, 2);
    assert_string_equal(r->failures[1].reasons[0].text, "");
    lineage_report_release(r);
}

static void a_long_chain_keeps_its_ends(void **state)
{
    (void)state;
    struct row rows[101] = {{.id = NULL}};
    char ids[100][8];
    for (int i = 0; i < 100; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        rows[i] = (struct row){ids[i], .parent = i ? ids[i - 1] : NULL, .status = "keep", .metric = ids[i]};
    }
    struct lineage_report *r = load(rows, LINEAGE_RULES_NATIVE);
    assert_int_equal(r->chain.total, 100);
    assert_int_equal(r->chain.n, 30);
    assert_int_equal(r->chain.first, 7);
    assert_string_equal(r->chain.trials[0].exp_id, "0");
    assert_string_equal(r->chain.trials[6].exp_id, "6");
    assert_string_equal(r->chain.trials[7].exp_id, "77");
    assert_string_equal(r->chain.trials[29].exp_id, "99");
    lineage_report_release(r);
    r = load(rows, LINEAGE_RULES_FIELDKIT);
    assert_int_equal(r->chain.n, 100);
    lineage_report_release(r);
}

static void rules_fill_their_own_parts(void **state)
{
    (void)state;
    struct lineage_report *r = load(sweep, LINEAGE_RULES_FIELDKIT);
    assert_string_equal(r->best->exp_id, "6"); /* the best score, with any status */
    assert_int_equal(r->n_recent, 8);
    assert_int_equal(r->n_failures, 0);
    lineage_report_release(r);
    r = load(sweep, LINEAGE_RULES_BOARD);
    assert_null(r->best);
    assert_int_equal(r->board->n, 8);
    assert_string_equal(r->board->rows[1].score, "2");
    assert_int_equal(r->board->parent_row[1], 0);
    assert_int_equal(r->board->parent_row[0], LINEAGE_BOARD_NONE);
    assert_false(r->board->best.present);
    lineage_report_release(r);
    lineage_report_release(NULL);
}

static void an_empty_store_is_no_failure(void **state)
{
    (void)state;
    const struct row none[] = {{.id = NULL}};
    struct lineage_report *r = load(none, LINEAGE_RULES_NATIVE);
    assert_int_equal(r->rows, 0);
    assert_null(r->best);
    assert_int_equal(r->n_recent + r->n_full + r->n_params + r->n_grids + r->n_failures, 0);
    lineage_report_release(r);
}

/* ---- rows that fit ---- */

/* Makes a block of two parts: an essential row, and a list of ten rows of decreasing worth. */
static void make_block(struct block *block)
{
    *block = (struct block){0};
    block_begin(block, "core", true);
    buf_puts(&block->text, "C\n");
    block_head_end(block);
    buf_puts(&block->text, "essential\n");
    block_row_end(block, 1, true);
    block_begin(block, "list", true);
    buf_puts(&block->text, "L\n");
    block_head_end(block);
    for (int i = 0; i < 10; i++) {
        buf_printf(&block->text, "%d\n", i);
        block_brief_end(block);
        buf_printf(&block->text, "%d in full\n", i);
        block_row_end(block, 100.0 / (1 + i), false);
    }
    buf_puts(&block->text, "end\n");
    block_tail_end(block);
    assert_false(block->failed);
}

static void any_budget_holds_and_is_filled(void **state)
{
    (void)state;
    struct block block;
    make_block(&block);
    budget_choose(&block, 0);
    size_t all = budget_size(&block), before = 0;
    for (size_t room = 1; room <= all + 3; room++) {
        struct buf out = {0}, told = {0};
        budget_choose(&block, room);
        budget_print(&out, &block);
        budget_tell(&told, &block);
        assert_true(out.length <= room);
        /* Once the headings fit, a larger budget never shows less. */
        assert_true(out.length >= before || room < 40);
        assert_true(room < 12 || strstr(out.data, "essential"));
        assert_true((told.length == 0) == (out.length == all));
        /* The unused rest is smaller than a row. */
        assert_true(room < 60 || room - out.length < 10 || out.length == all);
        before = out.length;
        buf_release(&out);
        buf_release(&told);
    }
    block_release(&block);
}

static void a_list_is_cut_at_its_end(void **state)
{
    (void)state;
    struct block block;
    struct buf out = {0}, told = {0};
    make_block(&block);
    budget_choose(&block, 30);
    budget_print(&out, &block);
    budget_tell(&told, &block);
    assert_memory_equal(out.data, "C\nessential\nL\n0", 15);
    assert_string_equal(out.data + out.length - 4, "end\n");
    assert_null(strstr(out.data, "9\n"));
    assert_non_null(strstr(told.data, "list "));
    buf_release(&out);
    buf_release(&told);
    block_release(&block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_agree_with_the_rows),
        cmocka_unit_test(a_trial_is_told_by_what_it_changed),
        cmocka_unit_test(parameters_are_inherited_from_any_distance),
        cmocka_unit_test(coverage_names_what_nobody_tried),
        cmocka_unit_test(more_parameters_and_values_than_are_listed),
        cmocka_unit_test(settings_of_two_kinds_are_compared),
        cmocka_unit_test(a_grid_has_gaps_or_is_none),
        cmocka_unit_test(rules_that_are_none_are_refused),
        cmocka_unit_test(a_pair_tried_late_is_tried),
        cmocka_unit_test(failures_say_why),
        cmocka_unit_test(a_long_chain_keeps_its_ends),
        cmocka_unit_test(rules_fill_their_own_parts),
        cmocka_unit_test(an_empty_store_is_no_failure),
        cmocka_unit_test(any_budget_holds_and_is_filled),
        cmocka_unit_test(a_list_is_cut_at_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
