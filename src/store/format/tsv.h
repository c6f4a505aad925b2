/*
 * tsv.h: records and cells of results.tsv (schema/FORMAT.md): CPython csv dialect, TAB, quote `"`,
 * minimal quoting, LF.
 */
#pragma once

#include <lineage/status.h>

#include "arena.h"

/* One record inside a buffer: bytes up to and including its line end. */
struct tsv_record {
    const char *bytes;
    size_t length;   /* with line end */
    size_t content;  /* without line end; 0 for an empty record, which readers skip */
    uint64_t offset; /* of bytes in the file */
    uint64_t line;   /* physical line of its first byte, from 1 */
    bool terminated; /* ended by LF, CR LF or CR outside quotes */
    bool in_quotes;  /* the buffer ended inside a quoted cell */
};

/* Separates a buffer into records. The buffer must contain all bytes from a record boundary on. */
struct tsv_scanner {
    const char *data;
    size_t length, position;
    uint64_t offset; /* file offset of data[0] */
    uint64_t line;   /* line number of the next record */
    char delimiter;  /* between cells, where a quote counts; set to TAB by init */
};
void tsv_scanner_init(struct tsv_scanner *scanner, const char *data, size_t length, uint64_t offset, uint64_t line);
/* False at the end of the buffer. A CR at the very end of the buffer ends the record. */
bool tsv_scan(struct tsv_scanner *scanner, struct tsv_record *record);

/* Cells of one record. The reader is reused from record to record; cells are valid until the next parse. */
struct tsv_cell {
    const char *text; /* NUL-terminated (a cell may hold further NULs) */
    size_t length;
};
struct tsv_reader;
struct tsv_reader *tsv_reader_new(void); /* NULL when out of memory */
void tsv_reader_free(struct tsv_reader *reader);
#define SCOPED_READER RELEASED_BY(tsv_reader_free_scoped) struct tsv_reader *
static inline void tsv_reader_free_scoped(struct tsv_reader **reader)
{
    tsv_reader_free(*reader);
}
void tsv_reader_set_delimiter(struct tsv_reader *reader, char delimiter); /* TAB without this call */
enum lineage_status tsv_parse(struct tsv_reader *reader, const struct tsv_record *record, const struct tsv_cell **cells,
                              size_t *n_cells, struct lineage_error *err);

/* Appends a record of n cells and LF to out. Quotes cells with TAB, LF, CR or a double quote. */
void tsv_write(struct buf *out, const struct tsv_cell *cells, size_t n);

/* Appends one cell, quoted if needed. */
void tsv_write_cell(struct buf *out, const char *text, size_t length);
