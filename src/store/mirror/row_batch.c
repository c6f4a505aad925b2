/*
 * row_batch.c: parses records of the log into rows, many at a time.
 *
 * Parsing a row costs about as much as inserting it, and it needs neither the database nor the previous row. So a load
 * parses in one thread and inserts in another. The parsing thread uses only its batch, the layout of the header and the
 * reader.
 */
#include "row_batch.h"

#include <stdlib.h>
#include <string.h>

#include "record_digest.h"
#include "worker_thread.h"

struct row_parser {
    const struct row_layout *layout;
    struct tsv_reader *reader;
    bool apart; /* there is a parsing thread */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct row_batch *waiting; /* the batch that is being parsed; only the parsing thread touches it */
    bool end;
};

bool row_batch_add(struct row_batch *batch, const struct tsv_record *record, uint64_t next_line, bool is_header)
{
    if (batch->n == batch->capacity) {
        size_t capacity = batch->capacity ? batch->capacity * 2 : 4;
        struct parsed_record *records = realloc(batch->records, capacity * sizeof *records);
        if (!records)
            return false;
        batch->records = records;
        batch->capacity = capacity;
    }
    struct parsed_record *parsed = &batch->records[batch->n++];
    parsed->record = *record;
    parsed->next_line = next_line;
    parsed->is_header = is_header;
    return true;
}

void row_batch_clear(struct row_batch *batch)
{
    batch->n = 0;
    batch->bytes.length = 0;
    arena_reset(&batch->arena);
}

void row_batch_release(struct row_batch *batch)
{
    buf_release(&batch->bytes);
    free(batch->records);
    arena_release(&batch->arena);
}

/* Copies the fault, because cells are valid until the next record is parsed and the fault is reported later. */
static enum lineage_status keep_fault(struct row_batch *batch, struct parsed_record *parsed, const char *reason,
                                      const struct tsv_cell *cells, size_t n, int id)
{
    parsed->reason = arena_text(&batch->arena, reason, strlen(reason));
    if (parsed->fault != ROW_NOT_UTF8 && (size_t)id < n) {
        parsed->fault_id = arena_text(&batch->arena, cells[id].text, strlen(cells[id].text));
        if (!parsed->fault_id)
            return LINEAGE_ENOMEM;
    }
    return parsed->reason ? LINEAGE_OK : LINEAGE_ENOMEM;
}

static enum lineage_status parse_record(struct row_parser *parser, struct row_batch *batch, struct parsed_record *parsed)
{
    const struct tsv_cell *cells;
    char reason[160];
    size_t n;
    parsed->digest = record_digest(parsed->record.bytes, parsed->record.length);
    parsed->fault = ROW_SOUND;
    parsed->fault_id = parsed->reason = NULL;
    if (parsed->is_header)
        return LINEAGE_OK;
    enum lineage_status status = tsv_parse(parser->reader, &parsed->record, &cells, &n, &batch->err);
    if (status != LINEAGE_OK)
        return status;
    parsed->is_row = row_read(&parsed->trial, parser->layout, cells, n, &batch->arena, &parsed->fault, reason, &status);
    if (status == LINEAGE_OK && parsed->fault != ROW_SOUND)
        status = keep_fault(batch, parsed, reason, cells, n, parser->layout->column[0]);
    return status == LINEAGE_OK ? status : store_no_memory(&batch->err);
}

static void parse(struct row_parser *parser, struct row_batch *batch)
{
    batch->status = LINEAGE_OK;
    for (size_t i = 0; batch->status == LINEAGE_OK && i < batch->n; i++)
        if (batch->records[i].record.content)
            batch->status = parse_record(parser, batch, &batch->records[i]);
}

static void *parse_apart(void *context)
{
    struct row_parser *parser = context;
    pthread_mutex_lock(&parser->lock);
    for (;;) {
        while (!parser->waiting && !parser->end)
            pthread_cond_wait(&parser->changed, &parser->lock);
        if (!parser->waiting)
            break;
        pthread_mutex_unlock(&parser->lock);
        parse(parser, parser->waiting);
        pthread_mutex_lock(&parser->lock);
        parser->waiting = NULL;
        pthread_cond_signal(&parser->changed);
    }
    pthread_mutex_unlock(&parser->lock);
    return NULL;
}

struct row_parser *row_parser_new(const struct row_layout *layout, struct tsv_reader *reader, bool apart)
{
    struct row_parser *parser = calloc(1, sizeof *parser);
    if (!parser)
        return NULL;
    parser->layout = layout;
    parser->reader = reader;
    pthread_mutex_init(&parser->lock, NULL);
    pthread_cond_init(&parser->changed, NULL);
    /* If the thread cannot be started, row_parser_give parses the batch itself: slower, but with the same result. */
    parser->apart = apart && worker_thread_start(&parser->thread, parse_apart, parser);
    return parser;
}

void row_parser_give(struct row_parser *parser, struct row_batch *batch)
{
    if (!parser->apart) {
        parse(parser, batch);
        return;
    }
    pthread_mutex_lock(&parser->lock);
    parser->waiting = batch;
    pthread_cond_signal(&parser->changed);
    pthread_mutex_unlock(&parser->lock);
}

enum lineage_status row_parser_take(struct row_parser *parser, struct row_batch *batch, struct lineage_error *err)
{
    if (parser->apart) {
        pthread_mutex_lock(&parser->lock);
        while (parser->waiting)
            pthread_cond_wait(&parser->changed, &parser->lock);
        pthread_mutex_unlock(&parser->lock);
    }
    return batch->status == LINEAGE_OK ? LINEAGE_OK : store_give(err, &batch->err);
}

void row_parser_free(struct row_parser *parser)
{
    if (!parser)
        return;
    if (parser->apart) {
        pthread_mutex_lock(&parser->lock);
        parser->end = true;
        pthread_cond_signal(&parser->changed);
        pthread_mutex_unlock(&parser->lock);
        pthread_join(parser->thread, NULL);
    }
    pthread_cond_destroy(&parser->changed);
    pthread_mutex_destroy(&parser->lock);
    free(parser);
}
