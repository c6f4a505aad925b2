/*
 * append_many.c: appends many rows at once, either all of them or none.
 *
 * The rows are checked before the claim and completed under it, each compared with the rows before it as if it had
 * been appended alone. They reach the log in one write that a kill cannot leave half done (log_append_many).
 */

#include "../format/row.h"
#include "../mirror/mirror.h"
#include "outbox.h"

struct batch {
    struct appending row;                   /* the row in progress */
    struct lineage_append_options by_score; /* options for rows that are labelled by their score */
    const struct lineage_append_options *options;
    const bool *auto_status;
    const struct lineage_trial *trials; /* [n] as given */
    const char **notes;                 /* [n] notes with each trial's parameters written into them */
    struct lineage_trial *rows;         /* [n] the rows as written, for the caller; NULL if it does not ask for them */
    size_t n;
    struct id_set missing;
    struct buf out;
    bool filled; /* `out` holds all rows, completed for an empty log */
};

/* Chooses the options of row i. There are two sets, with and without auto_status, so that the checks of a single append
 * work for each row. */
static void choose_options(struct batch *batch, size_t i)
{
    bool by_score = batch->auto_status ? batch->auto_status[i] : batch->options->auto_status;
    batch->row.options = by_score ? &batch->by_score : batch->options;
}

/* Adds the number of the row to the message. */
static enum lineage_status fail_row(size_t i, enum lineage_status status, struct lineage_error *err)
{
    char text[sizeof err->text];
    if (!err || status == LINEAGE_OK)
        return status;
    memcpy(text, err->text, sizeof text);
    snprintf(err->text, sizeof err->text, "row %zu: %.*s", i + 1, (int)sizeof err->text - 32, text);
    return status;
}

/* All rows are checked before the claim, so that a mistake in any of them is reported without waiting for it. */
static enum lineage_status check_batch(struct batch *batch, struct lineage_error *err)
{
    for (size_t i = 0; i < batch->n; i++) {
        choose_options(batch, i);
        TRY(fail_row(i, appending_check(&batch->row, &batch->trials[i], err), err));
        batch->notes[i] = batch->row.checked.notes;
    }
    return LINEAGE_OK;
}

/* Checks and completes row i and appends it to `out`. */
static enum lineage_status add_row(struct batch *batch, size_t i, struct lineage_error *err)
{
    struct appending *a = &batch->row;
    choose_options(batch, i);
    a->given = &batch->trials[i];
    a->checked = *a->given;
    a->checked.notes = batch->notes[i];
    if (a->options->auto_status)
        a->checked.status = LINEAGE_DISCARD;
    a->trial = a->checked;
    TRY(appending_fill_in(a, err));
    TRY(row_check_cells(&a->trial, a->given, err));
    row_write(&batch->out, &a->trial, mirror_layout(a->store->mirror));
    if (batch->rows)
        batch->rows[i] = a->trial;
    return append_note_row(a->store, &a->trial) && !batch->out.failed ? LINEAGE_OK : store_no_memory(err);
}

/* Completes all rows. If one row is refused, none of them is appended. */
static enum lineage_status fill_in_batch(void *context, struct lineage_error *err)
{
    struct batch *batch = context;
    buf_reset(&batch->out);
    id_set_clear(&batch->missing);
    if (batch->row.store->append->finish_line)
        buf_puts(&batch->out, "\n");
    if (batch->row.end.size == 0)
        row_write_header(&batch->out);
    for (size_t i = 0; i < batch->n; i++)
        TRY(fail_row(i, add_row(batch, i, err), err));
    return LINEAGE_OK;
}

/* See try_without_file in append.c. */
static enum lineage_status try_batch_without_file(struct batch *batch, struct lineage_error *err)
{
    struct appending *a = &batch->row;
    TRY(log_look(a->store->log, &a->end, err));
    if (a->end.exists)
        return LINEAGE_OK;
    enum lineage_status status = append_catch_up_and(a->store, &a->end, fill_in_batch, batch, err);
    batch->filled = status == LINEAGE_OK;
    if (!batch->filled && a->store->append)
        append_forget(a->store->append);
    return status;
}

/* Call it under the claim. Adds all rows by one append that leaves no part of them behind (log_append_many). */
static enum lineage_status append_batch_locked(struct batch *batch, struct lineage_error *err)
{
    struct appending *a = &batch->row;
    enum lineage_status status = LINEAGE_OK;
    if (!batch->filled || a->end.size || a->end.taken_back) { /* the log is no longer empty */
        if (batch->filled)
            append_forget(a->store->append);
        status = append_catch_up_and(a->store, &a->end, fill_in_batch, batch, err);
    }
    if (status == LINEAGE_OK)
        status = log_append_many(a->store->log, &a->end, batch->out.data, batch->out.length, !batch->options->no_sync, err);
    struct append_state *state = a->store->append;
    if (status != LINEAGE_OK) {
        if (state)
            append_forget(state);
        return status;
    }
    state->end = a->end;
    state->finish_line = false;
    state->follow_at_close = true;
    state->valid = state->valid && !state->voids_behind;
    return LINEAGE_OK;
}

static enum lineage_status give_rows(struct batch *batch, struct lineage_trial *rows, struct lineage_error *err)
{
    for (size_t i = 0; i < batch->n; i++) {
        batch->row.trial = batch->rows[i];
        TRY(appending_give_row(&rows[i], &batch->row, err));
    }
    return LINEAGE_OK;
}

static enum lineage_status make_room(struct batch *batch, bool rows, struct lineage_error *err)
{
    batch->notes = calloc(batch->n, sizeof *batch->notes);
    batch->rows = rows ? calloc(batch->n, sizeof *batch->rows) : NULL;
    return batch->notes && (!rows || batch->rows) ? LINEAGE_OK : store_no_memory(err);
}

static void release_batch(struct batch *batch)
{
    if (batch->row.arena)
        arena_release(batch->row.arena); /* freed: it holds the texts of all rows */
    id_set_clear(&batch->missing);
    buf_release(&batch->out);
    free(batch->notes);
    free(batch->rows);
}

static enum lineage_status append_batch_here(struct batch *batch, struct lineage_error *err)
{
    struct lineage_store *store = batch->row.store;
    enum lineage_status status = try_batch_without_file(batch, err);
    if (status == LINEAGE_OK)
        status = append_get_ready(store, false, err);
    if (status == LINEAGE_OK)
        status = log_claim(store->log, &batch->row.end, err);
    if (status != LINEAGE_OK) {
        if (batch->filled) /* the state contains rows that are not in the log */
            append_forget(store->append);
        return status;
    }
    status = append_batch_locked(batch, err);
    log_release(store->log);
    return status;
}

/* For a log on a server. The number of the request ensures that the rows are added only once: a log that has the number
 * already has the rows too. */
static enum lineage_status try_batch(struct batch *batch, struct lineage_error *err)
{
    struct log *log = batch->row.store->log;
    log->may_assume = false;
    enum lineage_status status = append_get_ready(batch->row.store, false, err);
    outbox_request_name(batch->row.request, log);
    if (status == LINEAGE_OK)
        status = log_claim(log, &batch->row.end, err);
    TRY(status);
    if (!log->found)
        status = append_batch_locked(batch, err);
    if (log->found)
        append_forget(batch->row.store->append);
    log_release(log);
    return status;
}

static enum lineage_status try_batch_until_known(struct batch *batch, struct lineage_error *err)
{
    enum lineage_status status;
    batch->row.request->tries = 0;
    do
        status = try_batch(batch, err);
    while (outbox_request_again(batch->row.request, batch->row.store->log, status));
    return status;
}

/* Writes the rows into the request as the caller gave them, except that rows without a time get the current time. */
static enum lineage_status make_batch_request(struct batch *batch, struct outbox_request *request, bool *by_score,
                                              struct lineage_error *err)
{
    struct appending *a = &batch->row;
    RELEASED_BY(outbox_rows_release) struct outbox_rows rows = {0};
    enum lineage_status status = outbox_rows_begin(&rows, batch->trials, batch->n, err);
    for (size_t i = 0; status == LINEAGE_OK && i < batch->n; i++) {
        choose_options(batch, i);
        by_score[i] = a->options->auto_status;
        a->trial = batch->trials[i];
        a->trial.notes = batch->notes[i];
        a->trial.status = by_score[i] ? LINEAGE_DISCARD : a->trial.status;
        status = appending_give_timestamp(a, err);
        if (status == LINEAGE_OK)
            status = outbox_rows_add(&rows, &a->trial, err);
    }
    if (status == LINEAGE_OK)
        status = outbox_request_make(request, a->store, &rows, batch->n, by_score, batch->options, true, err);
    return status;
}

/* The id of a row in the outbox consists of the number of its request and its position in the request. */
static enum lineage_status keep_batch(struct batch *batch, const struct lineage_error *why, struct lineage_error *err)
{
    struct appending *a = &batch->row;
    TRY(outbox_request_keep(a->request, a->store, why, !batch->options->no_sync, err));
    for (size_t i = 0; batch->rows && i < batch->n; i++) {
        batch->rows[i] = batch->trials[i];
        batch->rows[i].notes = batch->notes[i];
        TRY(appending_format_text(a, &batch->rows[i].exp_id, err, "%s.%zu", a->request->id, i + 1));
    }
    return LINEAGE_OK;
}

static enum lineage_status append_batch_on_server(struct batch *batch, struct lineage_error *err)
{
    struct outbox_request request = {0};
    struct lineage_error why = {0};
    SCOPED_FREE bool *by_score = calloc(batch->n, sizeof *by_score);
    enum lineage_status status = by_score ? make_batch_request(batch, &request, by_score, err) : store_no_memory(err);
    batch->row.request = &request;
    if (status == LINEAGE_OK) {
        status = try_batch_until_known(batch, &why);
        if (outbox_is_away(batch->row.store->log, status))
            status = keep_batch(batch, &why, err);
        else if (status != LINEAGE_OK)
            store_give(err, &why);
    }
    outbox_request_end(&request, batch->row.store->log, status);
    return status;
}

static enum lineage_status append_batch(struct batch *batch, struct lineage_error *err)
{
    struct lineage_store *store = batch->row.store;
    TRY(check_batch(batch, err));
    if (batch->row.request)
        TRY(try_batch_until_known(batch, err));
    else
        TRY(log_has_requests(store->log) ? append_batch_on_server(batch, err) : append_batch_here(batch, err));
    appending_follow(store, batch->options);
    return LINEAGE_OK;
}

/* request is the request of rows that come from the outbox, and NULL for new rows. */
static enum lineage_status append_many(struct lineage_store *store, const struct lineage_trial *trials, size_t n,
                                       const bool *auto_status, const struct lineage_append_options *options,
                                       struct lineage_trial *rows, struct outbox_request *request, struct lineage_error *err)
{
    struct lineage_append_options defaults;
    RELEASED_BY(release_batch)
    struct batch batch = {.row.store = store, .row.request = request, .trials = trials, .n = n, .auto_status = auto_status};
    lineage_append_options_init(&defaults);
    if (options)
        defaults = *options;
    batch.by_score = defaults;
    batch.by_score.auto_status = true;
    defaults.auto_status = auto_status ? false : defaults.auto_status;
    batch.options = &defaults;
    batch.row.missing = &batch.missing;
    if (rows && n)
        memset(rows, 0, n * sizeof *rows);
    TRY(store_check_owner(store, err));
    if (defaults.snapshot_dir || defaults.telemetry)
        return store_fail(err, LINEAGE_EINVAL, "a snapshot or telemetry is of one trial; append it by itself");
    if (!n)
        return LINEAGE_OK;
    TRY(appending_begin(&batch.row, err));
    TRY(make_room(&batch, rows != NULL, err));
    TRY(append_batch(&batch, err));
    return rows ? give_rows(&batch, rows, err) : LINEAGE_OK;
}

enum lineage_status lineage_store_append_many(struct lineage_store *store, const struct lineage_trial *trials, size_t n,
                                              const bool *auto_status, const struct lineage_append_options *options,
                                              struct lineage_trial *rows, struct lineage_error *err)
{
    return append_many(store, trials, n, auto_status, options, rows, NULL, err);
}

enum lineage_status outbox_deliver_many(struct lineage_store *store, struct outbox_request *request,
                                        const struct lineage_trial *trials, size_t n,
                                        const struct lineage_append_options *options, struct lineage_error *err)
{
    bool *by_score = calloc(n, sizeof *by_score);
    if (!by_score)
        return store_no_memory(err);
    for (size_t i = 0; i < n; i++)
        by_score[i] = json_is_true(json_array_get(json_object_get(request->about, "auto"), i));
    enum lineage_status status = append_many(store, trials, n, by_score, options, NULL, request, err);
    free(by_score);
    return status;
}
