#include "outbox_request.h"

#include <string.h>

#include "../internal.h"
#include "id_set.h"

static enum lineage_status parse_header(struct row_layout *layout, struct tsv_reader *reader, const struct buf *header,
                                        struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    const struct tsv_cell *cells;
    size_t n;
    tsv_scanner_init(&scanner, header->data, header->length, 0, 1);
    enum lineage_status status = tsv_scan(&scanner, &record) ? tsv_parse(reader, &record, &cells, &n, err)
                                                             : store_fail(err, LINEAGE_ECORRUPT, "a request without a header");
    return status == LINEAGE_OK ? row_layout_read(layout, cells, n, NULL, err) : status;
}

/* Writes the header for these trials; each column once, by the set of their names. An extra that is named like one of the 17
 * columns gets no column of its own, because the trial's member holds that value. Returns false if the trials need only the 17
 * columns. */
static bool write_header(struct buf *header, const struct lineage_trial *trials, size_t n)
{
    struct id_set names = {0};
    bool wider = false;
    row_write_header(header);
    header->length -= !header->failed; /* drops the line end */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < trials[i].n_extras; j++) {
            const char *column = trials[i].extras[j].column;
            if (lineage_column_find(column) >= 0 || id_set_has(&names, column))
                continue;
            wider = true;
            header->failed = !id_set_add(&names, column) || header->failed;
            buf_put(header, '\t');
            tsv_write_cell(header, column, strlen(column));
        }
    buf_put(header, '\n');
    id_set_clear(&names);
    return wider;
}

enum lineage_status outbox_rows_begin(struct outbox_rows *rows, const struct lineage_trial *trials, size_t n,
                                      struct lineage_error *err)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any = any || trials[i].n_extras;
    if (!any)
        return LINEAGE_OK;
    struct tsv_reader *reader = tsv_reader_new();
    bool wider = write_header(&rows->header, trials, n);
    enum lineage_status status = !reader || rows->header.failed ? store_no_memory(err) : LINEAGE_OK;
    if (status == LINEAGE_OK && wider)
        status = parse_header(&rows->layout, reader, &rows->header, err);
    if (!wider)
        buf_release(&rows->header);
    tsv_reader_free(reader);
    return status;
}

enum lineage_status outbox_rows_add(struct outbox_rows *rows, const struct lineage_trial *trial, struct lineage_error *err)
{
    row_write(&rows->records, trial, rows->header.length ? &rows->layout : NULL);
    return rows->records.failed ? store_no_memory(err) : LINEAGE_OK;
}

void outbox_rows_release(struct outbox_rows *rows)
{
    row_layout_release(&rows->layout);
    buf_release(&rows->header);
    buf_release(&rows->records);
}

static enum lineage_status read_records(struct lineage_trial *trials, size_t room, size_t *n, const char *rows,
                                        const struct row_layout *layout, struct tsv_reader *reader, struct arena *arena,
                                        struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    const struct tsv_cell *cells;
    enum row_fault fault;
    char reason[160];
    size_t n_cells;
    enum lineage_status status = LINEAGE_OK;
    tsv_scanner_init(&scanner, rows, strlen(rows), 0, 2);
    while (status == LINEAGE_OK && tsv_scan(&scanner, &record)) {
        status = tsv_parse(reader, &record, &cells, &n_cells, err);
        if (status == LINEAGE_OK && *n < room && row_read(&trials[*n], layout, cells, n_cells, arena, &fault, reason, &status))
            ++*n;
    }
    return status;
}

enum lineage_status outbox_rows_read(const json_t *about, struct arena *arena, struct lineage_trial **trials, size_t *n,
                                     struct lineage_error *err)
{
    const char *rows = json_string_value(json_object_get(about, "rows"));
    const char *wider = json_string_value(json_object_get(about, "header"));
    size_t room = json_array_size(json_object_get(about, "auto"));
    struct buf header = {0};
    struct row_layout layout = {0};
    struct tsv_reader *reader = tsv_reader_new();
    *n = 0;
    *trials = arena_alloc(arena, room ? room : 1, sizeof **trials);
    if (wider)
        buf_puts(&header, wider);
    else
        row_write_header(&header);
    enum lineage_status status = reader && *trials && !header.failed ? LINEAGE_OK : store_no_memory(err);
    if (status == LINEAGE_OK)
        status = parse_header(&layout, reader, &header, err);
    if (status == LINEAGE_OK)
        status = read_records(*trials, room, n, rows ? rows : "", &layout, reader, arena, err);
    if (status == LINEAGE_OK && (*n != room || !room))
        status = store_fail(err, LINEAGE_ECORRUPT, "a request of %zu rows has %zu", room, *n);
    row_layout_release(&layout);
    tsv_reader_free(reader);
    buf_release(&header);
    return status;
}
