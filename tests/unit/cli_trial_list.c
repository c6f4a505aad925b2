/* Tests which rows count as proposed trials of a night (sweep/trial_list.h). */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "support/files.h"
#include "sweep/trial_list.h"

/* Another process appends the row of a trial of the night. */
static void append_row(const char *dir, const char *link)
{
    struct lineage_append_options options;
    struct lineage_store *store;
    struct lineage_error err;
    const struct lineage_trial trial = {.status = LINEAGE_DISCARD, .core_metric = {true, 1}, .notes = link};
    lineage_append_options_init(&options);
    assert_int_equal(lineage_store_open(&store, dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_append(store, &trial, &options, NULL, &err), LINEAGE_OK);
    lineage_store_close(store);
}

/* Two workers propose the same. The one that comes too late forgets its proposal, but the row of the other is one of the night's trials:
 * otherwise the night would run one more than its limit. */
static void a_proposal_that_another_worker_ran_counts(void **state)
{
    (void)state;
    char *dir = make_dir(), link[LINEAGE_NIGHT_LINK_MAX];
    const struct lineage_config config = {.direction = LINEAGE_LOWER};
    struct night_trial proposed = {.name = "x=7", .key = 77, .proposer = strdup("tpe")};
    struct trial_list list = {.sweep.name = "s"};
    struct lineage_error err;
    assert_int_equal(lineage_store_create(dir, &config, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_open(&list.store, dir, NULL, &err), LINEAGE_OK);
    assert_true(trial_list_add(&list, &proposed));
    append_row(dir, trial_list_link(link, &list, 0));
    assert_int_equal(trial_rows_read(&list), CLI_GO_ON);
    assert_non_null(list.trials[0].exp_id);
    assert_int_equal(list.n_proposed, 0);
    trial_list_forget(&list, 0);
    assert_int_equal(list.n, 0);
    assert_int_equal(list.n_proposed, 1);
    assert_int_equal(trial_rows_read(&list), CLI_GO_ON); /* the row was read */
    assert_int_equal(list.n_proposed, 1);
    lineage_store_close(list.store);
    free(list.trials);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_proposal_that_another_worker_ran_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
