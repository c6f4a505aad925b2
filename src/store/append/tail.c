/*
 * tail.c: the end of the log under a claim.
 *
 * A record that a kill cut inside its last cell has as many cells as a whole one and reads as half a sentence, so a record
 * is believed only with its line end. What has none is not dropped either: an editor may have saved it so.
 *
 * A quote that another tool opened and never closed swallows all rows behind it, in every reader. Only the one record is at
 * fault. It ends where a sound row begins whose id is in no other row: rows that somebody pasted into a cell have ids
 * that are.
 */
#include "tail.h"

#include <stdio.h>
#include <string.h>

#include "../mirror/mirror.h"

struct tail {
    struct lineage_store *store;
    struct log_state *end;
    struct tsv_reader *reader;
    struct buf bytes;
    struct arena arena; /* of one row */
    uint64_t from;      /* of bytes */
};

static enum lineage_status open_tail(struct tail *tail, uint64_t from, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    tail->from = from;
    tail->bytes.length = 0;
    if (!tail->reader && !(tail->reader = tsv_reader_new()))
        return store_no_memory(err);
    if (tail->end->size > from)
        status = log_read(tail->store->log, from, (size_t)(tail->end->size - from), &tail->bytes, err);
    return status;
}

static void close_tail(struct tail *tail)
{
    tsv_reader_free(tail->reader);
    buf_release(&tail->bytes);
    arena_release(&tail->arena);
}

/* A last CR is perhaps half of CR LF. */
static bool next_record(struct tsv_scanner *scanner, struct tsv_record *record)
{
    if (!tsv_scan(scanner, record))
        return false;
    if (scanner->position == scanner->length && record->length && record->bytes[record->length - 1] == '\r')
        record->terminated = false;
    return true;
}

/* A record as a trial, valid until the next. */
struct read_record {
    struct lineage_trial trial;
    bool is_row;
    enum row_fault fault;
    const char *id; /* its first cell also where it is no row; NULL if it has none that can be read */
};

static enum lineage_status read_record(struct tail *tail, const struct tsv_record *record, struct read_record *out,
                                       struct lineage_error *err)
{
    const struct row_layout *layout = mirror_layout(tail->store->mirror);
    const struct tsv_cell *cells;
    char reason[160];
    size_t n;
    enum lineage_status status = tsv_parse(tail->reader, record, &cells, &n, err);
    *out = (struct read_record){0};
    if (status != LINEAGE_OK)
        return status;
    arena_reset(&tail->arena);
    out->is_row = row_read(&out->trial, layout, cells, n, &tail->arena, &out->fault, reason, &status);
    int id = layout->column[0];
    if (status == LINEAGE_OK && out->fault != ROW_NOT_UTF8 && id >= 0 && (size_t)id < n)
        out->id = cells[id].text;
    return status == LINEAGE_OK ? LINEAGE_OK : store_no_memory(err);
}

/*
 * Whether the text behind a line end inside an open quote begins with a row that stands for itself.
 * Sound, terminated and with an id of its own: three things that text pasted into a cell hardly has
 * at once. A row wrongly taken for part of the cell is moved aside and can be restored; one wrongly
 * taken for a row would stay.
 */
static enum lineage_status begins_with_row(struct tail *tail, size_t at, bool *row, struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    struct read_record read;
    bool used = false;
    *row = false;
    tsv_scanner_init(&scanner, tail->bytes.data + at, tail->bytes.length - at, tail->from + at, 1);
    if (!next_record(&scanner, &record) || !record.terminated || !record.content)
        return LINEAGE_OK;
    enum lineage_status status = read_record(tail, &record, &read, err);
    *row = status == LINEAGE_OK && read.is_row && read.fault == ROW_SOUND && read.trial.exp_id[0];
    if (*row)
        status = append_has_id(tail->store, read.trial.exp_id, &used, err);
    *row = *row && !used;
    return status;
}

/* Where the record that begins at `at` and never closes its quote ends: *to is where the next
 * row begins, or the end. Looked for at line ends only, since a row begins nowhere else. */
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

/*
 * An unterminated header is whole only if it is the canonical one: a cut one of another tool has
 * fewer columns, and nothing tells. Moving a whole one aside would leave a log without columns, and
 * the next append would write another header than its rows were to have.
 */
static enum lineage_status is_whole_header(struct tail *tail, const struct tsv_record *record, bool *whole,
                                           struct lineage_error *err)
{
    struct row_layout layout;
    const struct tsv_cell *cells;
    size_t n;
    enum lineage_status status = tsv_parse(tail->reader, record, &cells, &n, err);
    if (status != LINEAGE_OK)
        return status;
    *whole = row_layout_read(&layout, cells, n, NULL, NULL) == LINEAGE_OK && layout.identical;
    row_layout_release(&layout);
    return LINEAGE_OK;
}

/* *next is where reading goes on. In the middle of the file the bytes become line ends: rows
 * behind them must stay where they are (log_blank). */
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

/* The first record that does not end; false if there is none. The scan begins where the index
 * stopped, which is the end of a terminated record: what lies before needs no second look. */
static bool find_open_record(struct tail *tail, uint64_t *line, struct tsv_record *record)
{
    struct tsv_scanner scanner;
    tsv_scanner_init(&scanner, tail->bytes.data, tail->bytes.length, tail->from, *line);
    while (*line = scanner.line, next_record(&scanner, record))
        if (!record->terminated)
            return true;
    return false;
}

/* In a loop, because behind the record that was moved there may be another that does not end. */
enum lineage_status tail_mend(struct lineage_store *store, struct log_state *end, struct lineage_error *err)
{
    struct tail tail = {.store = store, .end = end};
    struct tsv_record record;
    uint64_t from = mirror_position(store->mirror)->watermark, line = mirror_position(store->mirror)->line;
    bool open = false, whole_header = false;
    enum lineage_status status;
    while ((status = open_tail(&tail, from, err)) == LINEAGE_OK && find_open_record(&tail, &line, &record)) {
        if (record.offset == 0)
            status = is_whole_header(&tail, &record, &whole_header, err);
        if (status != LINEAGE_OK || whole_header)
            break;
        open = true;
        status = move_aside(&tail, &record, line, &from, err);
        if (status != LINEAGE_OK)
            break;
    }
    close_tail(&tail);
    store->append->finish_line = whole_header;
    if (status == LINEAGE_OK && open) /* the index may have shown what was moved */
        status = mirror_sync(store->mirror, err);
    return status;
}

/* Whether the parent of a row is still to come, so that a row to come may close a cycle. */
static enum lineage_status awaits_parent(struct tail *tail, const char *parent, bool *awaits, struct lineage_error *err)
{
    bool found = false;
    char prefixed[256];
    const char *bare = strncmp(parent, "exp_", 4) == 0 ? parent + 4 : parent;
    enum lineage_status status = append_has_id(tail->store, bare, &found, err);
    if (status == LINEAGE_OK && !found && (size_t)snprintf(prefixed, sizeof prefixed, "exp_%s", bare) < sizeof prefixed)
        status = append_has_id(tail->store, prefixed, &found, err);
    *awaits = !found;
    return status;
}

/* A row that cannot be read is no row here, but fieldkit may read it: its number is not given
 * again. */
static enum lineage_status take_record(struct tail *tail, const struct tsv_record *record, struct lineage_error *err)
{
    struct read_record read;
    struct append_state *state = tail->store->append;
    bool awaits = false;
    enum lineage_status status = read_record(tail, record, &read, err);
    if (status != LINEAGE_OK)
        return status;
    if (!read.is_row) {
        if (read.id) /* other tools read it: its id is used up */
            row_note_id(read.id, &state->next_id, &state->id_width);
        return LINEAGE_OK;
    }
    if (read.trial.parent_exp && read.trial.parent_exp[0])
        status = awaits_parent(tail, read.trial.parent_exp, &awaits, err);
    state->parents_behind = state->parents_behind || awaits;
    if (status == LINEAGE_OK && !append_note_row(tail->store, &read.trial))
        status = store_no_memory(err);
    return status;
}

/* Under the claim, so that nothing can follow what is read. Unterminated records are gone by
 * now, except for a canonical header. */
static enum lineage_status read_from(struct lineage_store *store, uint64_t from, uint64_t line, const struct log_state *end,
                                     struct lineage_error *err)
{
    struct log_state now = *end;
    struct tail tail = {.store = store, .end = &now};
    struct tsv_scanner scanner;
    struct tsv_record record;
    enum lineage_status status = open_tail(&tail, from, err);
    tsv_scanner_init(&scanner, tail.bytes.data, tail.bytes.length, tail.from, line);
    while (status == LINEAGE_OK && next_record(&scanner, &record) && record.terminated)
        if (record.content)
            status = take_record(&tail, &record, err);
    close_tail(&tail);
    return status;
}

enum lineage_status tail_read(struct lineage_store *store, const struct log_state *end, struct lineage_error *err)
{
    const struct mirror_position *at = mirror_position(store->mirror);
    if (!mirror_layout(store->mirror) || at->watermark >= end->size)
        return LINEAGE_OK;
    return read_from(store, at->watermark, at->line, end, err);
}

enum lineage_status tail_read_more(struct lineage_store *store, uint64_t from, const struct log_state *end,
                                   struct lineage_error *err)
{
    return read_from(store, from, 1, end, err);
}
