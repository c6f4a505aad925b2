#include "tail_reader.h"

#include "../mirror/mirror.h"

enum lineage_status tail_open(struct tail *tail, uint64_t from, struct lineage_error *err)
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
    enum lineage_status status = tsv_parse(tail->reader, record, &cells, &n, err);
    *out = (struct tail_row){0};
    if (status != LINEAGE_OK)
        return status;
    arena_reset(&tail->arena);
    out->is_row = row_read(&out->trial, layout, cells, n, &tail->arena, &out->fault, reason, &status);
    int id = layout->column[0];
    if (status == LINEAGE_OK && out->fault != ROW_NOT_UTF8 && id >= 0 && (size_t)id < n)
        out->id = cells[id].text;
    return status == LINEAGE_OK ? LINEAGE_OK : store_no_memory(err);
}
