/* line_reader.h: splits the bytes that arrive on a descriptor into whole lines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer lines are skipped, because a child that writes without end must not fill the memory of its reader. Events may hold texts. */
enum { LINE_READER_MAX = 1 << 20, LINE_READER_EVENT_MAX = 16 << 20 };

/* A reader of zero bytes ({0}) is valid and empty. */
struct line_reader {
    char *bytes; /* [length] of a line that has not ended yet, followed by the bytes of the latest read */
    size_t length, capacity;
    bool overlong; /* the rest of this line is skipped */
    size_t most; /* longest line; 0: LINE_READER_MAX */
    uint64_t n_lines, n_skipped, first_skipped; /* lines so far, those that were too long, and the number of the first of them */
};

/*
 * Reads the bytes that are available and appends them to reader->bytes. Returns their number; 0 if none are available.
 * At the end of the file, and when out of memory, closes the descriptor and sets *fd to -1.
 */
size_t line_reader_read(struct line_reader *reader, int *fd);

/* Called with one line, without its end. */
typedef void line_reader_take(void *context, const char *line, size_t length);

/* Calls take for each whole line, and keeps the incomplete last line. */
void line_reader_each(struct line_reader *reader, line_reader_take *take, void *context);

/* Like line_reader_each, but a carriage return also ends a line, because progress bars end their lines with it. */
void line_reader_each_printed(struct line_reader *reader, line_reader_take *take, void *context);

/* Called at the end of the file. Calls take for the last line if it has no line end. */
void line_reader_last(struct line_reader *reader, line_reader_take *take, void *context);

/* Drops the whole lines and keeps the incomplete last line. */
void line_reader_skip(struct line_reader *reader);

void line_reader_release(struct line_reader *reader);
