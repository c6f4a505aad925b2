/*
 * tsv.c: records and cells of results.tsv.
 *
 * Records are separated here, because a record's place in the file must be known exactly; the cells of a record come
 * from libcsv. libcsv and CPython's dialect differ in one point, text after a closing quote ("a"b is read as ab), so
 * such records are rewritten into a form that both read in the same way.
 *
 * The rest of the store depends on the offset and length of every record: the mirror keeps a digest of exactly these
 * bytes and continues where the last terminated record ends, `verify` names lines by these positions, and a writer uses
 * them to move a torn record aside. libcsv reports neither where a field begins nor where it ends, and swallows empty
 * lines.
 *
 * The rules are those of CPython's csv module with a tab, because fieldkit and the Auto-Research-Recipes harness read
 * the same file with it: a tool that reads the file differently would name another trial as the best.
 */
#include "tsv.h"

#include <csv.h>

#include "../fail.h"

struct tsv_reader {
    struct csv_parser parser;
    struct buf text;       /* cells, each with a NUL */
    struct buf normal;     /* a record rewritten for libcsv */
    struct tsv_cell *cells;
    size_t *ends;
    size_t n, capacity;
    char delimiter;
    bool failed;
};

void tsv_scanner_init(struct tsv_scanner *scanner, const char *data, size_t length, uint64_t offset, uint64_t line)
{
    *scanner = (struct tsv_scanner){data, length, 0, offset, line, '\t'};
}

/* The state of a cell at one byte, where quotes matter. Only the first byte of a cell can open a quote, so that `5"
 * disk`, typed by hand, does not swallow the rows after it. */
enum cell_state { CELL_START, CELL_PLAIN, CELL_QUOTED, CELL_QUOTE_SEEN };

static enum cell_state next_state(enum cell_state state, char c, char delimiter)
{
    if (state == CELL_QUOTED)
        return c == '"' ? CELL_QUOTE_SEEN : CELL_QUOTED;
    if (state == CELL_QUOTE_SEEN && c == '"')
        return CELL_QUOTED;
    if (c == delimiter)
        return CELL_START;
    return state == CELL_START && c == '"' ? CELL_QUOTED : CELL_PLAIN;
}

/* Length of the line end at data[i], 0 if there is none. At the very end of the bytes, a CR may be half of CR LF; the
 * callers know whether more bytes are to come. */
static size_t line_end(const char *data, size_t length, size_t i)
{
    if (data[i] == '\n')
        return 1;
    if (data[i] != '\r')
        return 0;
    return i + 1 < length && data[i + 1] == '\n' ? 2 : 1;
}

/* A record that may contain quotes or carriage returns is scanned byte by byte. Lines inside quotes are counted too,
 * because a message should name the line that an editor shows. An open quote at the end is reported: a reader must take
 * everything after the quote as one cell, while a writer may repair it. */
static void scan_slowly(struct tsv_scanner *s, struct tsv_record *record)
{
    enum cell_state state = CELL_START;
    size_t i = s->position;
    while (i < s->length) {
        size_t end = line_end(s->data, s->length, i);
        if (end) {
            s->line++;
            if (state != CELL_QUOTED) {
                record->content = i - s->position;
                record->length = record->content + end;
                record->terminated = true;
                return;
            }
            i += end;
            continue;
        }
        state = next_state(state, s->data[i++], s->delimiter);
    }
    record->content = record->length = s->length - s->position;
    record->in_quotes = state == CELL_QUOTED;
}

bool tsv_scan(struct tsv_scanner *s, struct tsv_record *record)
{
    if (s->position >= s->length)
        return false;
    const char *start = s->data + s->position;
    size_t left = s->length - s->position;
    *record = (struct tsv_record){.bytes = start, .offset = s->offset + s->position, .line = s->line};
    /* A record begins outside quotes, so the first LF ends it unless a quote or a CR comes before. Two more searches
     * of the same bytes are cheaper than a state machine over each of them, and nearly all records have neither. */
    const char *end = memchr(start, '\n', left);
    size_t span = end ? (size_t)(end - start) : left;
    if (memchr(start, '"', span) || memchr(start, '\r', span)) {
        scan_slowly(s, record);
    } else {
        record->content = span;
        record->terminated = end != NULL;
        record->length = span + record->terminated;
        s->line += record->terminated;
    }
    s->position += record->length;
    return true;
}

/* libcsv's defaults would trim blanks around a cell, which every other tool treats as content. */
static int never(unsigned char c)
{
    (void)c;
    return 0;
}

void tsv_reader_set_delimiter(struct tsv_reader *reader, char delimiter)
{
    reader->delimiter = delimiter;
    csv_set_delim(&reader->parser, (unsigned char)delimiter);
}

struct tsv_reader *tsv_reader_new(void)
{
    struct tsv_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    /* libcsv's strict mode is off: an error in the middle of a record would discard all its cells, and gaps in a
     * history mislead. */
    if (csv_init(&reader->parser, 0) != 0) {
        free(reader);
        return NULL;
    }
    tsv_reader_set_delimiter(reader, '\t');
    csv_set_blk_size(&reader->parser, (size_t)1 << 16); /* otherwise a long quoted cell grows by 128 bytes at a time */
    csv_set_space_func(&reader->parser, never);
    csv_set_term_func(&reader->parser, never); /* records are separated before parsing, so line ends are content */
    return reader;
}

void tsv_reader_free(struct tsv_reader *reader)
{
    if (!reader)
        return;
    csv_free(&reader->parser);
    buf_release(&reader->text);
    buf_release(&reader->normal);
    free(reader->cells);
    free(reader->ends);
    free(reader);
}

/* The capacity is raised only after both arrays have grown. If the second allocation fails, the first array is larger
 * than recorded, which is harmless. */
static bool room_for_cell(struct tsv_reader *reader)
{
    if (reader->n < reader->capacity)
        return true;
    size_t capacity = reader->capacity ? reader->capacity * 2 : 32;
    struct tsv_cell *cells = realloc(reader->cells, capacity * sizeof *cells);
    if (cells)
        reader->cells = cells;
    size_t *ends = cells ? realloc(reader->ends, capacity * sizeof *ends) : NULL;
    if (!ends)
        return false;
    reader->ends = ends;
    reader->capacity = capacity;
    return true;
}

/* Stores the end offsets of cells instead of pointers, because the buffer may move while it grows. The NUL after each
 * cell lets callers compare names with strcmp; because a cell may contain a NUL, its length is stored too. */
static void add_cell(struct tsv_reader *reader, const void *text, size_t length)
{
    if (reader->failed || !room_for_cell(reader)) {
        reader->failed = true;
        return;
    }
    buf_add(&reader->text, text, length);
    reader->ends[reader->n++] = reader->text.length;
    buf_add(&reader->text, "", 1);
}

static void on_cell(void *text, size_t length, void *context)
{
    add_cell(context, text, length);
}

/* libcsv calls this at the end of a record; there is nothing to do, because the scanner has found the end already. */
static void on_record(int end, void *context)
{
    (void)end;
    (void)context;
}

/* CPython continues after a closing quote with the rest of the cell as literal text, quotes included. If that text is
 * moved inside the quotes and its quotes are doubled, libcsv reads it as the same cell. */
/* Holds back each closing quote until it is known to be the last byte of its cell. */
static void normalise(struct buf *out, char delimiter, const char *bytes, size_t length)
{
    enum { START, PLAIN, QUOTED, CLOSED, TAIL } state = START;
    buf_truncate(out, 0);
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (state == QUOTED) {
            if (c == '"')
                state = CLOSED;
            else
                buf_add(out, &c, 1);
            continue;
        }
        if (state == CLOSED && c == '"') {
            buf_add(out, "\"\"", 2);
            state = QUOTED;
        } else if (c == delimiter) {
            if (state != START && state != PLAIN)
                buf_add(out, "\"", 1);
            buf_add(out, &c, 1);
            state = START;
        } else if (state == START || state == PLAIN) {
            buf_add(out, &c, 1);
            state = state == START && c == '"' ? QUOTED : PLAIN;
        } else {
            buf_add(out, c == '"' ? "\"\"" : &c, c == '"' ? 2 : 1);
            state = TAIL;
        }
    }
    if (state == CLOSED || state == TAIL)
        buf_add(out, "\"", 1);
}

/* buf_add may move the buffer; cells are located once it no longer moves. */
static void point_cells(struct tsv_reader *reader)
{
    size_t start = 0;
    for (size_t i = 0; i < reader->n; i++) {
        reader->cells[i] = (struct tsv_cell){reader->text.data + start, reader->ends[i] - start};
        start = reader->ends[i] + 1;
    }
}

/* A record without quotes is split at its delimiters. Most records have none, so scanning them byte by byte would cost the
 * most. */
static void split_plain(struct tsv_reader *reader, const char *bytes, size_t length)
{
    const char *end = bytes + length, *stop;
    for (; (stop = memchr(bytes, reader->delimiter, (size_t)(end - bytes))); bytes = stop + 1)
        add_cell(reader, bytes, (size_t)(stop - bytes));
    add_cell(reader, bytes, (size_t)(end - bytes));
}

enum lineage_status tsv_parse(struct tsv_reader *reader, const struct tsv_record *record, const struct tsv_cell **cells,
                              size_t *n_cells, struct lineage_error *err)
{
    const char *bytes = record->bytes;
    size_t length = record->content;
    reader->n = 0;
    reader->text.length = 0;
    size_t parsed = length;
    int finished = 0;
    if (!memchr(bytes, '"', length)) {
        split_plain(reader, bytes, length);
    } else {
        normalise(&reader->normal, reader->delimiter, bytes, length);
        length = reader->normal.length;
        parsed = csv_parse(&reader->parser, reader->normal.data, length, on_cell, on_record, reader);
        finished = csv_fini(&reader->parser, on_cell, on_record, reader);
    }
    if (parsed != length || finished != 0 || reader->failed || reader->text.failed || reader->normal.failed) {
        /* Even after an allocation failed, the reader must work again for the next record. */
        reader->failed = reader->text.failed = reader->normal.failed = false;
        return store_fail(err, LINEAGE_ENOMEM, "line %llu: out of memory", (unsigned long long)record->line);
    }
    point_cells(reader);
    *cells = reader->cells;
    *n_cells = reader->n;
    return LINEAGE_OK;
}

/* Copies a cell unless it needs quotes. It tests eight bytes at a time; the last eight may overlap the ones before.
 * With bit 1 flipped, only a quote and bytes below 0x20 are below 0x21, and subtraction borrows for such a byte. memchr
 * then decides whether such a byte is one of the four. */
static bool copy_plain(char *to, const char *text, size_t length)
{
    const uint64_t ones = 0x0101010101010101u, high = ones * 0x80;
    uint64_t suspect = 0, eight;
    size_t i = 0;
    if (length < sizeof eight) {
        for (; i < length; i++) {
            to[i] = text[i];
            suspect |= ((unsigned char)text[i] ^ 2u) < 0x21 ? high : 0;
        }
    } else
        for (bool last = false; !last; i += sizeof eight) {
            last = length - i <= sizeof eight;
            i = last ? length - sizeof eight : i;
            memcpy(&eight, text + i, sizeof eight);
            memcpy(to + i, &eight, sizeof eight);
            eight ^= ones * 2;
            suspect |= (eight - ones * 0x21) & ~eight;
        }
    return !(suspect & high) ||
           !(memchr(text, '\t', length) || memchr(text, '\n', length) || memchr(text, '\r', length) || memchr(text, '"', length));
}

/* Quotes a cell only if it could be misread without quotes, as CPython's QUOTE_MINIMAL does: a row written here and one
 * written by fieldkit have the same bytes, and so the same digest. */
void tsv_write_cell(struct buf *out, const char *text, size_t length)
{
    if (!buf_reserve(out, length))
        return;
    if (copy_plain(out->data + out->length, text, length)) {
        out->length += length;
        out->data[out->length] = '\0';
        return;
    }
    buf_add(out, "\"", 1);
    for (const char *end = text + length; text < end;) {
        const char *quote = memchr(text, '"', (size_t)(end - text));
        size_t n = (size_t)((quote ? quote + 1 : end) - text);
        buf_add(out, text, n);
        if (quote)
            buf_add(out, "\"", 1);
        text += n;
    }
    buf_add(out, "\"", 1);
}

void tsv_write(struct buf *out, const struct tsv_cell *cells, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add(out, "\t", 1);
        tsv_write_cell(out, cells[i].text, cells[i].length);
    }
    if (n == 1 && cells[0].length == 0)
        buf_add(out, "\"\"", 2); /* otherwise the record would be an empty line */
    buf_add(out, "\n", 1);
}
