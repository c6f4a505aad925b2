/* Tests that readings in lineage.db never change an answer: readings that are missing, outdated or of another text are read again
 * from the texts. Edits use the mirror's connection, so that no page looks damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/ideas.h>

#include "internal.h"
#include "format/arena.h"
#include "mirror/mirror.h"
#include "mirror/statement.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

static void write_log(const char *dir)
{
    struct buf log = {0};
    buf_puts(&log, "exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\t"
                   "core_metric\tval_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\n");
    for (int i = 0; i < 40; i++) {
        buf_printf(&log, "%03d\t\topt\t%.0d\t\t\t", i, i / 2);
        if (i % 3 == 0)
            buf_printf(&log, "Lower muon_wd 0.%d → 0.%d, as in exp_%03d", i + 1, i + 2, i / 3);
        else if (i % 3 == 1)
            buf_printf(&log, "Raise Muon weight decay from 0.%d to 0.%d; ema_decay=0.9%d", i, i + 2, i);
        else
            buf_printf(&log, "Retry of %03d: batch -> %dK", i - 1, i);
        buf_printf(&log, "\t\tdiscard\t%d\t\t\t\t\t\t\tlr=%d | muon weight decay of #%03d\n", i % 7, i, i / 4);
    }
    write_file(in_dir(dir, "results.tsv"), log.data, log.length);
    buf_release(&log);
}

/* Everything that a set of ideas contains and finds, as text; the caller releases it. */
static struct buf all_of(struct lineage_store *store)
{
    struct buf out = {0};
    struct lineage_ideas *ideas;
    assert_int_equal(lineage_ideas_load(&ideas, store, &err), LINEAGE_OK);
    for (size_t i = 0; i < lineage_ideas_count(ideas); i++) {
        const struct lineage_idea *idea = lineage_ideas_get(ideas, i);
        struct lineage_similar_list list;
        buf_printf(&out, "%s:", idea->exp_id);
        struct lineage_change change;
        for (size_t k = 0; lineage_ideas_change_at(&change, ideas, i, k); k++)
            buf_printf(&out, " %s|%s|%s|%s|%.17g|%.17g", change.name, change.knob, change.from ? change.from : "-", change.to,
                       change.from_value.value, change.to_value.value);
        for (size_t k = 0; k < idea->n_cites; k++)
            buf_printf(&out, " %zu", idea->cites[k]);
        assert_int_equal(lineage_ideas_similar(&list, ideas, i, false, 8, &err), LINEAGE_OK);
        for (size_t k = 0; k < list.n; k++)
            buf_printf(&out, " %zu=%.17g%s", list.items[k].trial, list.items[k].score, list.items[k].same ? "!" : "");
        lineage_similar_release(&list);
        buf_put(&out, '\n');
    }
    lineage_ideas_release(ideas);
    assert_false(out.failed);
    return out;
}

static void must_equal_all(struct lineage_store *store, const struct buf *wanted, const char *what)
{
    struct buf found = all_of(store);
    if (strcmp(found.data, wanted->data) != 0)
        fail_msg("after %s:\n%s\ninstead of\n%s", what, found.data, wanted->data);
    buf_release(&found);
}

static void edited_readings_change_no_answer(void **state)
{
    static const char *const edits[] = {
        "DELETE FROM readings WHERE seq % 3 = 0",
        "UPDATE readings SET digest = digest + 1 WHERE seq % 2",
        "DELETE FROM readings; DELETE FROM change_rows; DELETE FROM citation_rows",
        "DELETE FROM readings WHERE seq < 20; UPDATE change_rows SET place = place + 70 WHERE seq < 20",
        "DELETE FROM readings WHERE seq > 20; UPDATE citation_rows SET mention = mention || hex(zeroblob(1000)) WHERE seq > 20",
    };
    char *dir = *state;
    write_log(dir);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    struct buf wanted = all_of(store);
    assert_non_null(strstr(wanted.data, "|0.4|0.5|"));
    assert_string_equal(sql_value(store, "SELECT count(*) FROM readings"), "40");
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        assert_int_equal(mirror_open_to_write(store->mirror, &err), LINEAGE_OK);
        assert_int_equal(mirror_exec(store->mirror, edits[i], &err), LINEAGE_OK);
        must_equal_all(store, &wanted, edits[i]);
        must_equal_all(store, &wanted, "asking again");
        lineage_store_close(store);
        store = open_store(dir, LINEAGE_LOWER, NULL);
        must_equal_all(store, &wanted, "opening again");
    }
    buf_release(&wanted);
    lineage_store_close(store);
}

/* An edit that keeps a reading valid reaches the answer, which proves that the tests above compare something. */
static void valid_readings_are_used(void **state)
{
    char *dir = *state;
    write_log(dir);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    struct buf before = all_of(store);
    assert_int_equal(mirror_open_to_write(store->mirror, &err), LINEAGE_OK);
    assert_int_equal(mirror_exec(store->mirror, "UPDATE change_rows SET new = '77' WHERE seq = 1 AND source = 'stated'", &err),
                     LINEAGE_OK);
    struct buf after = all_of(store);
    assert_null(strstr(before.data, "|77|"));
    assert_non_null(strstr(after.data, "|77|"));
    assert_int_equal(lineage_rebuild(store, &err), LINEAGE_OK);
    must_equal_all(store, &before, "rebuilding");
    buf_release(&before);
    buf_release(&after);
    lineage_store_close(store);
}

static void nothing_is_saved_while_another_process_writes(void **state)
{
    char *dir = *state;
    write_log(dir);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL), *other = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(all_ids(store), all_ids(other));
    assert_int_equal(mirror_exec(other->mirror, "BEGIN IMMEDIATE", &err), LINEAGE_OK);
    struct buf wanted = all_of(store);
    assert_int_equal(mirror_exec(other->mirror, "COMMIT", &err), LINEAGE_OK);
    assert_string_equal(sql_value(store, "SELECT count(*) FROM readings"), "40");
    must_equal_all(store, &wanted, "waiting");
    must_equal_all(other, &wanted, "waiting, for the other process");
    buf_release(&wanted);
    lineage_store_close(other);
    lineage_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(edited_readings_change_no_answer, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(valid_readings_are_used, set_up_dir, tear_down_dir),
        cmocka_unit_test_setup_teardown(nothing_is_saved_while_another_process_writes, set_up_dir, tear_down_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
