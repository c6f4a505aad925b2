/*
 * catch_up.c: finds out what an append must know of the log before it can add a row: the ids in the log, the best
 * trial, and where the log ends. It also mends a torn record at the end.
 *
 * The mirror has read nearly the whole log. The rows that it has not read are read here (unread_rows.c), because
 * bringing the mirror up to date for each row would cost more than the row.
 */
#include "catch_up.h"

#include <stdlib.h>
#include <string.h>

#include "../questions/questions.h"
#include "acknowledged.h"
#include "append_state.h"
#include "torn_record.h"
#include "unread_rows.h"

/* If the configured score column is one of the 17, the score is read from that member. */
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

/* The id of the best trial is kept beside its score, because it becomes the baseline_exp of later rows. */
static enum lineage_status load_best(struct lineage_store *store, struct lineage_error *err)
{
    struct append_state *state = store->append;
    struct lineage_trial best = {0};
    int64_t seq;
    enum lineage_status status = mirror_best(store->mirror, &seq, &state->best, err);
    state->has_best = status == LINEAGE_OK;
    state->scatter = (struct lineage_scatter){0};
    if (status == LINEAGE_ENOTFOUND) {
        two_scores_forget(&state->scores);
        return LINEAGE_OK;
    }
    if (status == LINEAGE_OK && store->config.noise_freedom) /* only a measured noise floor depends on it */
        status = mirror_scatter(store->mirror, INT64_MAX, &state->scatter, err);
    if (status == LINEAGE_OK)
        status = mirror_load(store->mirror, seq, &best, err);
    if (status == LINEAGE_OK) {
        free(state->best_id);
        state->best_id = strdup(best.exp_id);
        if (!state->best_id)
            status = store_no_memory(err);
    }
    lineage_trial_release(&best);
    return status == LINEAGE_OK ? two_scores_load(&state->scores, store, err) : status;
}

/* Called without the claim, because a first sync of a large log takes seconds and other writers should not wait for it.
 * If the log is unchanged since this handle's last row, there is nothing to read. */
enum lineage_status append_get_ready(struct lineage_store *store, bool may_lag, struct lineage_error *err)
{
    struct log_state now;
    const struct append_state *state = store->append;
    enum lineage_status status = log_look(store->log, &now, err);
    if (status != LINEAGE_OK || (state && state->valid && log_is_same(&state->end, &now) && state->end.size == now.size))
        return status;
    return may_lag ? mirror_meet(store->mirror, &now, err) : mirror_catch_up(store->mirror, err);
}

/* If the mirror lags more than this many bytes, it is synced instead of reading the rows here, because its bulk load is
 * faster than parsing records one by one, and because the id set must not grow without limit. */
#define LONGEST_TAIL ((uint64_t)16 << 20)

/* Whether this handle can rebuild a mirror that contains rows which were taken back. A mirror that another process
 * holds, or that cannot be used, is left to the next writer. */
static bool can_make_anew(const struct lineage_store *store)
{
    const struct lineage_error *fallback = mirror_fallback(store->mirror);
    return !store->options.no_mirror && (!fallback || fallback->status == LINEAGE_ECORRUPT);
}

/* The mirror is rebuilt before the log forgets that rows were taken back. After a kill between the two steps, the next
 * writer does both. */
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
 * The mirror has read nearly everything before the claim. Under the claim it must read on only if the log was replaced
 * or grew much in between, or if the connection to the server was lost. It must read everything again if rows that it
 * has read are gone. This is checked in the log itself, because the process that held the previous claim may have taken
 * the rows back, and then this claim does not report it.
 */
static enum lineage_status meet_index(struct lineage_store *store, struct log_state *end, struct lineage_error *err)
{
    const struct mirror_position *at = mirror_position(store->mirror);
    if (end->taken_back)
        return forget_taken_back(store, end, err);
    /* A new log has no rows. Creating the tables of the mirror now would only make other writers wait. */
    if (!end->size && !at->watermark && !mirror_layout(store->mirror))
        return LINEAGE_OK;
    bool near = log_is_same(&at->log, end) && at->log.session == end->session && at->watermark <= end->size &&
                end->size - at->watermark <= LONGEST_TAIL;
    bool readable = end->size ? at->watermark > 0 : !at->watermark && !mirror_layout(store->mirror); /* of a cut header */
    bool ends = false;
    enum lineage_status status = near && readable ? mirror_ends_in_log(store->mirror, &ends, err) : LINEAGE_OK;
    return ends || status != LINEAGE_OK ? status : mirror_sync(store->mirror, err);
}

/* Other writers append to a log on a server all the time. Records that this handle has read never change, so only the
 * records after them are read. */
static enum lineage_status take_others(struct lineage_store *store, const struct log_state *end, struct lineage_error *err)
{
    struct append_state *state = store->append;
    enum lineage_status status = unread_rows_note_from(store, state->end.size, end, err);
    state->end = *end;
    if (status != LINEAGE_OK)
        append_forget(state);
    return status;
}

/* Reads the best trial and the ids from the mirror, then the rows that it has not read. */
static enum lineage_status read_state(struct lineage_store *store, const struct log_state *end, struct lineage_error *err)
{
    struct append_state *state = store->append;
    enum lineage_status status = load_best(store, err);
    (void)acknowledged_missing(store, NULL, NULL); /* a row may have gone since the open: no other row gets its id */
    const struct mirror_position *at = mirror_position(store->mirror);
    state->next_id = at->next_id;
    state->id_width = at->id_width < 3 ? 3 : at->id_width;
    return status == LINEAGE_OK ? unread_rows_note(store, end, err) : status;
}

/* A torn record is mended first; otherwise the new row would become part of it. The best trial is loaded before the
 * unread rows, because each of them is compared with it. Ids have at least three digits, so that the first thousand
 * sort as text. */
static enum lineage_status know_end(struct lineage_store *store, struct log_state *end, struct lineage_error *err)
{
    enum lineage_status status = append_state_make(store, err);
    struct append_state *state = store->append;
    if (status == LINEAGE_OK && !mirror_part_answers(store->mirror))
        status = mirror_complete(store->mirror, err);
    if (status == LINEAGE_OK)
        append_meet_mirror(store);
    if (status == LINEAGE_OK && state->end.session != end->session)
        append_forget(state);
    if (status != LINEAGE_OK ||
        (state->valid && !end->taken_back && log_is_same(&state->end, end) && state->end.size == end->size))
        return status;
    if (state->valid && store->log->only_grew && mirror_layout(store->mirror) && log_is_same(&state->end, end) &&
        end->size > state->end.size) {
        status = take_others(store, end, err);
        if (status != LINEAGE_OK || !state->voids_behind)
            return status;
    }
    append_forget(state);
    status = meet_index(store, end, err);
    if (status == LINEAGE_OK)
        status = torn_record_mend(store, end, err);
    if (status == LINEAGE_OK)
        status = read_state(store, end, err);
    if (status == LINEAGE_OK && state->voids_behind) { /* only the mirror knows which trial is the best now */
        append_forget(state);
        status = mirror_sync(store->mirror, err);
        if (status == LINEAGE_OK)
            status = read_state(store, end, err);
    }
    if (status == LINEAGE_OK)
        find_score(store);
    state->end = *end;
    state->valid = status == LINEAGE_OK;
    return status;
}

/* A server knows ids that it gave to rows which it has lost since; no later row gets one of them. */
enum lineage_status append_catch_up(struct lineage_store *store, struct log_state *end, struct lineage_error *err)
{
    enum lineage_status status = know_end(store, end, err);
    struct append_state *state = store->append;
    if (status == LINEAGE_OK && state->next_id < store->log->next_id) {
        state->next_id = store->log->next_id;
        if (state->id_width < store->log->id_width)
            state->id_width = store->log->id_width;
    }
    return status;
}

enum lineage_status append_catch_up_and(struct lineage_store *store, struct log_state *end, append_decide_fn *then, void *context,
                                        struct lineage_error *err)
{
    for (;;) {
        enum lineage_status status = append_catch_up(store, end, err);
        if (status == LINEAGE_OK && then)
            status = then(context, err);
        if (status == LINEAGE_OK || !mirror_mended(store->mirror))
            return status;
        append_forget(store->append);
    }
}
