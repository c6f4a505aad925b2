/* Tests records and cells: the vectors of fixtures/cases/tables, positions, and random round trips. */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "format/tsv.h"
#include "support/files.h"

static size_t from_hex(char *out, const char *hex)
{
    size_t n = 0;
    for (; hex[0] && hex[1]; hex += 2) {
        const char digits[] = {hex[0], hex[1], '\0'};
        out[n++] = (char)strtoul(digits, NULL, 16);
    }
    return n;
}

static void check_record(struct tsv_reader *reader, const struct tsv_record *record, const json_t *want)
{
    const struct tsv_cell *cells;
    size_t n;
    assert_int_equal(tsv_parse(reader, record, &cells, &n, NULL), LINEAGE_OK);
    assert_int_equal(n, json_array_size(want));
    for (size_t i = 0; i < n; i++) {
        const json_t *cell = json_array_get(want, i);
        assert_int_equal(cells[i].length, json_string_length(cell));
        assert_memory_equal(cells[i].text, json_string_value(cell), cells[i].length);
    }
}

static void files_are_read_as_the_table_says(void **state)
{
    json_t *table = read_json(FIXTURES_DIR "/cases/tables/csv-read.json");
    struct tsv_reader *reader = tsv_reader_new();
    (void)state;
    assert_true(json_array_size(table) > 5);
    for (size_t i = 0; i < json_array_size(table); i++) {
        const json_t *item = json_array_get(table, i), *records = json_object_get(item, "records");
        const char *hex = json_string_value(json_object_get(item, "tsv_hex"));
        char *bytes = malloc(strlen(hex) + 1);
        struct tsv_scanner scanner;
        struct tsv_record record;
        size_t n = 0;
        tsv_scanner_init(&scanner, bytes, from_hex(bytes, hex), 0, 1);
        while (tsv_scan(&scanner, &record))
            if (record.content)
                check_record(reader, &record, json_array_get(records, n++));
        assert_int_equal(n, json_array_size(records));
        free(bytes);
    }
    tsv_reader_free(reader);
    json_decref(table);
}

static void records_are_written_as_the_table_says(void **state)
{
    json_t *table = read_json(FIXTURES_DIR "/cases/tables/csv-write.json");
    (void)state;
    for (size_t i = 0; i < json_array_size(table); i++) {
        const json_t *item = json_array_get(table, i), *fields = json_object_get(item, "fields");
        struct tsv_cell cells[64];
        struct buf out = {0};
        for (size_t j = 0; j < json_array_size(fields); j++)
            cells[j] =
                (struct tsv_cell){json_string_value(json_array_get(fields, j)), json_string_length(json_array_get(fields, j))};
        tsv_write(&out, cells, json_array_size(fields));
        const char *want = json_string_value(json_object_get(item, "tsv"));
        if (!strchr(want, '\r')) /* we quote a lone CR, the reference does not */
            assert_string_equal(out.data, want);
        buf_release(&out);
    }
    json_decref(table);
}

static void a_lone_carriage_return_is_quoted(void **state)
{
    struct tsv_cell cell = {"a\rb", 3};
    struct buf out = {0};
    (void)state;
    tsv_write(&out, &cell, 1);
    assert_string_equal(out.data, "\"a\rb\"\n");
    buf_release(&out);
}

/* Whether a byte makes its cell quoted does not depend on its position or the length of the cell. */
static void four_bytes_and_no_other_make_a_quoted_cell(void **state)
{
    char text[20];
    (void)state;
    for (size_t length = 1; length <= sizeof text; length++)
        for (size_t at = 0; at < length; at++)
            for (int c = 0; c < 256; c++) {
                struct buf out = {0};
                memset(text, ' ', sizeof text);
                text[at] = (char)c;
                tsv_write_cell(&out, text, length);
                bool quoted = c == '\t' || c == '\n' || c == '\r' || c == '"';
                assert_int_equal(out.length, length + (quoted ? 2 : 0) + (c == '"'));
                assert_memory_equal(out.data + quoted, text, at + 1);
                assert_memory_equal(out.data + quoted + at + 1 + (c == '"'), text + at + 1, length - at - 1);
                buf_release(&out);
            }
}

static void positions_count_physical_lines(void **state)
{
    static const char bytes[] = "h\r\n\"a\nb\r\nc\rd\"\n\nx\ry";
    static const struct {
        uint64_t offset, line;
        size_t content;
        bool terminated;
    } want[] = {{0, 1, 1, true}, {3, 2, 10, true}, {14, 6, 0, true}, {15, 7, 1, true}, {17, 8, 1, false}};
    struct tsv_scanner scanner;
    struct tsv_record record;
    (void)state;
    tsv_scanner_init(&scanner, bytes, sizeof bytes - 1, 0, 1);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_true(tsv_scan(&scanner, &record));
        assert_int_equal(record.offset, want[i].offset);
        assert_int_equal(record.line, want[i].line);
        assert_int_equal(record.content, want[i].content);
        assert_int_equal(record.terminated, want[i].terminated);
    }
    assert_false(tsv_scan(&scanner, &record));
}

static void an_open_quote_at_the_end_is_seen(void **state)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    (void)state;
    tsv_scanner_init(&scanner, "a\t\"b\nc", 6, 0, 1);
    assert_true(tsv_scan(&scanner, &record));
    assert_true(record.in_quotes && !record.terminated);
}

/* Makes a random cell of characters that matter for quoting. */
static size_t random_cell(char *out, unsigned *seed)
{
    static const char alphabet[] = "ab\t\n\r\"\" \0'\\,";
    size_t n = (size_t)rand_r(seed) % 9;
    for (size_t i = 0; i < n; i++)
        out[i] = alphabet[(size_t)rand_r(seed) % (sizeof alphabet - 1)];
    return n;
}

static void what_is_written_reads_back(void **state)
{
    struct tsv_reader *reader = tsv_reader_new();
    unsigned seed = 7;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[6][16];
        struct tsv_cell cells[6];
        const struct tsv_cell *read;
        struct tsv_scanner scanner;
        struct tsv_record record;
        struct buf out = {0};
        size_t n = 1 + (size_t)rand_r(&seed) % 6, n_read;
        for (size_t i = 0; i < n; i++)
            cells[i] = (struct tsv_cell){text[i], random_cell(text[i], &seed)};
        tsv_write(&out, cells, n);
        tsv_scanner_init(&scanner, out.data, out.length, 0, 1);
        assert_true(tsv_scan(&scanner, &record));
        assert_int_equal(record.length, out.length);
        assert_int_equal(tsv_parse(reader, &record, &read, &n_read, NULL), LINEAGE_OK);
        assert_int_equal(n_read, n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(read[i].length, cells[i].length);
            assert_memory_equal(read[i].text, cells[i].text, cells[i].length);
        }
        buf_release(&out);
    }
    tsv_reader_free(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_as_the_table_says), cmocka_unit_test(records_are_written_as_the_table_says),
        cmocka_unit_test(a_lone_carriage_return_is_quoted), cmocka_unit_test(four_bytes_and_no_other_make_a_quoted_cell),
        cmocka_unit_test(positions_count_physical_lines),   cmocka_unit_test(an_open_quote_at_the_end_is_seen),
        cmocka_unit_test(what_is_written_reads_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
