/*
 * fuzz_tsv.c: runs the TSV reader on arbitrary bytes. The records must cover the input without gap or overlap, the
 * header and its rows are read, and cells must stay the same when they are written and read again.
 */
#include <stdlib.h>
#include <string.h>

#include "format/row.h"
#include "fuzz.h"

static void round_trip(struct tsv_reader *reader, const struct tsv_cell *cells, size_t n)
{
    struct buf out = {0};
    struct tsv_scanner scanner;
    struct tsv_record record;
    const struct tsv_cell *again;
    size_t n_again;
    struct tsv_cell *copy = calloc(n, sizeof *copy);
    for (size_t i = 0; i < n; i++) {
        char *text = malloc(cells[i].length + 1);
        memcpy(text, cells[i].text, cells[i].length + 1);
        copy[i] = (struct tsv_cell){text, cells[i].length};
    }
    tsv_write(&out, copy, n);
    tsv_scanner_init(&scanner, out.data, out.length, 0, 1);
    fuzz_assert(tsv_scan(&scanner, &record) && record.terminated && record.length == out.length);
    fuzz_assert(tsv_parse(reader, &record, &again, &n_again, NULL) == LINEAGE_OK && n_again == n);
    for (size_t i = 0; i < n; i++) {
        fuzz_assert(again[i].length == copy[i].length && memcmp(again[i].text, copy[i].text, copy[i].length) == 0);
        free((void *)(uintptr_t)copy[i].text);
    }
    free(copy);
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tsv_reader *reader = tsv_reader_new();
    struct row_layout layout = {.score = -1};
    struct arena arena = {0};
    struct tsv_scanner scanner;
    struct tsv_record record;
    bool has_layout = false;
    uint64_t expected = 0;
    tsv_scanner_init(&scanner, (const char *)data, size, 0, 1);
    while (tsv_scan(&scanner, &record)) {
        const struct tsv_cell *cells;
        struct lineage_trial trial;
        enum lineage_status status;
        enum row_fault fault;
        char reason[160];
        size_t n;
        fuzz_assert(record.offset == expected && record.length > 0 && record.content <= record.length);
        expected += record.length;
        if (!record.content)
            continue;
        fuzz_assert(tsv_parse(reader, &record, &cells, &n, NULL) == LINEAGE_OK && n > 0);
        if (!has_layout)
            has_layout = row_layout_read(&layout, cells, n, NULL, NULL) == LINEAGE_OK;
        else if (row_read(&trial, &layout, cells, n, &arena, &fault, reason, &status))
            fuzz_assert(lineage_label_name(trial.status) != NULL);
        round_trip(reader, cells, n);
    }
    fuzz_assert(expected == size);
    row_layout_release(&layout);
    arena_release(&arena);
    tsv_reader_free(reader);
    return 0;
}
