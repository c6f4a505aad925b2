/*
 * append_without_claim.c: the common append to a log on a server. It needs no claim: the server gives the row the
 * next id.
 *
 * The rest of the row is decided here, from what this handle knows of the log. The server adds the row only if no trial
 * was kept since, so that the known best trial is still the best (log_append_next). Crashes and discards that others
 * add meanwhile change nothing and need not be read. Rows that depend on more than the best trial need the claim: a row
 * with an id given by the caller, a row with files named after it, and a trial of a night, which may have only one row.
 *
 * All ancestors of the row must be in the log, because a row with a new id closes a cycle only if its ancestors end in
 * a missing parent with that id.
 */
#include "appending.h"

#include <stdint.h>
#include <string.h>

#include "../format/row.h"
#include "../questions/questions.h"
#include "../log/log.h"

/* Whether the trial, as the caller gave it, may be appended without a claim. */
static bool may_do(const struct appending *a)
{
    const struct lineage_append_options *options = a->options;
    return log_gives_ids(a->store->log) && is_empty(a->checked.exp_id) && !options->once_per_night && !options->snapshot_dir &&
           !options->telemetry && !options->beside;
}

/* The state of the log without a claim. While the remembered state is valid nothing is looked up, because the server
 * checks that it still holds. */
static enum lineage_status get_state(struct appending *a, bool *known, struct lineage_error *err)
{
    struct lineage_store *store = a->store;
    const struct append_state *state = store->append;
    enum lineage_status status = LINEAGE_OK;
    if (!state->valid)
        status = append_get_ready(store, false, err);
    if (status == LINEAGE_OK && !state->valid)
        status = log_look(store->log, &a->end, err);
    if (status == LINEAGE_OK && !state->valid && a->end.size)
        status = append_catch_up(store, &a->end, err);
    const struct row_layout *layout = mirror_layout(store->mirror);
    *known = status == LINEAGE_OK && state->valid && state->end.size && !state->finish_line && layout && layout->identical;
    a->end = state->end;
    return status;
}

static enum lineage_status check_ancestors(struct appending *a, bool *there, struct lineage_error *err)
{
    struct id_set *rooted = &a->store->append->rooted;
    const char *parent = a->trial.parent_exp;
    struct mirror_chain_ends ends;
    int64_t seq;
    *there = is_empty(parent) || id_set_has(rooted, parent);
    if (*there)
        return LINEAGE_OK;
    enum lineage_status status = mirror_find_exact(a->store->mirror, parent, &seq, err);
    if (status == LINEAGE_ENOTFOUND) /* the mirror has not read the parent yet */
        return LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = mirror_chain_ends(a->store->mirror, seq, MIRROR_CHAIN_KEPT, 0, 1, &ends, a->arena, err);
    *there = status == LINEAGE_OK && ends.end == LINEAGE_CHAIN_ROOT;
    if (*there && !id_set_add(rooted, parent))
        status = store_no_memory(err);
    return status;
}

/* Writes the row without its id, which the server puts in front. This requires that the id is the first cell and occurs
 * nowhere else in the row. */
static enum lineage_status write_rest(struct appending *a, const char **rest, size_t *length, struct lineage_error *err)
{
    struct buf *bytes = &a->store->append->bytes;
    const size_t id = strlen(a->trial.exp_id);
    buf_reset(bytes);
    row_write(bytes, &a->trial, mirror_layout(a->store->mirror));
    *rest = NULL;
    if (bytes->failed)
        return store_no_memory(err);
    if (bytes->length > id && memcmp(bytes->data, a->trial.exp_id, id) == 0 && bytes->data[id] == '\t') {
        *rest = bytes->data + id;
        *length = bytes->length - id;
    }
    return LINEAGE_OK;
}

/* A refusal may be based on outdated rows, so it is not final: the row is decided again under the claim. */
static bool decide(struct appending *a, struct lineage_error *err)
{
    bool there = false;
    a->trial = a->checked;
    enum lineage_status status = appending_fill_in(a, err);
    if (status == LINEAGE_OK)
        status = check_ancestors(a, &there, err);
    if (status == LINEAGE_OK)
        status = row_check_cells(&a->trial, a->given, err);
    return status == LINEAGE_OK && there && (!a->trial.baseline_exp || strcmp(a->trial.baseline_exp, a->trial.exp_id) != 0);
}

/* Notes the row with the id that the server gave it. If the handle knew all rows before it, it still knows all rows. */
static enum lineage_status note(struct appending *a, const char *id, struct lineage_error *err)
{
    struct lineage_store *store = a->store;
    const bool between = a->end.records == store->append->end.records;
    a->trial.exp_id = arena_text(a->arena, id, strlen(id));
    if (!a->trial.exp_id)
        return store_no_memory(err);
    if (between)
        append_note_apart(store, &a->trial);
    else
        append_note(store, &a->trial, &a->end);
    if (!id_set_add(&store->append->rooted, a->trial.exp_id))
        store->append->valid = false;
    return LINEAGE_OK;
}

enum lineage_status appending_next(struct appending *a, bool *done, struct lineage_error *err)
{
    struct lineage_error why = {0};
    const char *rest = NULL;
    char id[LOG_ID_MAX];
    size_t length = 0;
    bool known = false;
    *done = false;
    if (!may_do(a) || get_state(a, &known, &why) != LINEAGE_OK || !known || !decide(a, &why))
        return LINEAGE_OK;
    if (write_rest(a, &rest, &length, &why) != LINEAGE_OK || !rest)
        return LINEAGE_OK;
    enum lineage_status status =
        log_append_next(a->store->log, &a->end, rest, length, append_may_change_best(&a->trial), id, err);
    *done = status == LINEAGE_OK || !a->store->log->lost;
    if (status == LINEAGE_OK && !a->store->log->found)
        status = note(a, id, err);
    return status;
}
