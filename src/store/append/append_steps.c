/* append_steps.c: the steps of an append, before the claim of the log and under it (appending.h). */
#include "appending.h"

#include <math.h>

#include <lineage/notes.h>
#include <lineage/voids.h>

#include "../code/code_offer.h"
#include "../format/row.h"
#include "../mirror/mirror.h"
#include "../questions/questions.h"

/* Completes the row. Starts from the trial as the caller gave it, because this function is called again if the mirror
 * turns out to be damaged. */
static enum lineage_status fill_in(void *context, struct lineage_error *err)
{
    struct appending *a = context;
    a->trial = a->checked;
    return appending_fill_in(a, err);
}

/*
 * The header and the first row are written by one write: a kill leaves both, or a torn end, but never a row under half
 * a header. A row with a line end inside a cell could be cut right after that line end and then look complete to a tool
 * that checks only the last byte. Such a row is therefore written like an import, which a kill cannot leave half done.
 */
static enum lineage_status write_row(struct appending *a, struct lineage_error *err)
{
    struct append_state *state = a->store->append;
    struct log *log = a->store->log;
    struct buf *bytes = &state->bytes;
    buf_reset(bytes);
    if (state->finish_line)
        buf_puts(bytes, "\n");
    if (a->end.size == 0)
        row_write_header(bytes);
    size_t row = bytes->length;
    row_write(bytes, &a->trial, mirror_layout(a->store->mirror)); /* layout is NULL if this handle created the log */
    if (bytes->failed)
        return store_no_memory(err);
    append_tell(a->store, &a->trial);
    bool line_end_in_cell = memchr(bytes->data + row, '\n', bytes->length - row - 1) != NULL;
    enum lineage_status status = line_end_in_cell
                                     ? log_append_many(log, &a->end, bytes->data, bytes->length, !a->options->no_sync, err)
                                     : log_append(log, &a->end, bytes->data, bytes->length, !a->options->no_sync, err);
    if (status == LINEAGE_OK && !log->found)
        append_note(a->store, &a->trial, &a->end);
    else /* found: our row was added before the connection broke; rows of others may follow */
        append_forget(state);
    return status;
}

static enum lineage_status decide(struct appending *a, struct lineage_error *err)
{
    TRY(append_catch_up_and(a->store, &a->end, fill_in, a, err));
    return row_check_cells(&a->trial, a->given, err);
}

enum lineage_status appending_locked(struct appending *a, struct lineage_error *err)
{
    enum lineage_status status = decide(a, err);
    if (status == LINEAGE_OK)
        status = appending_put_beside(a, err);
    if (status == LINEAGE_OK)
        status = write_row(a, err);
    if (status != LINEAGE_OK)
        appending_take_back(a);
    return status;
}

/*
 * In a store without a log, refuses a bad row before the claim creates the log file. Then nothing is written, and no
 * process waits for a file that is removed again. The checks are repeated under the claim, because another process may
 * have appended first.
 */
static enum lineage_status try_without_file(struct appending *a, struct lineage_error *err)
{
    struct log_state state;
    TRY(log_look(a->store->log, &state, err));
    if (state.exists)
        return LINEAGE_OK;
    a->trial = a->checked;
    enum lineage_status status = append_catch_up(a->store, &state, err);
    if (status == LINEAGE_OK)
        status = appending_fill_in(a, err);
    if (status == LINEAGE_OK)
        status = row_check_cells(&a->trial, a->given, err);
    append_forget(a->store->append);
    return status;
}

/* If no other process has appended, checking that the log is unchanged is all that the claim has to do. */
enum lineage_status appending_claim(struct appending *a, struct lineage_error *err)
{
    const struct append_state *state = a->store->append;
    a->end = state->end;
    if (state->valid && log_claim_unchanged(a->store->log, &a->end))
        return LINEAGE_OK;
    TRY(a->request ? LINEAGE_OK : try_without_file(a, err));
    if (!(a->request && state->valid)) /* otherwise the claim returns the rows of others */
        TRY(append_get_ready(a->store, !a->options->allow_missing_parent, err));
    return log_claim(a->store->log, &a->end, err);
}

/* Puts the values that are meant in the place of what lineage has shown of them, so that no second value looks like the first.
 * It needs the mirror, without which the texts stay. */
static enum lineage_status mean_params(struct appending *a, struct lineage_error *err)
{
    struct lineage_param *meant = NULL;
    for (size_t i = 0; i < a->checked.n_params; i++) {
        const char *text = a->checked.params[i].text;
        if (!text || !text_has_stand_in(text) || (!meant && mirror_sync(a->store->mirror, NULL) != LINEAGE_OK) ||
            name_exact_text(&text, a->store->mirror, a->checked.params[i].name, a->arena, NULL) != LINEAGE_OK)
            continue;
        if (!meant && !(meant = arena_alloc(a->arena, a->checked.n_params, sizeof *meant)))
            return store_no_memory(err);
        if (a->checked.params != meant)
            memcpy(meant, a->checked.params, a->checked.n_params * sizeof *meant);
        meant[i].text = text;
        a->checked.params = meant;
    }
    return LINEAGE_OK;
}

enum lineage_status appending_check(struct appending *a, const struct lineage_trial *trial, struct lineage_error *err)
{
    a->given = trial;
    a->checked = *trial;
    if (a->options->auto_status) /* undecided yet; discard passes with the fewest checks */
        a->checked.status = LINEAGE_DISCARD;
    TRY(row_check(&a->checked, err));
    TRY(mean_params(a, err));
    TRY(row_compose_notes(&a->checked.notes, &a->checked, &a->store->append->bytes, a->arena, err));
    /* before the claim, because it may take long */
    code_offer(a->store, a->checked.notes);
    return LINEAGE_OK;
}

/* Leftover snapshots are removed once per handle: listing snapshots/ for each row would cost more than the row. */
enum lineage_status appending_begin(struct appending *a, struct lineage_error *err)
{
    struct lineage_store *store = a->store;
    if (!store->append)
        snapshot_clean_up(store->dir_fd);
    TRY(append_state_make(store, err));
    a->arena = &store->append->arena;
    return LINEAGE_OK;
}

void appending_follow(struct lineage_store *store, const struct lineage_append_options *options)
{
    struct append_state *state = store->append;
    state->follow_at_close = state->follow_at_close && !options->no_mirror_sync;
    if (state->ids.n < APPEND_LAG && !options->allow_missing_parent)
        return;
    mirror_follow(store->mirror);
    bool valid = state->valid && mirror_position(store->mirror)->watermark == state->end.size;
    append_forget(state);
    state->valid = valid;
    state->follow_at_close = false;
}

enum lineage_status appending_give_row(struct lineage_trial *row, struct appending *a, struct lineage_error *err)
{
    TRY(notes_parse(&a->trial, a->trial.notes, a->arena, err));
    return lineage_trial_copy(row, &a->trial, err);
}

/* Decides everything under the claim, as an append does, and then gives the claim back without writing. */
enum lineage_status appending_check_locked(struct appending *a, struct lineage_error *err)
{
    enum lineage_status status = decide(a, err);
    log_release(a->store->log);
    return status;
}
