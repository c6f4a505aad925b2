/*
 * row_batch.h: parses records of the log into rows, many at a time. For a long log, a separate thread parses while the
 * caller inserts.
 */
#pragma once

#include "mirror.h"

/* A record and the row that was parsed from it. The batch owns its texts. */
struct parsed_record {
    struct tsv_record record;
    uint64_t next_line; /* number of the line after the record */
    int64_t digest;     /* digest of the record; 0 for an empty one */
    bool is_header;
    bool is_row;        /* trial is filled in */
    enum row_fault fault;
    const char *reason;            /* text of the fault */
    const char *fault_id;          /* exp_id as written; NULL if it cannot be read, or if nothing is wrong */
    struct lineage_trial trial;
};

/* A stretch of the log and its parsed records. A zeroed batch is empty. A batch is reused for one stretch after
 * another. */
struct row_batch {
    struct buf bytes;
    struct parsed_record *records;
    size_t n, capacity;
    struct arena arena;
    enum lineage_status status; /* result of the parsing */
    struct lineage_error err;
};

/* Adds a record of batch->bytes; returns false if memory runs out. */
bool row_batch_add(struct row_batch *batch, const struct tsv_record *record, uint64_t next_line, bool is_header);
void row_batch_clear(struct row_batch *batch);
void row_batch_release(struct row_batch *batch);

/* Parses one batch at a time. row_parser_give starts the parsing and row_parser_take waits for the result. A separate
 * thread parses if `apart` is set and a thread can be started; otherwise row_parser_give itself parses. Between the two
 * calls, do not touch the batch, the layout and the reader. */
struct row_parser;
struct row_parser *row_parser_new(const struct row_layout *layout, struct tsv_reader *reader, bool apart);
void row_parser_give(struct row_parser *parser, struct row_batch *batch);
enum lineage_status row_parser_take(struct row_parser *parser, struct row_batch *batch, struct lineage_error *err);
void row_parser_free(struct row_parser *parser); /* waits until the current batch is parsed */
