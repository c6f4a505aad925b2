/* receipts_rows.c: see receipts_rows.h. */
#include "receipts_rows.h"

#include <stdio.h>
#include <string.h>

#include "../format/id.h"
#include "../format/row.h"
#include "../format/tsv.h"
#include "../log/log.h"
#include "../mirror/mirror.h"
#include "append_ids.h"
#include "append_state.h"
#include "catch_up.h"
#include "receipts_beside.h"

struct sending {
    struct lineage_store *store;
    struct receipts_renamed *renamed;
    struct tsv_reader *reader;
    struct arena arena;
    struct buf out;
    char had[LOG_ID_MAX * 4], has[LOG_ID_MAX * 4]; /* ids of the last row that was renamed, for the notice */
};

void receipts_forget(struct receipts_renamed *renamed)
{
    buf_release(&renamed->ids);
}

bool receipts_read_hex(unsigned char *out, const char *text, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        const char *high = text[2 * i] ? strchr(digits, text[2 * i]) : NULL;
        const char *low = high && text[2 * i + 1] ? strchr(digits, text[2 * i + 1]) : NULL;
        if (!low)
            return false;
        out[i] = (unsigned char)((high - digits) << 4 | (low - digits));
    }
    return true;
}

/* Returns false if the receipt's records are not hexadecimal, if their file is gone or another one, or when out of memory. */
static bool read_bytes(struct buf *out, const struct lineage_store *store, const json_t *about)
{
    const json_t *records = json_object_get(about, "records");
    const char *beside = json_string_value(json_object_get(about, "beside"));
    if (beside)
        return receipts_read_beside(out, store->dir_fd, json_string_value(json_object_get(about, "request")), beside);
    const size_t n = json_string_length(records) / 2;
    if (!json_is_string(records) || !buf_reserve(out, n + 1) ||
        !receipts_read_hex((unsigned char *)out->data, json_string_value(records), n))
        return false;
    out->length = n;
    return true;
}

size_t receipts_count(const struct lineage_store *store, const json_t *about)
{
    struct buf bytes = {0};
    struct tsv_scanner scanner;
    struct tsv_record record;
    size_t n = 0;
    if (read_bytes(&bytes, store, about)) {
        tsv_scanner_init(&scanner, bytes.data, bytes.length, 0, 1);
        while (tsv_scan(&scanner, &record))
            n++;
    }
    buf_release(&bytes);
    return n;
}

void receipts_note_ids(const struct lineage_store *store, const json_t *about, uint64_t *next_id)
{
    struct buf bytes = {0};
    struct tsv_scanner scanner;
    struct tsv_record record;
    size_t width = 0;
    if (read_bytes(&bytes, store, about)) {
        tsv_scanner_init(&scanner, bytes.data, bytes.length, 0, 1);
        while (tsv_scan(&scanner, &record)) {
            const char *end = memchr(record.bytes, '\t', record.length);
            char id[LOG_ID_MAX];
            if (end && (size_t)(end - record.bytes) < sizeof id) {
                snprintf(id, sizeof id, "%.*s", (int)(end - record.bytes), record.bytes);
                row_note_id(id, next_id, &width);
            }
        }
    }
    buf_release(&bytes);
}

/* The id that a trial got instead, or NULL. */
static const char *new_id_of(const struct receipts_renamed *renamed, const char *id)
{
    const char *at = renamed->ids.data, *end = at + renamed->ids.length;
    while (id && at && at < end) {
        const char *to = at + strlen(at) + 1;
        if (strcmp(id_bare(at), id_bare(id)) == 0)
            return to;
        at = to + strlen(to) + 1;
    }
    return NULL;
}

static enum lineage_status is_taken(struct sending *s, const char *id, bool *taken, struct lineage_error *err)
{
    char prefixed[LOG_ID_MAX * 4];
    const char *bare = id_bare(id);
    enum lineage_status status = append_has_id(s->store, bare, taken, err);
    if (status == LINEAGE_OK && !*taken && (size_t)snprintf(prefixed, sizeof prefixed, "exp_%s", bare) < sizeof prefixed)
        status = append_has_id(s->store, prefixed, taken, err);
    return status;
}

/* Gives the row the next id of the log, and says in its notes which one it had. */
static enum lineage_status rename_row(struct sending *s, struct lineage_trial *trial, struct lineage_error *err)
{
    struct append_state *state = s->store->append;
    struct buf notes = {0};
    snprintf(s->had, sizeof s->had, "%s", trial->exp_id);
    snprintf(s->has, sizeof s->has, "%0*llu", (int)(state->id_width < 18 ? state->id_width : 18),
             (unsigned long long)state->next_id);
    buf_printf(&notes, "%s%sacknowledged as %s before the server lost it", trial->notes ? trial->notes : "",
               trial->notes && *trial->notes ? "; " : "", s->had);
    trial->exp_id = s->has;
    trial->notes = notes.failed ? NULL : arena_text(&s->arena, notes.data, notes.length);
    buf_add(&s->renamed->ids, s->had, strlen(s->had) + 1);
    buf_add(&s->renamed->ids, s->has, strlen(s->has) + 1);
    buf_release(&notes);
    return trial->notes && !s->renamed->ids.failed ? LINEAGE_OK : store_no_memory(err);
}

/* A row that needs no change is added byte for byte, like a record that is not a row. */
static enum lineage_status add_record(struct sending *s, const struct tsv_record *record, struct lineage_error *err)
{
    const struct row_layout *layout = mirror_layout(s->store->mirror);
    struct lineage_trial trial;
    const struct tsv_cell *cells;
    enum row_fault fault;
    char reason[160];
    bool taken = false;
    size_t n;
    enum lineage_status status = tsv_parse(s->reader, record, &cells, &n, err);
    if (status != LINEAGE_OK)
        return status;
    if (layout && n && strcmp(cells[0].text, layout->names[0]) == 0)
        return LINEAGE_OK; /* the header, which the log has */
    const bool is_row = layout && row_read(&trial, layout, cells, n, &s->arena, &fault, reason, &status);
    if (status == LINEAGE_OK && is_row)
        status = is_taken(s, trial.exp_id, &taken, err);
    if (status != LINEAGE_OK)
        return status;
    const char *parent = is_row ? new_id_of(s->renamed, trial.parent_exp) : NULL;
    if (taken)
        status = rename_row(s, &trial, err);
    if (parent)
        trial.parent_exp = parent;
    if (taken || parent)
        row_write(&s->out, &trial, layout);
    else
        buf_add(&s->out, record->bytes, record->length);
    if (is_row && status == LINEAGE_OK && !append_note_row(s->store, &trial))
        status = store_no_memory(err);
    return s->out.failed ? store_no_memory(err) : status;
}

static enum lineage_status add_records(struct sending *s, const struct buf *bytes, struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    enum lineage_status status = LINEAGE_OK;
    tsv_scanner_init(&scanner, bytes->data, bytes->length, 0, 1);
    if (s->store->append->finish_line)
        buf_puts(&s->out, "\n");
    while (status == LINEAGE_OK && tsv_scan(&scanner, &record))
        if (record.content)
            status = add_record(s, &record, err);
    return status;
}

static void tell(const struct sending *s)
{
    if (s->had[0])
        store_notice(s->store, 0,
                     "%s had acknowledged %s and no longer had it; another trial has that id now, so it is delivered "
                     "again as %s",
                     s->store->log->place, s->had, s->has);
    else
        store_notice(s->store, 0, "%s had acknowledged a row and no longer had it; it is delivered again", s->store->log->place);
}

/* Puts the rows as they were sent into the receipt, if they fit there. Otherwise it keeps those of before, which get another id again
 * if they must be sent once more. */
static enum lineage_status keep_sent(json_t *about, const struct buf *sent, struct lineage_error *err)
{
    struct buf hex = {0};
    if (sent->length > RECEIPT_LINE_MAX || !json_object_get(about, "records"))
        return LINEAGE_OK;
    buf_add_hex(&hex, sent->data, sent->length);
    const bool kept = !hex.failed && json_object_set_new(about, "records", json_string(hex.data)) == 0;
    buf_release(&hex);
    return kept ? LINEAGE_OK : store_no_memory(err);
}

enum lineage_status receipts_send(struct lineage_store *store, json_t *about, const unsigned char request[16],
                                  struct receipts_renamed *renamed, struct lineage_error *err)
{
    struct sending s = {.store = store, .renamed = renamed, .reader = tsv_reader_new()};
    struct buf bytes = {0};
    struct log_state end;
    enum lineage_status status =
        s.reader && read_bytes(&bytes, store, about) ? append_get_ready(store, false, err) : store_no_memory(err);
    if (status != LINEAGE_OK)
        goto done;
    memcpy(store->log->request, request, sizeof store->log->request);
    status = log_claim(store->log, &end, err);
    if (status == LINEAGE_OK && !store->log->found) {
        status = append_catch_up_and(store, &end, NULL, NULL, err);
        if (status == LINEAGE_OK)
            status = add_records(&s, &bytes, err);
        if (status == LINEAGE_OK && s.out.length)
            status = log_append(store->log, &end, s.out.data, s.out.length, true, err);
        if (status == LINEAGE_OK)
            tell(&s);
        if (status == LINEAGE_OK && s.out.length)
            status = keep_sent(about, &s.out, err);
        append_forget(store->append);
        if (store->append)
            store->append->follow_at_close = true;
    }
    log_release(store->log);
done:
    tsv_reader_free(s.reader);
    arena_release(&s.arena);
    buf_release(&s.out);
    buf_release(&bytes);
    return status;
}
