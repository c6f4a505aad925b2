#include "sweep/trial_list.h"

#include <stdlib.h>
#include <string.h>

#include <lineage/voids.h>

#include "propose/propose_past.h"

/* A planner's proposal to run a trial again counts as a proposal. */
static bool is_run_again(const struct lineage_trial *row)
{
    struct lineage_replicate replicate;
    return lineage_replicate_parse(&replicate, row->notes) && !lineage_trial_find_param(row, "proposer");
}

/*
 * A trial that was voided while the night runs is still to be run, as if its row had been harness_abort. If it was
 * proposed, another trial may be proposed instead.
 */
static void take_void(struct trial_list *list, const char *exp_id)
{
    struct lineage_trial row = {0};
    struct lineage_night_link link;
    struct lineage_error err;
    bool own = lineage_find(list->store, exp_id, &row, &err) == LINEAGE_OK && lineage_night_link_parse(&link, row.notes) &&
               strcmp(link.sweep, list->sweep.name) == 0 && row.status == LINEAGE_HARNESS_ABORT;
    struct night_trial *trial = own ? trial_list_find(list, link.key) : NULL;
    size_t i = trial ? (size_t)(trial - list->trials) : list->sweep.n;
    if (trial && trial->exp_id && strcmp(trial->exp_id, row.exp_id) == 0 && i < list->sweep.n && !trial->at_work) {
        free(trial->exp_id);
        trial->exp_id = NULL;
    } else if (own && i >= list->sweep.n && list->n_proposed > 0 && !is_run_again(&row)) {
        list->n_proposed--;
    }
    lineage_trial_release(&row);
}

/*
 * The last row with a key wins, because rows are in the order in which the trials ran. Keys do not depend on the other
 * trials of a sweep, so the rows of unchanged trials are still found after the file was edited. A row labelled
 * harness_abort is skipped, because its trial must run again. Rows without a link were written by people or other
 * programs.
 */
static bool take_row(struct trial_list *list, const struct lineage_trial *row)
{
    struct lineage_night_link link;
    bool back;
    list->last_seq = row->seq;
    if (list->counted && lineage_is_void_row(row, &back)) {
        if (!back)
            take_void(list, row->parent_exp);
        return true;
    }
    if (!lineage_night_link_parse(&link, row->notes))
        return true;
    struct night_trial *trial = trial_list_find(list, link.key);
    if (row->status == LINEAGE_HARNESS_ABORT) {
        if (trial && lineage_notes_cause(row->notes) != LINEAGE_CAUSE_INTERRUPT)
            trial->failed_before = true;
        return true;
    }
    bool again = is_run_again(row);
    list->n_again += again && strcmp(link.sweep, list->sweep.name) == 0;
    if (!trial && !again) {
        list->n_proposed += strcmp(link.sweep, list->sweep.name) == 0;
        return true;
    }
    if (!trial)
        return true;
    if (trial->exp_id && strcmp(trial->exp_id, row->exp_id) == 0)
        return true; /* this process ran the trial and has its result */
    free(trial->exp_id);
    trial->label = row->status;
    if (row->core_metric.present && row->total_s.present)
        forecast_learn_row(list, (size_t)(trial - list->trials), row->total_s.value);
    trial->exp_id = strdup(row->exp_id);
    return trial->exp_id != NULL;
}

int trial_rows_read(struct trial_list *list)
{
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    struct lineage_error err;
    bool taken = true;
    const struct lineage_query newer = {.after = list->last_seq};
    if (lineage_query_open(&cursor, list->store, &newer, &err) != LINEAGE_OK)
        return cli_fail(&err);
    enum lineage_status status = LINEAGE_OK;
    while (taken && (status = lineage_cursor_next(cursor, &row, &err)) == LINEAGE_OK)
        taken = take_row(list, &row);
    lineage_cursor_close(cursor);
    list->counted = true;
    if (!taken)
        return cli_no_memory();
    return status == LINEAGE_ENOTFOUND ? CLI_GO_ON : cli_fail(&err);
}

static bool has_changed(const struct trial_list *list, const struct lineage_night_link *link, const char *notes)
{
    char then[COMMAND_PROGRAM_MAX + 3], now[COMMAND_PROGRAM_MAX];
    const struct night_trial *trial = trial_list_find(list, link->key);
    propose_row_program(then, sizeof then, notes);
    return trial && trial->command && then[0] && strcmp(then, command_program(now, &list->sweep, trial->command)) != 0;
}

/* Adds {ID: REASON} for each row to void. */
static enum lineage_status find_retries(json_t *reasons, const struct trial_list *list, unsigned labels,
                                        struct lineage_error *err)
{
    struct lineage_query failed = {.labels = 0};
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    for (int i = 0; i < LINEAGE_N_LABELS; i++)
        failed.labels |= lineage_label_is_failure((enum lineage_label)i) ? 1u << i : 0;
    enum lineage_status status = lineage_query_open(&cursor, list->store, &failed, err);
    if (status != LINEAGE_OK)
        return status;
    while ((status = lineage_cursor_next(cursor, &row, err)) == LINEAGE_OK) {
        struct lineage_night_link link;
        if (!lineage_label_is_failure(row.status) || !lineage_night_link_parse(&link, row.notes) ||
            strcmp(link.sweep, list->sweep.name) != 0)
            continue;
        if (labels & 1u << row.status)
            json_object_set_new(reasons, row.exp_id, json_string("night --retry: it is run again"));
        else if (has_changed(list, &link, row.notes))
            json_object_set_new(reasons, row.exp_id, json_string("the command or its files have changed since: it is run again"));
    }
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* The rows are found first, because a void adds a row to the store that is being read. */
int trial_rows_retry(const struct trial_list *list, unsigned labels)
{
    struct lineage_error err;
    const char *id;
    json_t *reason, *reasons = json_object();
    enum lineage_status status = find_retries(reasons, list, labels, &err);
    json_object_foreach(reasons, id, reason) {
        if (status == LINEAGE_OK)
            status = lineage_void_append(list->store, id, json_string_value(reason), NULL, &err);
        if (status == LINEAGE_EINVAL) /* another worker was first */
            status = LINEAGE_OK;
    }
    if (status == LINEAGE_OK && json_object_size(reasons))
        fprintf(stderr, "lineage: %zu failed trial%s run again; `lineage void` lists them\n", json_object_size(reasons),
                json_object_size(reasons) > 1 ? "s are" : " is");
    json_decref(reasons);
    return status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

/*
 * Asks the store again for each trial instead of taking the sweep's first trial: if the first trial crashed, the next
 * trial is the baseline.
 */
bool trial_rows_need_baseline(const struct trial_list *list)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    enum lineage_status status = lineage_best_kept(list->store, &best, &err);
    lineage_trial_release(&best);
    return status == LINEAGE_ENOTFOUND;
}

static bool starts_from_best(const char *parent)
{
    return parent && (strcmp(parent, "best") == 0 || strcmp(parent, "draw") == 0);
}

bool trial_rows_wait_for_baseline(const struct trial_list *list, bool planner)
{
    const struct night_sweep *sweep = &list->sweep;
    bool depends = planner || !sweep->of_commands || sweep->baseline_seeds > 0 ||
                   json_integer_value(json_object_get(sweep->root, "seeds")) > 1 ||
                   starts_from_best(cli_json_string(sweep->root, "parent"));
    for (size_t i = 0; !depends && i < sweep->n; i++)
        depends = list->trials[i].parent == NIGHT_PARENT_OTHER && starts_from_best(list->trials[i].parent_name);
    return depends && trial_rows_need_baseline(list);
}
