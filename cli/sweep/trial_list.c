#include "sweep/trial_list.h"

#include <unistd.h>

#include <lineage/blobs.h>
#include <lineage/render.h>
#include <lineage/snapshot.h>
#include <lineage/voids.h>

#include "propose/propose_past.h"

bool trial_list_add(struct trial_list *list, const struct night_trial *trial)
{
    if (!CLI_ROOM(list->trials, list->n, list->capacity))
        return false;
    list->trials[list->n++] = *trial;
    return true;
}

int trial_list_add_sweep(struct trial_list *list)
{
    for (size_t i = 0; i < list->sweep.n; i++)
        if (!trial_list_add(list, &list->sweep.list[i]))
            return cli_no_memory();
    return CLI_GO_ON;
}

void trial_list_forget(struct trial_list *list, size_t i)
{
    list->n_proposed += i >= list->sweep.n && list->trials[i].exp_id;
    if (i >= list->sweep.n && i + 1 == list->n)
        night_trial_release(&list->trials[--list->n]);
}

struct night_trial *trial_list_find(const struct trial_list *list, uint64_t key)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->trials[i].key == key)
            return &list->trials[i];
    return NULL;
}

const char *trial_list_link(char out[LINEAGE_NIGHT_LINK_MAX], const struct trial_list *list, size_t i)
{
    const struct night_trial *trial = &list->trials[i];
    return lineage_night_link_format(out, list->sweep.name, trial->name, trial->key);
}

/* Only later trials are checked, because parents come before their children in a sweep (src/trainer/recipe/sweep.c). */
bool trial_list_is_parent(const struct trial_list *list, size_t i)
{
    for (size_t j = i + 1; j < list->n; j++) {
        const struct night_trial *trial = &list->trials[j];
        if (trial->parent == NIGHT_PARENT_TRIAL && trial->parent_trial == i)
            return true;
    }
    return false;
}

void trial_list_release(struct trial_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        night_trial_release(&list->trials[i]);
    free(list->trials);
    list->trials = NULL;
    list->n = list->capacity = 0;
    night_sweep_release(&list->sweep);
}

/* ---- checkpoint files ---- */

/*
 * Checks the length of the path before anything runs, because a trial must not train for an hour and then fail because
 * the name of its checkpoint is too long.
 */
int checkpoint_files_find_directory(struct trial_list *list)
{
    struct lineage_error err;
    char *path;
    if (lineage_store_path(&path, list->store, LINEAGE_PLACE_CHECKPOINTS, &err) != LINEAGE_OK)
        return cli_error(CLI_SYSTEM, "%s", err.text);
    int n = snprintf(list->checkpoints, sizeof list->checkpoints, "%s", path);
    lineage_free(path);
    if ((size_t)n >= sizeof list->checkpoints)
        return cli_error(CLI_USAGE, "the path of the store is too long");
    return CLI_GO_ON;
}

/*
 * The file is named by the trial's key instead of its exp_id, because the file is needed before there is a row, and
 * child trials know their parent's key.
 */
void checkpoint_file(char out[NIGHT_PATH_MAX], const struct trial_list *list, size_t i)
{
    snprintf(out, NIGHT_PATH_MAX, "%s/%016" PRIx64 ".ckpt", list->checkpoints, list->trials[i].key);
}

static const char *blob_name(char out[64], const char *path)
{
    snprintf(out, 64, "checkpoints/%.48s", strrchr(path, '/') + 1);
    return out;
}

void checkpoint_file_send(const struct trial_list *list, const char *path)
{
    char name[64];
    struct lineage_error err;
    if (access(path, R_OK) == 0 && lineage_blob_put(list->store, blob_name(name, path), &err) != LINEAGE_OK)
        cli_say(err.text);
}

void checkpoint_file_fetch(const struct trial_list *list, const char *path)
{
    char name[64];
    struct lineage_error err;
    enum lineage_status status = lineage_blob_get(list->store, blob_name(name, path), &err);
    if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
        cli_say(err.text);
}

/* ---- trial parent ---- */

/*
 * Only a kept trial has a snapshot. The files of every other trial are in the store by their digests, so a trial can go on
 * from one that was discarded. A parent without either is refused: the trial would run the sweep's own files, while its row
 * names that parent.
 */

static bool is_missing(enum lineage_status status)
{
    return status == LINEAGE_ENOTFOUND || status == LINEAGE_ECORRUPT;
}

static int find_files(struct trial_parent *parent, const struct night_sweep *sweep, struct lineage_store *store,
                      const struct lineage_trial *row, char why[NIGHT_WHY_MAX])
{
    struct lineage_error err;
    enum lineage_status status = lineage_snapshot_path(&parent->snapshot, store, row, &err);
    if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
        return cli_fail(&err);
    if (!json_object_get(sweep->root, "files"))
        return CLI_GO_ON;
    status = lineage_code_load(&parent->code, store, row, &err);
    parent->has_code = status == LINEAGE_OK;
    if (parent->has_code || (parent->snapshot && is_missing(status)))
        return CLI_GO_ON;
    if (!is_missing(status))
        return cli_fail(&err);
    snprintf(why, NIGHT_WHY_MAX, "parent: the files of trial %.60s are gone: %.300s, and it has no snapshot", row->exp_id,
             err.text);
    return CLI_NO;
}

int trial_parent_find(struct trial_parent *parent, const struct night_sweep *sweep, struct lineage_store *store,
                      const char *exp_id, char why[NIGHT_WHY_MAX])
{
    struct lineage_trial row = {0};
    struct lineage_error err;
    *parent = (struct trial_parent){.snapshot = NULL};
    why[0] = '\0';
    if (!exp_id || !*exp_id)
        return CLI_GO_ON;
    if (lineage_find(store, exp_id, &row, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = find_files(parent, sweep, store, &row, why);
    lineage_trial_release(&row);
    return status;
}

void trial_parent_release(struct trial_parent *parent)
{
    lineage_free(parent->snapshot);
    lineage_code_release(&parent->code);
    *parent = (struct trial_parent){.snapshot = NULL};
}

/* ---- shared warm start ---- */

void warm_start_checkpoint(char out[NIGHT_PATH_MAX], const struct trial_list *list, const struct night_trial *trial)
{
    snprintf(out, NIGHT_PATH_MAX, "%s/warm-%016" PRIx64 ".ckpt", list->checkpoints, trial->warm_start);
}

/* A trial that starts from a checkpoint or a parent runs no warm start. */
static bool starts_from_nothing(const struct night_trial *trial)
{
    return trial->parent == NIGHT_PARENT_BASE && trial->recipe && !*trial->checkpoint;
}

static bool has_warm_start(const struct night_trial *trial)
{
    return starts_from_nothing(trial) && trial->warm_start;
}

/*
 * Compares with every other trial, which is fast enough: a sweep has at most a few thousand trials, and this is called
 * once for each.
 */
bool warm_start_is_shared(const struct trial_list *list, size_t i)
{
    const struct night_trial *trial = &list->trials[i];
    if (!has_warm_start(trial))
        return false;
    for (size_t j = 0; j < list->n; j++) {
        const struct night_trial *other = &list->trials[j];
        if (j != i && has_warm_start(other) && other->warm_start == trial->warm_start)
            return true;
    }
    return false;
}

/* Whether that shared warm start has been trained. */
static bool warm_start_exists(const struct trial_list *list, size_t i)
{
    char checkpoint[NIGHT_PATH_MAX];
    if (!warm_start_is_shared(list, i))
        return false;
    warm_start_checkpoint(checkpoint, list, &list->trials[i]);
    return access(checkpoint, R_OK) == 0;
}

/* ---- forecast ---- */

/* Nothing is known about a command, so all commands count as equal work. */
static double work(const struct night_trial *trial, bool warms_up)
{
    return trial->recipe ? trial->work + (warms_up ? trial->warm_work : 0) : 1;
}

/* Updates the pace from the row of trial i, which took this many seconds.
 * The slowest pace is used instead of the mean, because a trial that runs into the morning costs more than an idle half
 * hour, and other load on the machine can only make a trial slower. A row does not say whether its time includes a warm
 * start, but the recipe and the sweep do. */
static void forecast_learn_row(struct trial_list *list, size_t i, double seconds)
{
    const struct night_trial *trial = &list->trials[i];
    forecast_learn(list, i, starts_from_nothing(trial) && !warm_start_is_shared(list, i), seconds);
}

void forecast_learn(struct trial_list *list, size_t i, bool warmed_up, double seconds)
{
    list->pace = fmax(list->pace, seconds / work(&list->trials[i], warmed_up));
}

/*
 * Before the first measurement a minute is assumed. With it, --hours 0.01 starts no trial, but any real night starts
 * its first trial.
 */
double forecast_seconds(const struct trial_list *list, size_t i, bool *warms_up)
{
    const struct night_trial *trial = &list->trials[i];
    *warms_up = starts_from_nothing(trial) && !warm_start_exists(list, i);
    return list->pace > 0 ? list->pace * work(trial, *warms_up) : FORECAST_UNMEASURED_SECONDS;
}

double forecast_proposal(const struct trial_list *list, const struct night_trial *trial)
{
    return list->pace > 0 ? list->pace * work(trial, starts_from_nothing(trial)) : FORECAST_UNMEASURED_SECONDS;
}

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
        trial->is_settled = false;
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
    const bool own = strcmp(link.sweep, list->sweep.name) == 0;
    list->n_again += again && own;
    list->n_failed += again && own && !lineage_label_is_measured(row->status);
    if (!trial && !again) {
        list->n_proposed += own;
        return true;
    }
    if (!trial)
        return true;
    if (trial->exp_id && strcmp(trial->exp_id, row->exp_id) == 0)
        return true; /* this process ran the trial and has its result */
    trial->is_settled = false;
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
        cli_tell("%zu failed trial%s run again; `lineage void` lists them", json_object_size(reasons),
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
