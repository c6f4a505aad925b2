/*
 * append_state.c: what a writing handle remembers about the end of the log from one row to the next.
 *
 * A night appends one row after another. Bringing the mirror up to date for each would cost more than the row, so a
 * handle remembers what it wrote: while the log ends where this handle left it, the ids since the last sync and the
 * best trial are known, and the mirror may lag behind.
 *
 * The state is used only if the claimed log is the same file, with the length that this handle left. A change of bytes
 * in place is noticed only by the next sync. Until then this handle uses the ids and the best trial from before the
 * change, as does any reader whose last sync was before it.
 */
#include <inttypes.h>
#include <math.h>

#include <lineage/voids.h>

#include "../format/row.h"
#include "../questions/questions.h"
#include "append_state.h"

/* best, next_id and the rest are left alone, because they count only while `valid` is set. */
void append_forget(struct append_state *state)
{
    if (!state)
        return;
    id_set_clear(&state->ids);
    id_set_clear(&state->nights);
    id_set_clear(&state->rooted);
    state->parents_behind = false;
    state->voids_behind = false;
    state->valid = false;
    state->finish_line = false;
}

/* The mirror is brought up to date at close instead of after each row, and by the next question if few rows are missing. So no row
 * waits for the mirror. */
void append_close(struct lineage_store *store)
{
    struct append_state *state = store->append;
    if (!state)
        return;
    if (state->follow_at_close)
        mirror_follow_far(store->mirror);
    append_forget(state);
    outbox_remove(&state->outbox, store->dir_fd);
    arena_release(&state->arena);
    buf_release(&state->bytes);
    free(state->best_id);
    two_scores_forget(&state->scores);
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

/* The set of ids is searched before the mirror, because that needs no SQL statement and its ids are not in the mirror
 * yet. */
enum lineage_status append_has_id(struct lineage_store *store, const char *id, bool *found, struct lineage_error *err)
{
    int64_t seq;
    *found = id_set_has(&store->append->ids, id);
    if (*found)
        return LINEAGE_OK;
    enum lineage_status status = mirror_find_exact(store->mirror, id, &seq, err);
    *found = status == LINEAGE_OK;
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* The texts begin with a blank and the set's consecutive ids with a digit, so the two cannot be confused. */
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

/* The rule for the best trial is that of mirror_best: kept, with a finite score, and strictly better, so that of two
 * equal scores the earlier row stays the best. */
bool append_note_row(struct lineage_store *store, const struct lineage_trial *trial)
{
    struct append_state *state = store->append;
    const bool higher = store->config.direction == LINEAGE_HIGHER;
    const struct lineage_number score = trial->score;
    struct lineage_night_link night;
    char text[LINEAGE_NIGHT_SWEEP_MAX + 32];
    row_note_id(trial->exp_id, &state->next_id, &state->id_width);
    state->voids_behind = state->voids_behind || lineage_is_void_row(trial, NULL);
    if (lineage_label_is_kept(trial->status) && score.present && isfinite(score.value) &&
        (!state->has_best || (higher ? score.value > state->best : score.value < state->best))) {
        char *id = strdup(trial->exp_id);
        if (!id)
            return false;
        free(state->best_id);
        state->best_id = id;
        state->best = score.value;
        state->has_best = true;
        verdict_setting_read(&state->best_setting, store, trial);
    }
    if (!two_scores_note(&state->scores, &store->config, trial))
        return false;
    if (trial->status != LINEAGE_HARNESS_ABORT && lineage_night_link_parse(&night, trial->notes) &&
        !id_set_add(&state->nights, night_text(text, &night)))
        return false;
    return id_set_add(&state->ids, trial->exp_id);
}

void append_note(struct lineage_store *store, const struct lineage_trial *trial, const struct log_state *end)
{
    struct append_state *state = store->append;
    state->end = *end;
    state->finish_line = false;
    state->follow_at_close = true;
    if (!append_note_row(store, trial) || state->voids_behind)
        state->valid = false; /* nothing is lost: the next append reads the end of the log again */
}

/* The row will be read again together with the rows before it. Until then the state records its id and that it may be
 * the best. */
void append_note_apart(struct lineage_store *store, const struct lineage_trial *trial)
{
    struct append_state *state = store->append;
    state->follow_at_close = true;
    if (!append_note_row(store, trial) || state->voids_behind)
        state->valid = false;
}

bool append_may_change_best(const struct lineage_trial *trial)
{
    return lineage_label_is_kept(trial->status) || lineage_is_void_row(trial, NULL);
}

/* The log learns only whether the row is kept (or voids a trial that may be the best), not whether it is the best, because that depends on each reader's own
 * settings. */
void append_tell(struct lineage_store *store, const struct lineage_trial *trial)
{
    struct log_after *after = &store->log->after;
    *after = (struct log_after){store->append->next_id, store->append->id_width, append_may_change_best(trial)};
    row_note_id(trial->exp_id, &after->next_id, &after->id_width);
}
