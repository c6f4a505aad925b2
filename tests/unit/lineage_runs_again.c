/*
 * Tests that the evidence about one trial is the same from the rows that say something about it as from all rows, in random logs
 * whose rows run each other again under both spellings of their ids.
 */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lineage/evidence.h>

#include "support/files.h"
#include "support/rows.h"
#include "support/test_rng.h"

enum { ROUNDS = 150, ROWS_MAX = 40, IDS = 12, SINGLE_ROWS = 2000 };

static struct lineage_error err;

static void some_id(char out[32], struct test_rng *rng)
{
    static const char *const before[] = {"", "", "", "exp_", "exp_", "exp_exp_"};
    if (test_rng_below(rng, 25) == 0)
        strcpy(out, "exp_");
    else
        snprintf(out, 32, "%s%zu", before[test_rng_below(rng, sizeof before / sizeof *before)], test_rng_below(rng, IDS));
}

static void add_random_row(const char *dir, struct test_rng *rng)
{
    static const char *const labels[] = {"keep", "discard", "discard", "baseline", "crash", "harness_abort"};
    char id[32], other[32], metric[32] = "", notes[200] = "prose";
    const size_t kind = test_rng_below(rng, 8);
    some_id(id, rng);
    some_id(other, rng);
    if (test_rng_below(rng, 6))
        snprintf(metric, sizeof metric, "%.3f", (double)test_rng_below(rng, 1000) / 1000);
    if (kind < 3)
        snprintf(notes, sizeof notes, "replicates %s%s", other, kind ? "" : ", score 0.25");
    else if (kind == 3)
        strcpy(notes, "mean of 3 seeds, std 0.125");
    else if (kind == 4)
        snprintf(notes, sizeof notes, "mean of 2 seeds, std 0.5; replicates %s", other);
    const struct row rows[] = {{.id = id, .status = labels[test_rng_below(rng, sizeof labels / sizeof *labels)], .metric = metric, .notes = notes},
                               {.id = NULL}};
    add_rows(dir, rows);
}

static void assert_same_number(double a, double b)
{
    assert_true(a == b || (isnan(a) && isnan(b)));
}

static void assert_same_judgement(const struct lineage_judgement *a, const struct lineage_judgement *b)
{
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->candidate, b->candidate);
    assert_int_equal(a->near, b->near);
    assert_same_number(a->gain, b->gain);
    assert_same_number(a->error, b->error);
}

static void assert_same_trial(const struct lineage_evidence *all, const struct lineage_evidence *few, const char *id)
{
    const size_t i = lineage_evidence_find(all, id), k = lineage_evidence_find(few, id);
    assert_int_equal(i < all->n, k < few->n);
    if (i == all->n)
        return;
    const struct lineage_evidence_trial *a = &all->trials[i], *b = &few->trials[k];
    assert_string_equal(a->exp_id, b->exp_id);
    assert_string_equal(a->kept_id ? a->kept_id : "", b->kept_id ? b->kept_id : "");
    assert_int_equal(a->seq, b->seq);
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->runs.n, b->runs.n);
    assert_int_equal(a->fresh.n, b->fresh.n);
    assert_int_equal(a->again, b->again);
    assert_int_equal(a->failed, b->failed);
    assert_same_number(a->runs.mean, b->runs.mean);
    assert_same_number(a->fresh.mean, b->fresh.mean);
    assert_same_number(a->variance, b->variance);
    assert_int_equal(a->is_best, b->is_best);
    assert_int_equal(a->suggested, b->suggested);
    assert_same_judgement(&a->judgement, &b->judgement);
}

static void assert_same_noise(const struct lineage_noise *a, const struct lineage_noise *b)
{
    assert_same_number(a->std, b->std);
    assert_same_number(a->freedom, b->freedom);
    assert_int_equal(a->runs, b->runs);
    assert_int_equal(a->estimated, b->estimated);
}

static void few_rows_say_the_same_as_all(void **state)
{
    (void)state;
    size_t again = 0;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        char *dir = make_dir();
        struct heard heard = {0};
        struct test_rng rng = {round};
        for (size_t n = 1 + test_rng_below(&rng, ROWS_MAX); n; n--)
            add_random_row(dir, &rng);
        struct lineage_store *store = open_store(dir, round % 2 ? LINEAGE_LOWER : LINEAGE_HIGHER, &heard);
        struct lineage_evidence all, few;
        assert_int_equal(lineage_evidence_load(&all, store, NULL, &err), LINEAGE_OK);
        for (size_t i = 0; i < IDS + 2; i++) {
            char id[32];
            snprintf(id, sizeof id, i < IDS ? "%zu" : "exp_", i);
            assert_int_equal(lineage_evidence_load_for(&few, store, i <= IDS ? id : NULL, &err), LINEAGE_OK);
            assert_true(few.n <= all.n);
            assert_same_noise(&all.noise, &few.noise);
            if (i <= IDS)
                assert_same_trial(&all, &few, id);
            for (size_t k = 0; k < all.n; k++)
                if (all.trials[k].again || all.trials[k].is_best) {
                    assert_same_trial(&all, &few, all.trials[k].exp_id);
                    again++;
                }
            lineage_evidence_release(&few);
        }
        lineage_evidence_release(&all);
        lineage_store_close(store);
        remove_dir(dir);
    }
    assert_true(again > ROUNDS);
}

static void trials_that_ran_once_are_not_read(void **state)
{
    static struct row rows[SINGLE_ROWS + 3];
    static char ids[SINGLE_ROWS][16];
    struct heard heard = {0};
    struct lineage_evidence evidence;
    for (size_t i = 0; i < SINGLE_ROWS; i++) {
        snprintf(ids[i], sizeof ids[i], "%04zu", i);
        rows[i] = (struct row){.id = ids[i], .status = i ? "discard" : "keep", .metric = i ? "2" : "1"};
    }
    rows[SINGLE_ROWS] = (struct row){.id = "a", .status = "discard", .metric = "3", .notes = "replicates 0777"};
    rows[SINGLE_ROWS + 1] = (struct row){.id = "b", .status = "discard", .metric = "4"};
    add_rows(*state, rows);
    struct lineage_store *store = open_store(*state, LINEAGE_LOWER, &heard);
    assert_int_equal(lineage_evidence_load_for(&evidence, store, "exp_0888", &err), LINEAGE_OK);
    assert_int_equal(evidence.n, 4); /* the best, the one that ran again, the one asked about, and the newest */
    assert_int_equal(evidence.trials[lineage_evidence_find(&evidence, "0777")].runs.n, 2);
    assert_true(lineage_evidence_find(&evidence, "888") == evidence.n);
    assert_int_equal(evidence.trials[lineage_evidence_find(&evidence, "0888")].runs.n, 1);
    lineage_evidence_release(&evidence);
    lineage_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rows_say_the_same_as_all),
        cmocka_unit_test_setup_teardown(trials_that_ran_once_are_not_read, set_up_dir, tear_down_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
