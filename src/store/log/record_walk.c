#include "record_walk.h"

#define PIECE ((size_t)1 << 20)

void record_walk_start(struct record_walk *walk, struct log *log, uint64_t position, uint64_t line, uint64_t end)
{
    walk->log = log;
    walk->end = end;
    walk->piece = PIECE;
    walk->at_end = position >= end;
    walk->bytes.length = 0;
    tsv_scanner_init(&walk->scanner, walk->bytes.data, 0, position, line);
}

/* Reads the next bytes of the log, from the start of the current record. A record that was cut by the end of the buffer
 * is read again with a larger buffer. */
static enum lineage_status read_on(struct record_walk *walk, struct lineage_error *err)
{
    struct tsv_scanner *scanner = &walk->scanner;
    const uint64_t from = scanner->offset + scanner->position;
    walk->piece = scanner->position || !walk->bytes.length ? PIECE : 2 * walk->piece;
    const size_t wanted = walk->end - from < walk->piece ? (size_t)(walk->end - from) : walk->piece;
    walk->bytes.length = 0;
    enum lineage_status status = log_read(walk->log, from, wanted, &walk->bytes, err);
    walk->at_end = walk->bytes.length < wanted || from + wanted == walk->end;
    tsv_scanner_init(scanner, walk->bytes.data, walk->bytes.length, from, scanner->line);
    return status;
}

enum lineage_status record_walk_next(struct record_walk *walk, struct tsv_record *record, bool *there, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    while (status == LINEAGE_OK) {
        const struct tsv_scanner before = walk->scanner;
        *there = tsv_scan(&walk->scanner, record) && record->terminated &&
                 (walk->scanner.position < walk->scanner.length || record->bytes[record->length - 1] != '\r');
        if (*there)
            return LINEAGE_OK;
        walk->scanner = before;
        if (walk->at_end)
            return LINEAGE_OK;
        status = read_on(walk, err);
    }
    return status;
}

void record_walk_release(struct record_walk *walk)
{
    buf_release(&walk->bytes);
}
