/*
 * redact_rows.c: see redact_rows.h.
 *
 * The order makes an interrupted redaction harmless: the lines of .results.tsv.redacted are durable before the first byte of the
 * log changes. A record has then either its original bytes or the redacted ones, and both match; only a record of which a part
 * was overwritten does not, until the recorded ranges are overwritten by the next call, which needs no secret for that.
 */
#include "redact_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../append/acknowledged.h"
#include "../format/tsv.h"
#include "../internal.h"
#include "../log/log.h"
#include "../log/record_walk.h"
#include "../log/redactions.h"

struct redacting {
    struct lineage_store *store;
    const struct forms *forms;
    struct redactions before;
    struct digest_chain chain;
    struct buf lines, record; /* lines to be recorded; the redacted bytes of one record */
    struct tsv_reader *cells, *cells_after;
    struct lineage_error *err;
    char names[64][24]; /* of the header's columns; the others count as extra columns */
    size_t n_names;
    struct lineage_redaction *done;
};

static void overwrite_range(struct buf *record, size_t from, size_t length)
{
    memset(record->data + from, REDACTED, length);
}

/* ---- completing what was interrupted ---- */

static enum lineage_status finish_record(struct lineage_store *store, const struct redaction *r, size_t *rows,
                                         struct lineage_error *err)
{
    struct buf now = {0};
    const char *rest = r->ranges;
    size_t from, length;
    bool differs = false;
    enum lineage_status status = log_read(store->log, r->offset, (size_t)r->length, &now, err);
    if (status == LINEAGE_OK && now.length == r->length) {
        while (redaction_range(&from, &length, &rest)) {
            for (size_t i = 0; i < length; i++)
                differs = differs || now.data[from + i] != REDACTED;
            overwrite_range(&now, from, length);
        }
        if (differs)
            status = log_overwrite(store->log, r->offset, now.data, now.length, err);
        *rows += differs;
    }
    buf_release(&now);
    return status;
}

/* A line whose record is elsewhere now, because somebody edited the log, must not overwrite anything: the recorded length and
 * place must be those of a record. */
static enum lineage_status finish_all(struct lineage_store *store, const struct redactions *r, size_t *rows,
                                      struct lineage_error *err)
{
    struct record_walk walk = {0};
    struct tsv_record record;
    struct log_state end;
    uint64_t number = 0;
    bool there;
    enum lineage_status status = log_look(store->log, &end, err);
    record_walk_start(&walk, store->log, 0, 1, end.size);
    for (size_t i = 0; status == LINEAGE_OK && i < r->n;) {
        status = record_walk_next(&walk, &record, &there, err);
        if (status != LINEAGE_OK || !there)
            break;
        number++;
        for (; i < r->n && r->at[i].record <= number && status == LINEAGE_OK; i++)
            if (r->at[i].record == number && r->at[i].offset == record.offset && r->at[i].length == record.length)
                status = finish_record(store, &r->at[i], rows, err);
    }
    record_walk_release(&walk);
    return status;
}

enum lineage_status redact_rows_finish(struct lineage_store *store, size_t *rows, struct lineage_error *err)
{
    struct redactions r = {.n = 0};
    struct log_state state;
    *rows = 0;
    enum lineage_status status = redactions_read(&r, store->dir_fd, err);
    if (status == LINEAGE_OK && r.n) {
        status = log_claim(store->log, &state, err);
        if (status == LINEAGE_OK) {
            status = finish_all(store, &r, rows, err);
            acknowledged_renew(store);
            log_release(store->log);
        }
    }
    redactions_release(&r);
    return status;
}

/* ---- what may be redacted ---- */

/* Other rows, files and programs refer to these cells. */
static bool is_fixed(const char *name)
{
    static const char *const names[] = {"exp_id",  "commit",        "timestamp",   "parent_exp", "baseline_exp",
                                        "status",  "snapshot_path", "core_metric", "val_bpb",    "delta_vs_best",
                                        "train_s", "total_s",       "memory_gb",   NULL};
    for (size_t i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static enum lineage_status read_names(struct redacting *r, const struct tsv_record *header)
{
    const struct tsv_cell *cells;
    size_t n;
    enum lineage_status status = tsv_parse(r->cells, header, &cells, &n, r->err);
    for (size_t i = 0; status == LINEAGE_OK && i < n && i < sizeof r->names / sizeof *r->names; i++) {
        snprintf(r->names[i], sizeof *r->names, "%s", cells[i].text);
        r->n_names = i + 1;
    }
    return status;
}

/* Compares the cells before and after. */
static enum lineage_status check_cells(struct redacting *r, const struct tsv_record *before)
{
    const struct tsv_record after = {.bytes = r->record.data,
                                     .length = before->length,
                                     .content = before->content,
                                     .offset = before->offset,
                                     .line = before->line,
                                     .terminated = before->terminated};
    const struct tsv_cell *a, *b;
    size_t n_a, n_b;
    enum lineage_status status = tsv_parse(r->cells, before, &a, &n_a, r->err);
    if (status == LINEAGE_OK)
        status = tsv_parse(r->cells_after, &after, &b, &n_b, r->err);
    if (status == LINEAGE_OK && n_a != n_b)
        return store_fail(r->err, LINEAGE_EINVAL, "results.tsv:%" PRIu64 ": without the secret the row would have other cells",
                          before->line);
    for (size_t i = 0; status == LINEAGE_OK && i < n_a; i++)
        if (i < r->n_names && is_fixed(r->names[i]) &&
            (a[i].length != b[i].length || memcmp(a[i].text, b[i].text, a[i].length) != 0))
            return store_fail(r->err, LINEAGE_EINVAL,
                              "results.tsv:%" PRIu64 ": the secret is in the column %s, which cannot be "
                              "redacted, because rows, files and programs refer to it",
                              before->line, r->names[i]);
    return status;
}

/* ---- redacting ---- */

/* Overwrites the secret in r->record, and appends the ranges to the lines. Returns the number of places. */
static size_t find_ranges(struct redacting *r, struct buf *ranges)
{
    size_t places = 0, n;
    for (size_t i = 0; i < r->record.length; i += n ? n : 1) {
        n = forms_match(r->forms, r->record.data + i, r->record.length - i);
        if (!n)
            continue;
        buf_printf(ranges, "%s%zu:%zu", places++ ? "," : "", i, n);
        overwrite_range(&r->record, i, n);
    }
    return places;
}

static enum lineage_status examine(struct redacting *r, const struct tsv_record *record)
{
    struct buf ranges = {0};
    struct digest_chain after = r->chain;
    enum lineage_status status = LINEAGE_OK;
    buf_reset(&r->record);
    buf_add(&r->record, record->bytes, record->length);
    size_t places = r->record.failed ? 0 : find_ranges(r, &ranges);
    if (places && r->chain.records == 0)
        status = store_fail(r->err, LINEAGE_EINVAL, "the secret is in the header of results.tsv");
    if (places && status == LINEAGE_OK)
        status = check_cells(r, record);
    digest_chain_add(&r->chain, record);
    redactions_apply(&r->before, &r->chain);
    if (places && status == LINEAGE_OK) {
        digest_chain_add(&after, &(struct tsv_record){.bytes = r->record.data, .length = record->length});
        buf_printf(&r->lines, "row %" PRIu64 " %" PRIu64 " %zu ", r->chain.records, record->offset, record->length);
        buf_add_hex(&r->lines, r->chain.digest, DIGEST_BYTES);
        buf_put(&r->lines, ' ');
        buf_add_hex(&r->lines, after.digest, DIGEST_BYTES);
        buf_printf(&r->lines, " %s\n", ranges.data);
        r->done->rows++;
        r->done->places += places;
    }
    bool failed = ranges.failed || r->lines.failed || r->record.failed;
    buf_release(&ranges);
    return failed ? store_no_memory(r->err) : status;
}

static enum lineage_status examine_all(struct redacting *r, uint64_t end)
{
    struct record_walk walk = {0};
    struct tsv_record record;
    bool there;
    enum lineage_status status;
    record_walk_start(&walk, r->store->log, 0, 1, end);
    while ((status = record_walk_next(&walk, &record, &there, r->err)) == LINEAGE_OK && there) {
        if (r->chain.records == 0)
            status = read_names(r, &record);
        if (status == LINEAGE_OK)
            status = examine(r, &record);
        if (status != LINEAGE_OK)
            break;
    }
    record_walk_release(&walk);
    return status;
}

/* Call it under the claim. */
static enum lineage_status redact_claimed(struct redacting *r, const struct log_state *end)
{
    struct log_digests digests = {.broken = NULL};
    struct redactions now = {.n = 0};
    size_t rows;
    /* Digests are completed first, so that they cover the original bytes of every row. */
    enum lineage_status status = log_check_digests(r->store->log, &digests, r->err);
    if (status == LINEAGE_OK && digests.is_broken)
        return store_fail(r->err, LINEAGE_ECORRUPT, "rows of %s do not match their digests; see 'lineage verify'",
                          r->store->log->place);
    if (status == LINEAGE_OK)
        status = log_rebuild_digests(r->store->log, &digests, r->err);
    if (status == LINEAGE_OK)
        status = redactions_read(&r->before, r->store->dir_fd, r->err);
    if (status == LINEAGE_OK)
        status = examine_all(r, end->size);
    if (status != LINEAGE_OK || !r->lines.length)
        return status;
    status = redactions_add(r->store->dir_fd, r->lines.data, r->lines.length, r->err);
    if (status == LINEAGE_OK)
        status = redactions_read(&now, r->store->dir_fd, r->err);
    if (status == LINEAGE_OK)
        status = finish_all(r->store, &now, &rows, r->err);
    redactions_release(&now);
    return status;
}

enum lineage_status redact_rows(struct lineage_store *store, const struct forms *forms, struct lineage_redaction *done,
                                struct lineage_error *err)
{
    struct log_state end;
    struct redacting r = {.store = store, .forms = forms, .err = err, .done = done};
    enum lineage_status status = log_look(store->log, &end, err);
    if (status != LINEAGE_OK || !end.exists)
        return status;
    r.cells = tsv_reader_new();
    r.cells_after = tsv_reader_new();
    if (!r.cells || !r.cells_after)
        status = store_no_memory(err);
    if (status == LINEAGE_OK)
        status = log_claim(store->log, &end, err);
    if (status == LINEAGE_OK) {
        status = redact_claimed(&r, &end);
        acknowledged_renew(store);
        log_release(store->log);
    }
    if (status != LINEAGE_OK)
        done->rows = done->places = 0;
    redactions_release(&r.before);
    buf_release(&r.lines);
    buf_release(&r.record);
    tsv_reader_free(r.cells);
    tsv_reader_free(r.cells_after);
    return status;
}
