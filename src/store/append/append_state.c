/*
 * append_state.c: what a writing handle knows of the end of the log, and mending a torn one.
 *
 * A night appends rows one after another. Bringing the mirror up to date for each would cost more
 * than the row, so a handle remembers what it wrote itself: while the log ends where this handle
 * left it, ids since the last sync and the best are known, and the mirror may lag.
 *
 * What is remembered is believed only if the claimed log is the same file with the same length as
 * this handle left it. Bytes changed in place meanwhile are not noticed here but by the next sync;
 * ids and the best are then those of the rows as they were, as for every reader that looked a
 * moment earlier.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../format/row.h"
#include "../questions/questions.h"
#include "append_state.h"
#include "tail.h"

/* best, next_id and the rest stay as they are: they count only while `valid` is set. */
void append_forget(struct append_state *state)
{
    if (!state)
        return;
    id_set_clear(&state->ids);
    id_set_clear(&state->nights);
    id_set_clear(&state->rooted);
    state->parents_behind = false;
    state->valid = false;
    state->finish_line = false;
}

/* At close and not after each row, so that the next command finds the mirror up to date although
 * no row waited for it. */
void append_close(struct lineage_store *store)
{
    struct append_state *state = store->append;
    if (!state)
        return;
    if (state->follow_at_close)
        mirror_follow(store->mirror);
    append_forget(state);
    outbox_remove(&state->outbox, store->dir_fd);
    arena_release(&state->arena);
    buf_release(&state->bytes);
    free(state->best_id);
    free(state);
    store->append = NULL;
}

enum lineage_status append_state_make(struct lineage_store *store, struct lineage_error *err)
{
    if (store->append)
        return LINEAGE_OK;
    store->append = calloc(1, sizeof *store->append);
    if (!store->append)
        return store_no_memory(err);
    store->append->outbox.fd = -1;
    return LINEAGE_OK;
}

/* A configured score column that is one of the 17 is written to its own member, so that it is read
 * back from there. */
static void find_score(struct lineage_store *store)
{
    const struct row_layout *layout = mirror_layout(store->mirror);
    const int core_metric = lineage_column_find("core_metric");
    const char *configured = store->config.metric[0] ? store->config.metric : "core_metric";
    int column = lineage_column_find(layout ? layout->metric : configured);
    bool number = column >= 0 && trial_columns[column].kind == LINEAGE_COLUMN_NUMBER;
    store->append->score_column = (size_t)(number ? column : core_metric);
    store->append->takes_core_metric = layout && layout->column[core_metric] < 0;
}

/* The name of the best is kept beside its score, since it becomes the baseline_exp of rows to
 * come. */
static enum lineage_status load_best(struct lineage_store *store, struct lineage_error *err)
{
    struct append_state *state = store->append;
    struct lineage_trial best = {0};
    int64_t seq;
    enum lineage_status status = mirror_best(store->mirror, &seq, &state->best, err);
    state->has_best = status == LINEAGE_OK;
    if (status == LINEAGE_ENOTFOUND)
        return LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = mirror_load(store->mirror, seq, &best, err);
    if (status == LINEAGE_OK) {
        free(state->best_id);
        state->best_id = strdup(best.exp_id);
        if (!state->best_id)
            status = store_no_memory(err);
    }
    lineage_trial_release(&best);
    return status;
}

/* Outside the claim: a first sync of a large log takes seconds, and nobody else should wait for
 * it. If the log is as this handle left it there is nothing to read. */
enum lineage_status append_get_ready(struct lineage_store *store, struct lineage_error *err)
{
    struct log_state now;
    const struct append_state *state = store->append;
    enum lineage_status status = log_look(store->log, &now, err);
    if (status != LINEAGE_OK || (state && state->valid && log_is_same(&state->end, &now) && state->end.size == now.size))
        return status;
    return mirror_catch_up(store->mirror, err);
}

/*
 * More than this behind the index is read by it, and not here. Records are parsed here one by one
 * for ids and scores; beyond some megabytes the mirror's bulk load is the faster way, and the
 * memory of the id set would grow with them.
 */
#define LONGEST_TAIL ((uint64_t)16 << 20)

/* One that was changed by what was taken back can be made anew; one that others hold, or that cannot be used, is left to
 * the next writer. */
static bool can_make_anew(const struct lineage_store *store)
{
    const struct lineage_error *fallback = mirror_fallback(store->mirror);
    return !store->options.no_mirror && (!fallback || fallback->status == LINEAGE_ECORRUPT);
}

/* The mirror is made anew before the log forgets why: a kill in between leaves both to the next writer. */
static enum lineage_status forget_taken_back(struct lineage_store *store, struct log_state *end, struct lineage_error *err)
{
    if (end->cut_off)
        store_notice(store, 0, "%s: an append that was cut off is taken back%s%s", store->log->name,
                     end->aside[0] ? "; another program wrote behind it, so its bytes are kept in " : "", end->aside);
    bool rebuilt = can_make_anew(store) && mirror_rebuild(store->mirror, NULL) == LINEAGE_OK;
    end->taken_back = end->cut_off = false;
    return rebuilt ? log_settle(store->log, err) : mirror_sync(store->mirror, err);
}

/*
 * What the index read before the claim is nearly all there is. Only where the log became another one, or much longer, in
 * between it must read on under the claim, as where the server was lost in between; and where rows that it has read are gone,
 * all of it. This claim may not be told:
 * whoever held the one before it may have taken them back.
 */
static enum lineage_status meet_index(struct lineage_store *store, struct log_state *end, struct lineage_error *err)
{
    const struct mirror_position *at = mirror_position(store->mirror);
    if (end->taken_back)
        return forget_taken_back(store, end, err);
    if (!end->size && !at->watermark && !mirror_layout(store->mirror)) /* new: making tables while others wait would gain nothing */
        return LINEAGE_OK;
    bool near = log_is_same(&at->log, end) && at->log.session == end->session && at->watermark <= end->size && end->size - at->watermark <= LONGEST_TAIL;
    bool readable = end->size ? at->watermark > 0 : !at->watermark && !mirror_layout(store->mirror); /* of a cut header */
    bool ends = false;
    enum lineage_status status = near && readable ? mirror_ends_in_log(store->mirror, &ends, err) : LINEAGE_OK;
    return ends || status != LINEAGE_OK ? status : mirror_sync(store->mirror, err);
}

/* On a server others append all the time, and a record that is there has ended and stays: what is known goes on from where it
 * was. */
static enum lineage_status take_others(struct lineage_store *store, const struct log_state *end, struct lineage_error *err)
{
    struct append_state *state = store->append;
    enum lineage_status status = tail_read_more(store, state->end.size, end, err);
    state->end = *end;
    if (status != LINEAGE_OK)
        append_forget(state);
    return status;
}

/*
 * The torn end is mended first, or the row would be written behind half a record and become part of
 * it. The best comes before the tail, whose rows are compared with it one after another. Three
 * digits at least, so that the first thousand ids sort as text.
 */
enum lineage_status append_catch_up(struct lineage_store *store, struct log_state *end, struct lineage_error *err)
{
    enum lineage_status status = append_state_make(store, err);
    struct append_state *state = store->append;
    if (status == LINEAGE_OK && state->end.session != end->session)
        append_forget(state);
    if (status != LINEAGE_OK ||
        (state->valid && !end->taken_back && log_is_same(&state->end, end) && state->end.size == end->size))
        return status;
    if (state->valid && store->log->only_grew && mirror_layout(store->mirror) && log_is_same(&state->end, end) &&
        end->size > state->end.size)
        return take_others(store, end, err);
    append_forget(state);
    status = meet_index(store, end, err);
    if (status == LINEAGE_OK)
        status = tail_mend(store, end, err);
    if (status == LINEAGE_OK)
        status = load_best(store, err);
    const struct mirror_position *at = mirror_position(store->mirror);
    state->next_id = at->next_id;
    state->id_width = at->id_width < 3 ? 3 : at->id_width;
    if (status == LINEAGE_OK)
        status = tail_read(store, end, err);
    if (status == LINEAGE_OK)
        find_score(store);
    state->end = *end;
    state->valid = status == LINEAGE_OK;
    return status;
}

/* What was learned from the damaged index (the best, an id that was not there) goes with it. */
bool append_mended(struct lineage_store *store)
{
    if (!mirror_mended(store->mirror))
        return false;
    append_forget(store->append);
    return true;
}

/* The set first: it costs no statement, and nothing in it is in the index yet. */
enum lineage_status append_has_id(struct lineage_store *store, const char *id, bool *found,
                                  struct lineage_error *err)
{
    int64_t seq;
    *found = id_set_has(&store->append->ids, id);
    if (*found)
        return LINEAGE_OK;
    enum lineage_status status = mirror_find_exact(store->mirror, id, &seq, err);
    *found = status == LINEAGE_OK;
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* A blank, which no number begins with, keeps it apart from the ids that the set counts. */
static const char *night_text(char out[LINEAGE_NIGHT_SWEEP_MAX + 32], const struct lineage_night_link *night)
{
    snprintf(out, LINEAGE_NIGHT_SWEEP_MAX + 32, " %016" PRIx64 " %s", night->key, night->sweep);
    return out;
}

enum lineage_status append_has_night(struct lineage_store *store, const struct lineage_night_link *night, bool *found,
                                     struct lineage_error *err)
{
    char text[LINEAGE_NIGHT_SWEEP_MAX + 32];
    int64_t seq;
    *found = id_set_has(&store->append->nights, night_text(text, night));
    if (*found)
        return LINEAGE_OK;
    enum lineage_status status = mirror_find_night(store->mirror, night, &seq, err);
    *found = status == LINEAGE_OK;
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static bool note_night(struct append_state *state, const struct lineage_trial *trial)
{
    char text[LINEAGE_NIGHT_SWEEP_MAX + 32];
    struct lineage_night_link night;
    return trial->status == LINEAGE_HARNESS_ABORT || !lineage_night_link_parse(&night, trial->notes) ||
           id_set_add(&state->nights, night_text(text, &night));
}

/* The same rule as mirror_best: kept, finite, and strictly better, so that of equal scores the
 * earlier row stays the best in both. */
static bool note_best(struct lineage_store *store, const struct lineage_trial *trial)
{
    struct append_state *state = store->append;
    struct lineage_number score = trial->score;
    bool higher = store->config.direction == LINEAGE_HIGHER;
    if (!lineage_label_is_kept(trial->status) || !score.present || !isfinite(score.value) ||
        (state->has_best && !(higher ? score.value > state->best : score.value < state->best)))
        return true;
    char *id = strdup(trial->exp_id);
    if (!id)
        return false;
    free(state->best_id);
    state->best_id = id;
    state->best = score.value;
    state->has_best = true;
    return true;
}

bool append_note_row(struct lineage_store *store, const struct lineage_trial *trial)
{
    struct append_state *state = store->append;
    row_note_id(trial->exp_id, &state->next_id, &state->id_width);
    return note_best(store, trial) && note_night(state, trial) && id_set_add(&state->ids, trial->exp_id);
}

void append_note(struct lineage_store *store, const struct lineage_trial *trial, const struct log_state *end)
{
    struct append_state *state = store->append;
    state->end = *end;
    state->finish_line = false;
    state->follow_at_close = true;
    if (!append_note_row(store, trial)) /* nothing is lost: the next append reads the end again */
        state->valid = false;
}

/* It is read again with the others, when they are; until then its id is known, and that it may be the best. */
void append_note_apart(struct lineage_store *store, const struct lineage_trial *trial)
{
    struct append_state *state = store->append;
    state->follow_at_close = true;
    if (!append_note_row(store, trial))
        state->valid = false;
}

/* Kept is all that is told of a comparison: what is the best of the kept ones is for each reader's own settings to say. */
void append_tell(struct lineage_store *store, const struct lineage_trial *trial)
{
    struct log_after *after = &store->log->after;
    *after = (struct log_after){store->append->next_id, store->append->id_width, lineage_label_is_kept(trial->status)};
    row_note_id(trial->exp_id, &after->next_id, &after->id_width);
}
