#include "metrics/line_reader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metrics/metric_scan.h"

enum { READ_BYTES = 1 << 16 };

size_t line_reader_read(struct line_reader *reader, int *fd)
{
    if (reader->capacity - reader->length < READ_BYTES) {
        char *grown = realloc(reader->bytes, reader->capacity + READ_BYTES);
        if (grown) {
            reader->bytes = grown;
            reader->capacity += READ_BYTES;
        }
    }
    bool has_room = reader->capacity - reader->length >= READ_BYTES;
    ssize_t n = has_room ? read(*fd, reader->bytes + reader->length, reader->capacity - reader->length) : 0;
    if (n == 0) {
        close(*fd);
        *fd = -1;
    }
    if (n <= 0)
        return 0;
    reader->length += (size_t)n;
    return (size_t)n;
}

/* Moves the incomplete line after the last whole line to the front of the buffer. */
static void keep_rest(struct line_reader *reader, const char *from)
{
    reader->length -= (size_t)(from - reader->bytes);
    memmove(reader->bytes, from, reader->length);
    if (reader->length > (reader->most ? reader->most : LINE_READER_MAX)) {
        reader->first_skipped = reader->n_skipped ? reader->first_skipped : reader->n_lines + 1;
        reader->n_skipped += !reader->overlong;
        reader->overlong = true;
        reader->length = 0;
    }
}

void line_reader_each(struct line_reader *reader, line_reader_take *take, void *context)
{
    char *from = reader->bytes, *end;
    while ((end = memchr(from, '\n', reader->length - (size_t)(from - reader->bytes)))) {
        reader->n_lines++;
        if (!reader->overlong)
            take(context, from, (size_t)(end - from));
        reader->overlong = false;
        from = end + 1;
    }
    keep_rest(reader, from);
}

/*
 * The end of the line at `from` [n]. *newline is the position of the next line feed, which is remembered so that each
 * byte is searched only once.
 */
static char *printed_line_end(char *from, size_t n, char **newline)
{
    if (*newline && *newline < from)
        *newline = memchr(from, '\n', n);
    size_t before = *newline ? (size_t)(*newline - from) : n;
    char *carriage_return = memchr(from, '\r', before);
    return carriage_return ? carriage_return : *newline;
}

/* Passes on the line [n], in parts where the program moved the cursor to another line or erased this one. */
static void take_parts(const char *from, size_t n, line_reader_take *take, void *context)
{
    const char *end = from + n, *escape = from;
    size_t move;
    while ((escape = memchr(escape, '\033', (size_t)(end - escape)))) {
        if (!(move = metric_scan_move(escape, (size_t)(end - escape)))) {
            escape++;
            continue;
        }
        if (escape > from)
            take(context, from, (size_t)(escape - from));
        from = escape += move;
    }
    if (from < end || n == 0)
        take(context, from, (size_t)(end - from));
}

void line_reader_each_printed(struct line_reader *reader, line_reader_take *take, void *context)
{
    char *from = reader->bytes, *end, *newline = memchr(from, '\n', reader->length);
    while ((end = printed_line_end(from, reader->length - (size_t)(from - reader->bytes), &newline))) {
        if (!reader->overlong)
            take_parts(from, (size_t)(end - from), take, context);
        reader->overlong = false;
        from = end + 1;
    }
    keep_rest(reader, from);
}

void line_reader_last(struct line_reader *reader, line_reader_take *take, void *context)
{
    if (reader->length && !reader->overlong)
        take_parts(reader->bytes, reader->length, take, context);
    reader->length = 0;
}

void line_reader_skip(struct line_reader *reader)
{
    char *end = memrchr(reader->bytes, '\n', reader->length);
    reader->overlong = reader->overlong && !end;
    keep_rest(reader, end ? end + 1 : reader->bytes);
}

void line_reader_release(struct line_reader *reader)
{
    free(reader->bytes);
    *reader = (struct line_reader){0};
}
