/*
 * catch_up.c: finds out what an append must know of the log before it can add a row: the ids in the log, the best
 * trial, and where the log ends. It also mends a torn record at the end.
 *
 * The mirror has read nearly the whole log. The rows that it has not read are read here (catch_up.c), because
 * bringing the mirror up to date for each row would cost more than the row.
 */
#include "catch_up.h"

#include "../format/id.h"
#include "../internal.h"
#include "../log/digest_chain.h"
#include "../log/log.h"
#include "../mirror/statement.h"
#include "../questions/questions.h"
#include "../files/places.h"
#include "acknowledged.h"
#include "append_state.h"

enum lineage_status tail_open(struct tail *tail, uint64_t from, struct lineage_error *err)
{
    tail->from = from;
    tail->bytes.length = 0;
    if (!tail->reader && !(tail->reader = tsv_reader_new()))
        return store_no_memory(err);
    return tail->end->size > from ? log_read(tail->store->log, from, (size_t)(tail->end->size - from), &tail->bytes, err)
                                  : LINEAGE_OK;
}

void tail_close(struct tail *tail)
{
    tsv_reader_free(tail->reader);
    buf_release(&tail->bytes);
    arena_release(&tail->arena);
}

/* A CR at the very end may be half of CR LF. */
bool tail_next(struct tsv_scanner *scanner, struct tsv_record *record)
{
    if (!tsv_scan(scanner, record))
        return false;
    if (scanner->position == scanner->length && record->length && record->bytes[record->length - 1] == '\r')
        record->terminated = false;
    return true;
}

enum lineage_status tail_read(struct tail *tail, const struct tsv_record *record, struct tail_row *out, struct lineage_error *err)
{
    const struct row_layout *layout = mirror_layout(tail->store->mirror);
    const struct tsv_cell *cells;
    char reason[160];
    size_t n;
    enum lineage_status status;
    *out = (struct tail_row){0};
    TRY(tsv_parse(tail->reader, record, &cells, &n, err));
    arena_reset(&tail->arena);
    out->is_row = row_read(&out->trial, layout, cells, n, &tail->arena, &out->fault, reason, &status);
    int id = layout->column[0];
    if (status == LINEAGE_OK && out->fault != ROW_NOT_UTF8 && id >= 0 && (size_t)id < n)
        out->id = cells[id].text;
    return status == LINEAGE_OK ? LINEAGE_OK : store_no_memory(err);
}

/* ---- rows at the end of the log that the mirror has not read ---- */

/* Whether the parent of a row is not in the log yet, so that a later row may close a cycle. */
static enum lineage_status awaits_parent(struct tail *tail, const char *parent, bool *awaits, struct lineage_error *err)
{
    bool found = false;
    char prefixed[256];
    const char *bare = id_bare(parent);
    enum lineage_status status = append_has_id(tail->store, bare, &found, err);
    if (status == LINEAGE_OK && !found && (size_t)snprintf(prefixed, sizeof prefixed, "exp_%s", bare) < sizeof prefixed)
        status = append_has_id(tail->store, prefixed, &found, err);
    *awaits = !found;
    return status;
}

/* A record that this library cannot read is not noted as a row. Its id is not given again, because fieldkit may read
 * the record. */
static enum lineage_status take_record(struct tail *tail, const struct tsv_record *record, struct lineage_error *err)
{
    struct tail_row read;
    struct append_state *state = tail->store->append;
    bool awaits = false;
    TRY(tail_read(tail, record, &read, err));
    if (!read.is_row) {
        if (read.id) /* other tools may read the row, so its id counts as used */
            row_note_id(read.id, &state->next_id, &state->id_width);
        return LINEAGE_OK;
    }
    if (read.trial.parent_exp && read.trial.parent_exp[0])
        TRY(awaits_parent(tail, read.trial.parent_exp, &awaits, err));
    state->parents_behind = state->parents_behind || awaits;
    return append_note_row(tail->store, &read.trial) ? LINEAGE_OK : store_no_memory(err);
}

/* Called under the claim, so that nothing is appended meanwhile. Unterminated records were moved aside before, except
 * for a canonical header. */
static enum lineage_status read_from(struct lineage_store *store, uint64_t from, uint64_t line, const struct log_state *end,
                                     struct lineage_error *err)
{
    struct log_state now = *end;
    RELEASED_BY(tail_close) struct tail tail = {.store = store, .end = &now};
    struct tsv_scanner scanner;
    struct tsv_record record;
    enum lineage_status status = tail_open(&tail, from, err);
    tsv_scanner_init(&scanner, tail.bytes.data, tail.bytes.length, tail.from, line);
    while (status == LINEAGE_OK && tail_next(&scanner, &record) && record.terminated)
        if (record.content)
            status = take_record(&tail, &record, err);
    return status;
}

/* Notes the rows after the mirror's watermark (append_note_row). */
static enum lineage_status unread_rows_note(struct lineage_store *store, const struct log_state *end, struct lineage_error *err)
{
    const struct mirror_position *at = mirror_position(store->mirror);
    if (!mirror_layout(store->mirror) || at->watermark >= end->size)
        return LINEAGE_OK;
    return read_from(store, at->watermark, at->line, end, err);
}

/* ---- the unfinished record that a killed writer left at the end of the log ---- */

/* mends the end of the log, under the claim.
 *
 * Only a record with a line end counts as complete, because a record that a kill cut inside its last cell has all its
 * cells and cannot be recognised otherwise. A record without a line end is not dropped either, because an editor may
 * have saved a complete record that way.
 *
 * A quote that another tool opened and never closed hides all rows after it from every reader, although only one record
 * is at fault. That record is taken to end where a sound row with an unused id begins. Rows that somebody pasted into a
 * cell do not match, because their ids are in the log already. */

/* Whether the text after a line end inside an open quote begins with a separate row: sound, terminated, and with an
 * unused id. Pasted text hardly ever meets all three conditions. In doubt the text counts as part of the cell: a row
 * that is moved aside by mistake can be restored, but pasted text that was taken for a row would stay in the log. */
static enum lineage_status begins_with_row(struct tail *tail, size_t at, bool *row, struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    struct tail_row read;
    bool used = false;
    *row = false;
    tsv_scanner_init(&scanner, tail->bytes.data + at, tail->bytes.length - at, tail->from + at, 1);
    if (!tail_next(&scanner, &record) || !record.terminated || !record.content)
        return LINEAGE_OK;
    enum lineage_status status = tail_read(tail, &record, &read, err);
    *row = status == LINEAGE_OK && read.is_row && read.fault == ROW_SOUND && read.trial.exp_id[0];
    if (*row)
        status = append_has_id(tail->store, read.trial.exp_id, &used, err);
    *row = *row && !used;
    return status;
}

/* Finds the end of the record at `at` that never closes its quote: *to is where the next row begins, or the end of
 * the log. Only line ends are looked at, because a row begins nowhere else. */
static enum lineage_status find_end(struct tail *tail, size_t at, size_t *to, struct lineage_error *err)
{
    const char *data = tail->bytes.data, *line_end;
    bool row = false;
    enum lineage_status status = LINEAGE_OK;
    *to = at;
    while (status == LINEAGE_OK && !row && (line_end = memchr(data + *to, '\n', tail->bytes.length - *to))) {
        *to = (size_t)(line_end - data) + 1;
        status = begins_with_row(tail, *to, &row, err);
    }
    if (!row)
        *to = tail->bytes.length;
    return status;
}

static void say(struct tail *tail, const struct tsv_record *record, uint64_t line, uint64_t length, const char *name)
{
    store_notice(tail->store, line, "%s:%llu: %s (%llu bytes) moved to %s/%s; if it is whole, 'lineage restore %s' puts it back",
                 tail->store->log->name, (unsigned long long)line,
                 record->in_quotes ? "record with a quote that is never closed" : "last record without line end",
                 (unsigned long long)length, tail->store->dir, name, name);
}

/* An unterminated header is known to be complete only if it is the canonical header. Another tool's header may have
 * been cut after some of its columns, which cannot be seen. Moving a complete header aside would leave a log without
 * columns, and the next append would write a header that does not fit the rows. */
static enum lineage_status is_whole_header(struct tail *tail, const struct tsv_record *record, bool *whole,
                                           struct lineage_error *err)
{
    struct row_layout layout;
    const struct tsv_cell *cells;
    size_t n;
    TRY(tsv_parse(tail->reader, record, &cells, &n, err));
    *whole = row_layout_read(&layout, cells, n, NULL, NULL) == LINEAGE_OK && layout.identical;
    row_layout_release(&layout);
    return LINEAGE_OK;
}

/* *next is where reading continues. In the middle of the file the record's bytes are overwritten with line ends,
 * because the rows after the record must stay in place (log_blank). */
static enum lineage_status move_aside(struct tail *tail, const struct tsv_record *record, uint64_t line, uint64_t *next,
                                      struct lineage_error *err)
{
    char name[64];
    size_t at = (size_t)(record->offset - tail->from), to = tail->bytes.length;
    enum lineage_status status = LINEAGE_OK;
    if (record->in_quotes && mirror_layout(tail->store->mirror))
        status = find_end(tail, at, &to, err);
    *next = tail->from + to;
    if (status == LINEAGE_OK && to < tail->bytes.length)
        status = log_blank(tail->store->log, tail->end, record->offset, *next, name, err);
    else if (status == LINEAGE_OK)
        status = log_set_aside(tail->store->log, tail->end, record->offset, name, err);
    if (status == LINEAGE_OK)
        say(tail, record, line, to - at, name);
    return status;
}

/* Finds the first unterminated record; false if there is none. The scan begins where the mirror stopped, at the end
 * of a terminated record, because everything before that was checked. */
static bool find_open_record(struct tail *tail, uint64_t *line, struct tsv_record *record)
{
    struct tsv_scanner scanner;
    tsv_scanner_init(&scanner, tail->bytes.data, tail->bytes.length, tail->from, *line);
    while (*line = scanner.line, tail_next(&scanner, record))
        if (!record->terminated)
            return true;
    return false;
}

static enum lineage_status end_line(struct tail *tail, uint64_t line, struct lineage_error *err)
{
    store_notice(tail->store, line, "%s:%llu: the last record had lost its line end; by its digest it is whole, and it gets one",
                 tail->store->log->name, (unsigned long long)line);
    return log_append(tail->store->log, tail->end, "\n", 1, true, err);
}

/* Call it under the claim; changes *end. A last record without a line end is moved aside, to results.tsv.torn-N, with a
 * notice that says how to put it back, because it may be incomplete. If its digest shows that nothing but the line end
 * is missing, it gets one. The canonical header is known to be complete, too, and gets its line end with the next row
 * (append_state.finish_line). If sound rows follow a record whose quote is never closed, only that record is moved aside.
 * This is a loop, because another unterminated record may follow the one that was moved. */
static enum lineage_status torn_record_mend(struct lineage_store *store, struct log_state *end, struct lineage_error *err)
{
    struct tail tail = {.store = store, .end = end};
    struct tsv_record record;
    uint64_t from = mirror_position(store->mirror)->watermark, line = mirror_position(store->mirror)->line;
    bool open = false, whole_header = false, whole = false;
    enum lineage_status status;
    while ((status = tail_open(&tail, from, err)) == LINEAGE_OK && find_open_record(&tail, &line, &record)) {
        if (record.offset == 0)
            status = is_whole_header(&tail, &record, &whole_header, err);
        if (status != LINEAGE_OK || whole_header)
            break;
        open = true;
        whole = log_is_whole(store->log, &record);
        status = whole ? end_line(&tail, line, err) : move_aside(&tail, &record, line, &from, err);
        if (status != LINEAGE_OK || whole)
            break;
    }
    tail_close(&tail);
    store->append->finish_line = whole_header;
    if (status == LINEAGE_OK && open) /* the mirror may contain a record that was moved, and lack one that is whole */
        status = mirror_sync(store->mirror, err);
    return status;
}

/* ---- what an append must know ---- */

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
    SCOPED_TRIAL best = {0};
    int64_t seq;
    enum lineage_status status = mirror_best(store->mirror, &seq, &state->best, err);
    state->has_best = status == LINEAGE_OK;
    state->scatter = (struct lineage_scatter){0};
    if (status == LINEAGE_ENOTFOUND) {
        two_scores_forget(&state->scores);
        return LINEAGE_OK;
    }
    TRY(status);
    if (store->config.noise_freedom) /* only a measured noise floor depends on it */
        TRY(mirror_scatter(store->mirror, INT64_MAX, &state->scatter, err));
    TRY(mirror_load(store->mirror, seq, &best, err));
    free(state->best_id);
    state->best_id = strdup(best.exp_id);
    verdict_setting_read(&state->best_setting, store, &best);
    return state->best_id ? two_scores_load(&state->scores, store, err) : store_no_memory(err);
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
    enum lineage_status status = read_from(store, state->end.size, 1, end, err);
    state->end = *end;
    if (status != LINEAGE_OK)
        append_forget(state);
    return status;
}

static uint64_t count_records(struct log *log, uint64_t from, uint64_t end)
{
    RELEASED_BY(record_walk_release) struct record_walk walk = {0};
    struct tsv_record record;
    bool there;
    uint64_t n = 0;
    record_walk_start(&walk, log, from, 1, end);
    while (record_walk_next(&walk, &record, &there, NULL) == LINEAGE_OK && there)
        n++;
    return n;
}

/* Whether the ids of the lost rows were skipped before, as the newest gap says: it is as long as what was lost before the rows behind it
 * came. */
static bool skipped_before(struct lineage_store *store, uint64_t lost)
{
    sqlite3_stmt *stmt;
    uint64_t later = 0, gap = 0, n = 0;
    struct lineage_error none;
    enum lineage_status status = mirror_prepare(store->mirror, &stmt, "SELECT exp_id FROM trials ORDER BY seq DESC", &none);
    while (!gap && mirror_next(&status, store->mirror, stmt, &none)) {
        uint64_t next = 0;
        size_t width = 0;
        row_note_id(mirror_text(stmt, 0), &next, &width);
        gap = later > next ? later - next - 1 : 0;
        n += gap == 0;
        later = next;
    }
    sqlite3_reset(stmt);
    return gap && gap == lost + n;
}

/*
 * A log that was put back from an older copy, in a store that was copied or moved, has fewer rows than its digests say: the rows at its
 * end are gone, and nobody may get their ids, as far as these followed each other. Where this user's copy of the rows has them,
 * acknowledged_missing has named them.
 */
static enum lineage_status skip_ids_of_lost_rows(struct lineage_store *store, const struct log_state *end,
                                                 struct lineage_error *err)
{
    struct append_state *state = store->append;
    const struct mirror_position *at = mirror_position(store->mirror);
    const uint64_t known = log_rows_beyond(store->log, at->rows);
    if (!known || known <= at->rows + count_records(store->log, at->watermark, end->size))
        return LINEAGE_OK;
    const uint64_t records = count_records(store->log, 0, end->size), rows = records ? records - 1 : 0; /* unreadable ones, too */
    if (known <= rows)
        return LINEAGE_OK;
    TRY(mirror_sync(store->mirror, err));
    state->next_id = at->next_id;
    state->id_width = at->id_width < 3 ? 3 : at->id_width;
    if (!skipped_before(store, known - rows))
        state->next_id += known - rows;
    if (state->next_id > store->log->next_id)
        store_notice(store, 0,
                     "%s has lost rows at its end: " PLACE_DIGESTS
                     " knows %llu; new trials get other ids; put back a newer copy, or accept "
                     "the loss with `lineage rebuild --digests`",
                     store->log->name, (unsigned long long)known);
    return LINEAGE_OK;
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
    if (status == LINEAGE_OK)
        status = skip_ids_of_lost_rows(store, end, err);
    return status == LINEAGE_OK ? unread_rows_note(store, end, err) : status;
}

/* A torn record is mended first; otherwise the new row would become part of it. The best trial is loaded before the
 * unread rows, because each of them is compared with it. Ids have at least three digits, so that the first thousand
 * sort as text. */
static enum lineage_status know_end(struct lineage_store *store, struct log_state *end, struct lineage_error *err)
{
    enum lineage_status status = append_state_make(store, err);
    struct append_state *state = store->append;
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
    TRY(know_end(store, end, err));
    struct append_state *state = store->append;
    if (state->next_id < store->log->next_id) {
        state->next_id = store->log->next_id;
        if (state->id_width < store->log->id_width)
            state->id_width = store->log->id_width;
    }
    return LINEAGE_OK;
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
