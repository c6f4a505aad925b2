/*
 * row_batch.h: records of the log as rows, many at a time; for a long log, parsed by a thread beside the one that
 * inserts.
 */
#ifndef MIRROR_ROW_BATCH_H
#define MIRROR_ROW_BATCH_H

#include "mirror.h"

/* A record and the row that was made of it. Texts are in the batch. */
struct parsed_record {
    struct tsv_record record;
    uint64_t next_line; /* number of the line behind the record */
    int64_t digest;     /* digest of the record; 0 for an empty one */
    bool is_header;
    bool is_row;        /* trial is filled in */
    enum row_fault fault;
    const char *reason;            /* text of the fault */
    const char *fault_id;          /* exp_id as written; NULL if it cannot be read, or if nothing is wrong */
    struct lineage_trial trial;
};

/* A stretch of the log. Zeroed: empty. It is reused for stretch after stretch. */
struct row_batch {
    struct buf bytes;
    struct parsed_record *records;
    size_t n, capacity;
    struct arena arena;
    enum lineage_status status; /* of the parsing */
    struct lineage_error err;
};

/* Adds a record of batch->bytes; false without memory. */
bool row_batch_add(struct row_batch *batch, const struct tsv_record *record, uint64_t next_line, bool is_header);
void row_batch_clear(struct row_batch *batch);
void row_batch_release(struct row_batch *batch);

/* One batch at a time is parsed between give and take, by a thread of its own if `apart` is set and a thread can be
 * started, otherwise by give. Until it is taken, do not touch the batch, the layout and the reader. */
struct row_parser;
struct row_parser *row_parser_new(const struct row_layout *layout, struct tsv_reader *reader, bool apart);
void row_parser_give(struct row_parser *parser, struct row_batch *batch);
enum lineage_status row_parser_take(struct row_parser *parser, struct row_batch *batch, struct lineage_error *err);
void row_parser_free(struct row_parser *parser); /* waits for the batch that was given */

#endif
