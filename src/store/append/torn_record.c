/*
 * torn_record.c: mends the end of the log, under the claim.
 *
 * Only a record with a line end counts as complete, because a record that a kill cut inside its last cell has all its
 * cells and cannot be recognised otherwise. A record without a line end is not dropped either, because an editor may
 * have saved a complete record that way.
 *
 * A quote that another tool opened and never closed hides all rows after it from every reader, although only one record
 * is at fault. That record is taken to end where a sound row with an unused id begins. Rows that somebody pasted into a
 * cell do not match, because their ids are in the log already.
 */
#include "torn_record.h"

#include <stdio.h>
#include <string.h>

#include "../mirror/mirror.h"
#include "append_state.h"
#include "tail_reader.h"

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
    enum lineage_status status = tsv_parse(tail->reader, record, &cells, &n, err);
    if (status != LINEAGE_OK)
        return status;
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

/* Whether a row behind a torn record is a row of its own depends on the ids of all rows. */
static enum lineage_status need_all_rows(struct lineage_store *store, uint64_t *from, uint64_t *line, struct lineage_error *err)
{
    enum lineage_status status = mirror_complete(store->mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_sync(store->mirror, err);
    *from = mirror_position(store->mirror)->watermark;
    *line = mirror_position(store->mirror)->line;
    return status;
}

/* This is a loop, because another unterminated record may follow the one that was moved. */
enum lineage_status torn_record_mend(struct lineage_store *store, struct log_state *end, struct lineage_error *err)
{
    struct tail tail = {.store = store, .end = end};
    struct tsv_record record;
    uint64_t from = mirror_position(store->mirror)->watermark, line = mirror_position(store->mirror)->line;
    bool open = false, whole_header = false;
    enum lineage_status status;
    while ((status = tail_open(&tail, from, err)) == LINEAGE_OK && find_open_record(&tail, &line, &record)) {
        if (mirror_is_part(store->mirror)) {
            status = need_all_rows(store, &from, &line, err);
            if (status != LINEAGE_OK)
                break;
            continue;
        }
        if (record.offset == 0)
            status = is_whole_header(&tail, &record, &whole_header, err);
        if (status != LINEAGE_OK || whole_header)
            break;
        open = true;
        status = move_aside(&tail, &record, line, &from, err);
        if (status != LINEAGE_OK)
            break;
    }
    tail_close(&tail);
    store->append->finish_line = whole_header;
    if (status == LINEAGE_OK && open) /* the mirror may contain the moved record */
        status = mirror_sync(store->mirror, err);
    return status;
}
