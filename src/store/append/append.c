/*
 * append.c: the rules of an append, and one row into the log.
 *
 * What a row says of others (id, parent, best so far, delta, keep or discard) is decided under the
 * claim of the log, when nobody can add a better trial or the same id in between; what takes long
 * (checking, copying the snapshot) is done before it, because others wait for it.
 *
 * Everything that can be refused is refused before the first byte; what goes beside the row
 * (telemetry, snapshot) is there before it and taken away again if the row does not get in.
 *
 * Where a kill leaves what, in the order of lineage_store_append: a copy of the snapshot under a
 * temporary name, locked and removed by the next append; telemetry and a snapshot without a row,
 * which `verify` names and the next row of that id replaces; part of the row, which has no line end
 * and is moved aside. Only a row with its line end is a row, so nothing else has to be undone
 * (FORMAT.md, "What can be in the file after a crash"; tests/fault/append_faults.c fails each
 * system call in turn).
 *
 * The mirror is not part of an append. It is brought up to date before the claim as far as it goes,
 * and again later; a mirror that is locked or damaged delays nobody and loses no row.
 */
#include "appending.h"
#include "outbox_rows.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lineage/blobs.h>
#include <lineage/text.h>
#include <lineage/time.h>

#include "../blobs/blobs.h"
#include "../format/row.h"
#include "../index/index.h"
#include "../files/fs.h"
#include "../files/snapshot.h"
#include "../files/telemetry.h"
#include "verdict.h"

static enum lineage_status format_text(struct appending *a, const char **out, struct lineage_error *err,
                                       const char *format, ...) __attribute__((format(printf, 4, 5)));

static enum lineage_status format_text(struct appending *a, const char **out, struct lineage_error *err,
                                       const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    *out = arena_text(a->arena, text, (size_t)length);
    return *out ? LINEAGE_OK : store_no_memory(err);
}

static void place_score(struct appending *a)
{
    const struct append_state *state = a->store->append;
    struct lineage_number *member = trial_number_member(&a->trial, state->score_column);
    if (state->takes_core_metric && !member->present)
        *member = a->trial.core_metric;
    a->trial.score = *member;
}

/*
 * A value for which the file has no column would be lost on the way to the disk while the caller
 * sees it in the row that is returned. A five-column log has no column for a parent, a delta or
 * notes at all.
 */
static enum lineage_status check_layout(struct appending *a, struct lineage_error *err)
{
    const struct row_layout *layout = index_layout(a->store->index);
    if (!layout) {
        const char *metric = a->store->config.metric;
        if (metric[0] && lineage_column_find(metric) < 0)
            return store_fail(err, LINEAGE_EINVAL, "a new %s has no column '%s' for the score", a->store->log->name,
                              metric);
        return LINEAGE_OK;
    }
    if (layout->identical)
        return LINEAGE_OK;
    if (layout->shape == ROW_AUTORESEARCH)
        return store_fail(err, LINEAGE_EINVAL,
                          "%s is a five-column log; `lineage import` it into a new store first",
                          a->store->log->place);
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++) {
        const char *text = lineage_trial_text(&a->trial, i);
        if (layout->column[i] < 0 && text && *text)
            return store_fail(err, LINEAGE_EINVAL, "%s has no column %s; `lineage import` it first",
                              a->store->log->place, lineage_column(i)->name);
    }
    return LINEAGE_OK;
}

static const char *without_prefix(const char *id)
{
    return strncmp(id, "exp_", 4) == 0 ? id + 4 : id;
}

/*
 * The id in the store that names the same trial, exp_014 or 014: as written first, then bare, then
 * with the prefix. *there is NULL if there is none. A longer id would not fit the buffer of
 * format_text; it is looked for without the prefix only.
 */
static enum lineage_status find_spelling(struct appending *a, const char *id, const char **there,
                                         struct lineage_error *err)
{
    const char *spellings[] = {id, without_prefix(id), NULL};
    enum lineage_status status = LINEAGE_OK;
    bool found = false;
    *there = NULL;
    if (strlen(id) <= 256)
        status = format_text(a, &spellings[2], err, "exp_%s", id);
    for (size_t i = 0; status == LINEAGE_OK && !found && i < 3; i++)
        if (spellings[i] && (!i || spellings[i] != id)) {
            status = append_has_id(a->store, spellings[i], &found, err);
            *there = found ? spellings[i] : NULL;
        }
    return status;
}

/* Padded to the widest there is, since people sort these ids as text. */
static enum lineage_status give_next_id(struct appending *a, struct lineage_error *err)
{
    const struct append_state *state = a->store->append;
    char text[32];
    size_t at = sizeof text, width = state->id_width < 20 ? state->id_width : 20; /* a damaged mirror may say anything */
    for (uint64_t left = state->next_id; left || sizeof text - at < width; left /= 10)
        text[--at] = (char)('0' + left % 10);
    a->trial.exp_id = arena_text(a->arena, text + at, sizeof text - at);
    return a->trial.exp_id ? LINEAGE_OK : store_no_memory(err);
}

/*
 * A given id is refused in either spelling, because readers resolve one to the other: exp_014
 * beside 014 would make two trials answer to one name.
 */
static enum lineage_status give_id(struct appending *a, struct lineage_error *err)
{
    const char *there;
    if (is_empty(a->trial.exp_id))
        return give_next_id(a, err);
    enum lineage_status status = find_spelling(a, a->trial.exp_id, &there, err);
    if (status != LINEAGE_OK || !there)
        return status;
    if (strcmp(there, a->trial.exp_id) == 0)
        return store_fail(err, LINEAGE_EEXIST, "exp_id '%.80s' is already in %s", there, a->store->log->place);
    return store_fail(err, LINEAGE_EEXIST, "exp_id '%.80s' names the same trial as '%.80s', which is already in %s",
                      a->trial.exp_id, there, a->store->log->place);
}

/*
 * A new id closes a cycle only if a row already names it as parent: then its own ancestors are
 * walked. Rows come in after their parents nearly always, so the walk is rare. The mirror must have
 * the parents of rows behind it for that: only then is it brought up to date under the claim.
 */
static enum lineage_status check_cycle(struct appending *a, struct lineage_error *err)
{
    bool awaited = false, cycle = false;
    struct append_state *state = a->store->append;
    enum lineage_status status = state->parents_behind ? index_sync(a->store->index, err) : LINEAGE_OK;
    state->parents_behind = state->parents_behind && status != LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = index_is_parent(a->store->index, a->trial.exp_id, &awaited, err);
    if (status == LINEAGE_OK && a->missing) { /* the index cannot walk through rows that are not in the log yet */
        if (!awaited && !id_set_has(a->missing, without_prefix(a->trial.exp_id)))
            return LINEAGE_OK;
        return store_fail(err, LINEAGE_EINVAL, "exp_id '%.80s' has been named as a parent already; append it by itself",
                          a->trial.exp_id);
    }
    if (status == LINEAGE_OK && awaited && state->ids.n) /* ancestors may be among the rows behind the index */
        status = index_sync(a->store->index, err);
    if (status == LINEAGE_OK && awaited)
        status = index_descends(a->store->index, a->trial.parent_exp, a->trial.exp_id, &cycle, err);
    if (status == LINEAGE_OK && cycle)
        status = store_fail(err, LINEAGE_EINVAL, "parent_exp '%.80s' descends from exp_id '%.80s': a cycle",
                            a->trial.parent_exp, a->trial.exp_id);
    return status;
}

/* A row that names itself is caught here, before it exists, and not by the walk, which would
 * find no such row. */
static enum lineage_status check_parent(struct appending *a, struct lineage_error *err)
{
    const char *there;
    if (is_empty(a->trial.parent_exp))
        return LINEAGE_OK;
    enum lineage_status status = find_spelling(a, a->trial.parent_exp, &there, err);
    if (status == LINEAGE_OK && there)
        a->trial.parent_exp = there; /* as it stands in the store, which every tool follows */
    if (status == LINEAGE_OK && !there &&
        strcmp(without_prefix(a->trial.parent_exp), without_prefix(a->trial.exp_id)) == 0)
        return store_fail(err, LINEAGE_EINVAL, "parent_exp is exp_id itself, '%.80s'", a->trial.exp_id);
    if (status == LINEAGE_OK && !there && !a->options->allow_missing_parent)
        status = store_fail(err, LINEAGE_ENOTFOUND, "parent_exp '%.80s' is not in %s",
                            a->trial.parent_exp, a->store->log->place);
    if (status == LINEAGE_OK)
        status = check_cycle(a, err);
    if (status == LINEAGE_OK && !there && a->missing && !id_set_add(a->missing, without_prefix(a->trial.parent_exp)))
        status = store_no_memory(err);
    return status;
}

/* Rows of one second share what the calendar makes of it. */
enum lineage_status appending_give_timestamp(struct appending *a, struct lineage_error *err)
{
    struct append_state *state = a->store->append;
    if (!is_empty(a->trial.timestamp))
        return LINEAGE_OK;
    time_t now = time(NULL);
    if (!a->timestamp || now != a->clock) {
        if (now != state->clock || !state->timestamp[0])
            lineage_time_format(state->timestamp, now);
        a->clock = state->clock = now;
        a->timestamp = arena_text(a->arena, state->timestamp, strlen(state->timestamp));
    }
    a->trial.timestamp = a->timestamp;
    return a->timestamp ? LINEAGE_OK : store_no_memory(err);
}

/* NAN is "not given" in the options, for 0 is a threshold that one may want. */
static double threshold(const struct appending *a)
{
    const struct lineage_config *config = &a->store->config;
    double min_delta = isnan(a->options->min_delta) ? config->min_delta : a->options->min_delta;
    double noise = isnan(a->options->noise_std) ? config->noise_std : a->options->noise_std;
    unsigned seeds = a->options->noise_seeds ? a->options->noise_seeds : config->noise_seeds;
    return lineage_threshold(min_delta, noise, seeds);
}

/* A score is what keep means: without one the next trial would have nothing to beat. Asked
 * before ids are given or files made: it is the mistake of a caller that has no score yet. */
static enum lineage_status check_score(const struct appending *a, struct lineage_error *err)
{
    if (a->trial.score.present || (!a->options->auto_status && a->trial.status != LINEAGE_KEEP))
        return LINEAGE_OK;
    return store_fail(err, LINEAGE_EINVAL,
                      "status %s needs a score (%s); a trial that has none is crash, or another label of a failure",
                      a->options->auto_status ? "auto" : "keep", lineage_store_metric(a->store));
}

/*
 * notes of other people may fill the cell already; the reason is worth less than they are. Longer
 * than a cell may be, it is left out: to refuse the row for our own words would lose the trial.
 */
static enum lineage_status note_reason(struct appending *a, double difference, bool higher, struct lineage_error *err)
{
    char reason[VERDICT_REASON_MAX];
    const char *notes = a->trial.notes;
    verdict_reason(reason, difference, threshold(a), higher);
    if (is_empty(notes))
        return format_text(a, &a->trial.notes, err, "%s", reason);
    struct buf text = {0};
    buf_printf(&text, "%s; %s", notes, reason);
    enum lineage_status status = LINEAGE_OK;
    if (text.failed || (text.length <= LINEAGE_CELL_MAX &&
                        !(a->trial.notes = arena_text(a->arena, text.data, text.length))))
        status = store_no_memory(err);
    buf_release(&text);
    return status;
}

/* The first trial with a score is kept, whatever it is: there is nothing that it could have
 * beaten. */
static enum lineage_status decide_status(struct appending *a, struct lineage_error *err)
{
    const struct append_state *state = a->store->append;
    bool higher = a->store->config.direction == LINEAGE_HIGHER;
    double difference = verdict_difference(a->trial.score.value, state->best);
    bool keep = !state->has_best || verdict_is_keep(difference, threshold(a), higher);
    a->trial.status = keep ? LINEAGE_KEEP : LINEAGE_DISCARD;
    return keep ? LINEAGE_OK : note_reason(a, difference, higher, err);
}

/* What the caller gave stays, because it may know of comparisons that are not in this file. A
 * baseline that is the first of its store is its own. */
static enum lineage_status compare_with_best(struct appending *a, struct lineage_error *err)
{
    const struct append_state *state = a->store->append;
    enum lineage_status status = a->options->auto_status ? decide_status(a, err) : LINEAGE_OK;
    if (is_empty(a->trial.baseline_exp)) {
        if (!state->has_best)
            a->trial.baseline_exp = a->trial.status == LINEAGE_BASELINE ? a->trial.exp_id : NULL;
        else if (!(a->trial.baseline_exp = arena_text(a->arena, state->best_id, strlen(state->best_id))))
            status = store_no_memory(err);
    }
    if (!a->trial.delta_vs_best.present && state->has_best && a->trial.score.present)
        a->trial.delta_vs_best = (struct lineage_number){true, verdict_difference(a->trial.score.value, state->best)};
    return status;
}

/*
 * Under the claim, where nobody can come in between: of two workers that ran one trial of a night the first has its row.
 * What both were interrupted in says nothing yet.
 */
static enum lineage_status check_night(struct appending *a, struct lineage_error *err)
{
    struct lineage_night_link night;
    bool found = false;
    if (!a->options->once_per_night || a->trial.status == LINEAGE_HARNESS_ABORT ||
        !lineage_night_link_parse(&night, a->trial.notes))
        return LINEAGE_OK;
    enum lineage_status status = append_has_night(a->store, &night, &found, err);
    if (status != LINEAGE_OK || !found)
        return status;
    return store_fail(err, LINEAGE_EEXIST, "trial '%.80s' of the night '%.80s' has a row already", night.trial, night.sweep);
}

/* The score first, because the layout decides which member holds it; the id before the parent,
 * which must not be it; the verdict last, since it may add to the notes. */
enum lineage_status appending_fill_in(struct appending *a, struct lineage_error *err)
{
    place_score(a);
    enum lineage_status status = check_layout(a, err);
    if (status == LINEAGE_OK)
        status = check_score(a, err);
    if (status == LINEAGE_OK)
        status = check_night(a, err);
    if (status == LINEAGE_OK)
        status = give_id(a, err);
    if (status == LINEAGE_OK)
        status = check_parent(a, err);
    if (status == LINEAGE_OK)
        status = appending_give_timestamp(a, err);
    return status == LINEAGE_OK ? compare_with_best(a, err) : status;
}

/*
 * Ids and specialists may contain `_`, so two rows may want one name: then the later one gets
 * another. (exp 1, "a_b" and exp "1_a", "b".) A directory of that name which no row points to is
 * what a killed append left, and is replaced instead.
 */
static enum lineage_status name_snapshot(struct appending *a, char path[PLACE_MAX], struct lineage_error *err)
{
    struct lineage_store *store = a->store;
    const char *specialist = a->trial.specialist ? a->trial.specialist : "";
    enum lineage_status status = LINEAGE_OK;
    bool taken = true;
    if (!place_snapshot(path, a->trial.exp_id, specialist))
        return store_fail(err, LINEAGE_EINVAL, "exp_id '%.60s' cannot name a snapshot", a->trial.exp_id);
    if (!fs_is_dir(store->dir_fd, path))
        return LINEAGE_OK;
    if (store->append->ids.n) /* rows behind the index name theirs as well */
        status = index_sync(store->index, err);
    for (unsigned n = 2; status == LINEAGE_OK; n++) {
        status = index_is_snapshot(store->index, path, &taken, err);
        if (status != LINEAGE_OK || !taken)
            break;
        place_snapshot_again(path, a->trial.exp_id, specialist, n);
    }
    return status;
}

static enum lineage_status publish_snapshot(struct appending *a, struct lineage_error *err)
{
    char path[PLACE_MAX];
    enum lineage_status status = name_snapshot(a, path, err);
    if (status == LINEAGE_OK)
        status = snapshot_publish(a->snapshot, a->store->dir_fd, path, !a->options->no_sync, err);
    a->trial.snapshot_path = a->snapshot->path;
    if (status == LINEAGE_OK)
        status = lineage_blob_put(a->store, path, err);
    return status;
}

/* After the verdict, as a discarded trial keeps no snapshot, and before the row: with the row in
 * the file both must be there, for readers follow it at once. */
static enum lineage_status put_beside(struct appending *a, struct lineage_error *err)
{
    enum lineage_status status = a->request ? outbox_request_place(a, a->trial.exp_id, err) : LINEAGE_OK;
    if (status == LINEAGE_OK && a->options->telemetry) {
        status = telemetry_write(a->store->dir_fd, a->trial.exp_id, a->options->telemetry,
                                 a->options->telemetry_length, !a->options->no_sync, err);
        a->wrote_telemetry = status == LINEAGE_OK;
    }
    if (status == LINEAGE_OK && a->snapshot && a->snapshot->copied && lineage_label_is_kept(a->trial.status))
        status = publish_snapshot(a, err);
    if (status == LINEAGE_OK && a->options->beside && !a->request)
        a->options->beside(a->options->beside_context, a->trial.exp_id);
    return status;
}

/* The claim is still held, so nobody can have read the row that these belonged to, or be about
 * to write one of that id. On a server the row may be tried again, and needs them then. */
static void take_back(struct appending *a)
{
    if (a->wrote_telemetry)
        telemetry_remove(a->store->dir_fd, a->trial.exp_id);
    a->wrote_telemetry = false;
    if (a->request)
        outbox_request_unplace(a);
    else if (a->snapshot)
        snapshot_remove(a->snapshot, a->store->dir_fd);
}

/* Header and first row in one write: a kill leaves both, or an end that is mended, and never a
 * row under a header that was cut. A row with a line end in a cell could be cut right behind it, and would look whole to
 * a tool that looks at the last byte: it goes in as an import does. */
static enum lineage_status write_row(struct appending *a, struct lineage_error *err)
{
    struct append_state *state = a->store->append;
    const struct row_layout *layout = index_layout(a->store->index); /* none yet: this handle made the file */
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
        status = put_beside(a, err);
    if (status == LINEAGE_OK)
        status = write_row(a, err);
    if (status != LINEAGE_OK)
        take_back(a);
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

/*
 * With auto the label is not known yet, and the snapshot is copied all the same: it takes long, and
 * under the claim others would wait for it. A discarded one is removed again.
 */
static enum lineage_status copy_snapshot(struct appending *a, struct snapshot *snapshot, struct lineage_error *err)
{
    if (!a->options->snapshot_dir || (!a->options->auto_status && !lineage_label_is_kept(a->checked.status)))
        return LINEAGE_OK;
    *snapshot = (struct snapshot){0};
    a->snapshot = snapshot;
    enum lineage_status status =
        snapshot_copy(snapshot, a->store->dir_fd, a->options->snapshot_dir, !a->options->no_sync, err);
    if (status == LINEAGE_OK)
        status = blobs_offer(a->store, snapshot->temporary, err);
    return status == LINEAGE_EAWAY ? LINEAGE_OK : status; /* it goes with the row, when that is delivered */
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

/* The mirror follows at close and at the next read; here only where waiting would cost memory, or where the next
 * row's checks need it (a parent that was missing may be any id to come). */
static void follow(struct lineage_store *store, const struct lineage_append_options *options)
{
    struct append_state *state = store->append;
    state->follow_at_close = state->follow_at_close && !options->no_mirror_sync;
    if (state->ids.n < APPEND_LAG && !options->allow_missing_parent)
        return;
    index_follow(store->index);
    bool valid = state->valid && index_position(store->index)->watermark == state->end.size;
    append_forget(state);
    state->valid = valid;
    state->follow_at_close = false;
}

/* The row as it stands in the file: what notes say is parsed from them. So a caller sees the
 * settings under their canonical names, as every reader of the store will. */
static enum lineage_status give_row(struct lineage_trial *row, struct appending *a, struct lineage_error *err)
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
        status = copy_snapshot(&a, &snapshot, err);
    if (status == LINEAGE_OK)
        status = log_has_requests(store->log) ? outbox_append(&a, err) : append_here(&a, err);
    if (status == LINEAGE_OK)
        follow(store, a.options);
    if (status == LINEAGE_OK && row)
        status = give_row(row, &a, err);
    if (a.snapshot)
        snapshot_release(a.snapshot, store->dir_fd);
    arena_reset(a.arena);
    if (status == LINEAGE_OK && !a.kept && store->append->outbox_waits) /* the server is back */
        outbox_deliver_waiting(store);
    return status;
}

/* ---- many rows in one append ---- */

struct batch {
    struct appending row;                   /* the one at hand */
    struct lineage_append_options by_score; /* of rows that are kept or discarded by their score */
    const struct lineage_append_options *options;
    const bool *auto_status;
    const struct lineage_trial *trials; /* [n] as given */
    const char **notes;                 /* [n] that theirs become */
    struct lineage_trial *rows;         /* [n] as they go into the log; NULL: nobody asks */
    size_t n;
    struct id_set missing;
    struct buf out;
    bool filled; /* out is what goes into a log without a byte */
};

/* Two sets of options that differ in one member, so that every check below reads them as it does
 * for a row by itself. */
static void choose_options(struct batch *batch, size_t i)
{
    bool by_score = batch->auto_status ? batch->auto_status[i] : batch->options->auto_status;
    batch->row.options = by_score ? &batch->by_score : batch->options;
}

/* Which of many it was. */
static enum lineage_status fail_row(size_t i, enum lineage_status status, struct lineage_error *err)
{
    char text[sizeof err->text];
    if (!err || status == LINEAGE_OK)
        return status;
    memcpy(text, err->text, sizeof text);
    snprintf(err->text, sizeof err->text, "row %zu: %.*s", i + 1, (int)sizeof err->text - 32, text);
    return status;
}

/* Every row is checked before the first is filled in: a mistake in the last one should cost no
 * claim. */
static enum lineage_status check_batch(struct batch *batch, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < batch->n; i++) {
        choose_options(batch, i);
        status = fail_row(i, appending_check(&batch->row, &batch->trials[i], err), err);
        batch->notes[i] = batch->row.checked.notes;
    }
    return status;
}

/* Row i once it was checked, filled in and at the end of out. */
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
    enum lineage_status status = appending_fill_in(a, err);
    if (status == LINEAGE_OK)
        status = row_check_cells(&a->trial, a->given, err);
    if (status != LINEAGE_OK)
        return status;
    row_write(&batch->out, &a->trial, index_layout(a->store->index));
    if (batch->rows)
        batch->rows[i] = a->trial;
    return append_note_row(a->store, &a->trial) && !batch->out.failed ? LINEAGE_OK : store_no_memory(err);
}

/* Each row is judged by what the store has then and the rows before it. Nothing of it holds if one is refused. */
static enum lineage_status fill_in_batch(struct batch *batch, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    buf_reset(&batch->out);
    id_set_clear(&batch->missing);
    if (batch->row.store->append->finish_line)
        buf_puts(&batch->out, "\n");
    if (batch->row.end.size == 0)
        row_write_header(&batch->out);
    for (size_t i = 0; status == LINEAGE_OK && i < batch->n; i++)
        status = fail_row(i, add_row(batch, i, err), err);
    return status;
}

/* All rows again after damage was met: each was judged by the best before it, and the first of
 * those may have been wrong. */
static enum lineage_status catch_up_and_fill_in(struct batch *batch, struct lineage_error *err)
{
    struct appending *a = &batch->row;
    enum lineage_status status;
    do {
        status = append_catch_up(a->store, &a->end, err);
        if (status == LINEAGE_OK)
            status = fill_in_batch(batch, err);
    } while (status != LINEAGE_OK && append_mended(a->store));
    return status;
}

/* As try_without_file. */
static enum lineage_status try_batch_without_file(struct batch *batch, struct lineage_error *err)
{
    struct appending *a = &batch->row;
    enum lineage_status status = log_look(a->store->log, &a->end, err);
    if (status != LINEAGE_OK || a->end.exists)
        return status;
    status = catch_up_and_fill_in(batch, err);
    batch->filled = status == LINEAGE_OK;
    if (!batch->filled && a->store->append)
        append_forget(a->store->append);
    return status;
}

/* With the lock held. One write of many rows, with what keeps a kill from leaving some of them
 * (log_append_many). */
static enum lineage_status append_batch_locked(struct batch *batch, struct lineage_error *err)
{
    struct appending *a = &batch->row;
    enum lineage_status status = LINEAGE_OK;
    if (!batch->filled || a->end.size || a->end.taken_back) { /* the log is not the empty one that it was */
        if (batch->filled)
            append_forget(a->store->append);
        status = catch_up_and_fill_in(batch, err);
    }
    if (status == LINEAGE_OK)
        status = log_append_many(a->store->log, &a->end, batch->out.data, batch->out.length, !batch->options->no_sync,
                                 err);
    struct append_state *state = a->store->append;
    if (status != LINEAGE_OK) {
        if (state)
            append_forget(state);
        return status;
    }
    state->end = a->end;
    state->finish_line = false;
    state->follow_at_close = true;
    return LINEAGE_OK;
}

static enum lineage_status give_rows(struct batch *batch, struct lineage_trial *rows, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < batch->n; i++) {
        batch->row.trial = batch->rows[i];
        status = give_row(&rows[i], &batch->row, err);
    }
    return status;
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
        arena_release(batch->row.arena); /* not kept for reuse: it has the texts of all rows */
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
        status = append_get_ready(store, err);
    if (status == LINEAGE_OK)
        status = log_claim(store->log, &batch->row.end, err);
    if (status != LINEAGE_OK) {
        if (batch->filled) /* rows were noted that are nowhere */
            append_forget(store->append);
        return status;
    }
    status = append_batch_locked(batch, err);
    log_release(store->log);
    return status;
}

/* On a server: once, by the number of its request. Found there, it is in. */
static enum lineage_status try_batch(struct batch *batch, struct lineage_error *err)
{
    struct log *log = batch->row.store->log;
    log->may_assume = false;
    enum lineage_status status = append_get_ready(batch->row.store, err);
    outbox_request_name(batch->row.request, log);
    if (status == LINEAGE_OK)
        status = log_claim(log, &batch->row.end, err);
    if (status != LINEAGE_OK)
        return status;
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

/* The rows as they were given, but for the time, which is now. */
static enum lineage_status make_batch_request(struct batch *batch, struct outbox_request *request, bool *by_score,
                                              struct lineage_error *err)
{
    struct appending *a = &batch->row;
    struct outbox_rows rows = {0};
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
    outbox_rows_release(&rows);
    return status;
}

/* Rows that wait are named by their request and their place in it. */
static enum lineage_status keep_batch(struct batch *batch, const struct lineage_error *why, struct lineage_error *err)
{
    struct appending *a = &batch->row;
    enum lineage_status status = outbox_request_keep(a->request, a->store, why, !batch->options->no_sync, err);
    for (size_t i = 0; status == LINEAGE_OK && batch->rows && i < batch->n; i++) {
        batch->rows[i] = batch->trials[i];
        batch->rows[i].notes = batch->notes[i];
        status = format_text(a, &batch->rows[i].exp_id, err, "%s.%zu", a->request->id, i + 1);
    }
    return status;
}

static enum lineage_status append_batch_on_server(struct batch *batch, struct lineage_error *err)
{
    struct outbox_request request = {0};
    struct lineage_error why = {0};
    bool *by_score = calloc(batch->n, sizeof *by_score);
    enum lineage_status status = by_score ? make_batch_request(batch, &request, by_score, err) : store_no_memory(err);
    batch->row.request = &request;
    if (status == LINEAGE_OK) {
        status = try_batch_until_known(batch, &why);
        if (outbox_is_away(status))
            status = keep_batch(batch, &why, err);
        else if (status != LINEAGE_OK)
            store_give(err, &why);
    }
    outbox_request_end(&request, status);
    free(by_score);
    return status;
}

static enum lineage_status append_batch(struct batch *batch, struct lineage_error *err)
{
    struct lineage_store *store = batch->row.store;
    enum lineage_status status = check_batch(batch, err);
    if (status == LINEAGE_OK && batch->row.request)
        status = try_batch_until_known(batch, err);
    else if (status == LINEAGE_OK)
        status = log_has_requests(store->log) ? append_batch_on_server(batch, err) : append_batch_here(batch, err);
    if (status == LINEAGE_OK)
        follow(store, batch->options);
    return status;
}

/* request: of rows that waited, NULL for new ones. */
static enum lineage_status append_many(struct lineage_store *store, const struct lineage_trial *trials, size_t n,
                                       const bool *auto_status, const struct lineage_append_options *options,
                                       struct lineage_trial *rows, struct outbox_request *request, struct lineage_error *err)
{
    struct lineage_append_options defaults;
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
    enum lineage_status status = store_check_owner(store, err);
    if (status == LINEAGE_OK && (defaults.snapshot_dir || defaults.telemetry))
        status = store_fail(err, LINEAGE_EINVAL, "a snapshot or telemetry is of one trial; append it by itself");
    if (status != LINEAGE_OK || !n)
        return status;
    status = appending_begin(&batch.row, err);
    if (status == LINEAGE_OK)
        status = make_room(&batch, rows != NULL, err);
    if (status == LINEAGE_OK)
        status = append_batch(&batch, err);
    if (status == LINEAGE_OK && rows)
        status = give_rows(&batch, rows, err);
    release_batch(&batch);
    return status;
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
