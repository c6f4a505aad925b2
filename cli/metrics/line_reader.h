/* line_reader.h: whole lines from a descriptor that is read as bytes arrive. */
#ifndef CLI_LINE_READER_H
#define CLI_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>

/* A longer line is skipped: a child that writes without end must not fill the memory of its reader. */
enum { LINE_READER_MAX = 1 << 20 };

/* Zero is an empty reader. */
struct line_reader {
    char *bytes; /* [length] of a line that has not ended yet, followed by the bytes of the latest read */
    size_t length, capacity;
    bool overlong; /* the rest of this line is skipped */
};

/*
 * Reads what is there. Returns the number of bytes, which are the last ones of reader->bytes; 0 if nothing is there
 * now. At the end of the file, and when out of memory, closes the descriptor and sets *fd to -1.
 */
size_t line_reader_read(struct line_reader *reader, int *fd);

/* Called with one line, without its end. */
typedef void line_reader_take(void *context, const char *line, size_t length);

/* Calls take for each whole line, and keeps the rest. */
void line_reader_each(struct line_reader *reader, line_reader_take *take, void *context);

/* The same, where a carriage return ends a line as well: that is how a progress bar ends its lines. */
void line_reader_each_printed(struct line_reader *reader, line_reader_take *take, void *context);

/* Calls take for the rest at the end of the file: the last line of a program that ends without a line end. */
void line_reader_last(struct line_reader *reader, line_reader_take *take, void *context);

/* Skips the whole lines, and keeps the rest. */
void line_reader_skip(struct line_reader *reader);

void line_reader_release(struct line_reader *reader);

#endif
