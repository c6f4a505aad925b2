/*
 * append.c: one row into the log.
 *
 * What a row says of others (id, parent, best so far, delta, keep or discard: append_rules.c) is decided under the
 * claim of the log, when nobody can add a better trial or the same id in between; what takes long
 * (checking, copying the snapshot) is done before it, because others wait for it.
 *
 * Everything that can be refused is refused before the first byte; what goes beside the row
 * (telemetry, snapshot: append_beside.c) is there before it and taken away again if the row does not get in.
 *
 * Where a kill leaves what: files beside a row that is not there; part of the row, which has no line end
 * and is moved aside. Only a row with its line end is a row, so nothing else has to be undone
 * (FORMAT.md, "What can be in the file after a crash"; tests/fault/append_faults.c fails each
 * system call in turn).
 *
 * The mirror is not part of an append. It is brought up to date before the claim as far as it goes,
 * and again later; a mirror that is locked or damaged delays nobody and loses no row.
 */
#include "appending.h"

#include <string.h>

#include "../format/row.h"
#include "../mirror/mirror.h"
#include "outbox.h"

/* Header and first row in one write: a kill leaves both, or an end that is mended, and never a
 * row under a header that was cut. A row with a line end in a cell could be cut right behind it, and would look whole to
 * a tool that looks at the last byte: it goes in as an import does. */
static enum lineage_status write_row(struct appending *a, struct lineage_error *err)
{
    struct append_state *state = a->store->append;
    const struct row_layout *layout = mirror_layout(a->store->mirror); /* none yet: this handle made the file */
    struct buf *bytes = &state->bytes;
    buf_reset(bytes);
    if (state->finish_line)
        buf_puts(bytes, "\n");
    if (a->end.size == 0)
        row_write_header(bytes);
    size_t row = bytes->length;
    row_write(bytes, &a->trial, layout);
    enum lineage_status status = bytes->failed ? store_no_memory(err) : LINEAGE_OK;
    append_tell(a->store, &a->trial);
    if (status == LINEAGE_OK && memchr(bytes->data + row, '\n', bytes->length - row - 1))
        status = log_append_many(a->store->log, &a->end, bytes->data, bytes->length, !a->options->no_sync, err);
    else if (status == LINEAGE_OK)
        status = log_append(a->store->log, &a->end, bytes->data, bytes->length, !a->options->no_sync, err);
    if (status == LINEAGE_OK && !a->store->log->found)
        append_note(a->store, &a->trial, &a->end);
    else /* found: after a broken connection, and others may have appended behind it */
        append_forget(state);
    return status;
}

/* With the lock held. Each turn begins with the trial as it was given: what the last one filled
 * in was judged by an index that turned out damaged. */
enum lineage_status appending_locked(struct appending *a, struct lineage_error *err)
{
    enum lineage_status status;
    do {
        a->trial = a->checked;
        status = append_catch_up(a->store, &a->end, err);
        if (status == LINEAGE_OK)
            status = appending_fill_in(a, err);
    } while (status != LINEAGE_OK && append_mended(a->store));
    if (status == LINEAGE_OK)
        status = row_check_cells(&a->trial, a->given, err); /* generated cells count too */
    if (status == LINEAGE_OK)
        status = appending_put_beside(a, err);
    if (status == LINEAGE_OK)
        status = write_row(a, err);
    if (status != LINEAGE_OK)
        appending_take_back(a);
    return status;
}

/*
 * Refuse for a store without a file before the lock makes one: nothing is written then, and nobody
 * can be waiting on a file that is taken away again. What is filled in here is decided once more
 * under the claim, when another process may have come first.
 */
static enum lineage_status try_without_file(struct appending *a, struct lineage_error *err)
{
    struct log_state state;
    enum lineage_status status = log_look(a->store->log, &state, err);
    if (status != LINEAGE_OK || state.exists)
        return status;
    a->trial = a->checked;
    status = append_catch_up(a->store, &state, err);
    if (status == LINEAGE_OK)
        status = appending_fill_in(a, err);
    if (status == LINEAGE_OK)
        status = row_check_cells(&a->trial, a->given, err);
    append_forget(a->store->append);
    return status;
}

/* Where nobody has come in between, one look under the claim tells all that the others tell. */
enum lineage_status appending_claim(struct appending *a, struct lineage_error *err)
{
    const struct append_state *state = a->store->append;
    a->end = state->end;
    if (state->valid && log_claim_unchanged(a->store->log, &a->end))
        return LINEAGE_OK;
    enum lineage_status status = a->request ? LINEAGE_OK : try_without_file(a, err);
    if (status == LINEAGE_OK && !(a->request && state->valid)) /* else what others added comes with the claim */
        status = append_get_ready(a->store, err);
    return status == LINEAGE_OK ? log_claim(a->store->log, &a->end, err) : status;
}

/* The row's own texts, and the notes that its parameters and statistics become. */
enum lineage_status appending_check(struct appending *a, const struct lineage_trial *trial, struct lineage_error *err)
{
    a->given = trial;
    a->checked = *trial;
    if (a->options->auto_status) /* not known yet; a discard needs least */
        a->checked.status = LINEAGE_DISCARD;
    enum lineage_status status = row_check(&a->checked, err);
    if (status == LINEAGE_OK)
        status = row_compose_notes(&a->checked.notes, &a->checked, &a->store->append->bytes, a->arena, err);
    return status;
}

/* Once for a handle: looking through snapshots/ for each row of a night would cost more than the row. */
enum lineage_status appending_begin(struct appending *a, struct lineage_error *err)
{
    struct lineage_store *store = a->store;
    if (!store->append)
        snapshot_clean_up(store->dir_fd);
    enum lineage_status status = append_state_make(store, err);
    if (status == LINEAGE_OK)
        a->arena = &store->append->arena;
    return status;
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
    enum lineage_status status = notes_parse(&a->trial, a->trial.notes, a->arena, err);
    return status == LINEAGE_OK ? trial_copy(row, &a->trial, err) : status;
}

static enum lineage_status append_here(struct appending *a, struct lineage_error *err)
{
    enum lineage_status status = appending_claim(a, err);
    if (status != LINEAGE_OK)
        return status;
    status = appending_locked(a, err);
    log_release(a->store->log);
    return status;
}

enum lineage_status lineage_store_append(struct lineage_store *store, const struct lineage_trial *trial,
                                         const struct lineage_append_options *options, struct lineage_trial *row,
                                         struct lineage_error *err)
{
    struct lineage_append_options defaults;
    struct snapshot snapshot;
    struct appending a = {.store = store, .options = options};
    if (!options) {
        lineage_append_options_init(&defaults);
        a.options = &defaults;
    }
    if (row)
        *row = (struct lineage_trial){0};
    enum lineage_status status = store_check_owner(store, err);
    if (status == LINEAGE_OK)
        status = appending_begin(&a, err);
    if (status != LINEAGE_OK)
        return status;
    status = appending_check(&a, trial, err);
    if (status == LINEAGE_OK)
        status = appending_copy_snapshot(&a, &snapshot, err);
    if (status == LINEAGE_OK)
        status = log_has_requests(store->log) ? outbox_append(&a, err) : append_here(&a, err);
    if (status == LINEAGE_OK)
        appending_follow(store, a.options);
    if (status == LINEAGE_OK && row)
        status = appending_give_row(row, &a, err);
    if (a.snapshot)
        snapshot_release(a.snapshot, store->dir_fd);
    arena_reset(a.arena);
    if (status == LINEAGE_OK && !a.kept && store->append->outbox_waits) /* the server is back */
        outbox_deliver_waiting(store);
    return status;
}
