/*
 * display.h: text measured in columns of a terminal, where a wide character takes two and a combining one none.
 *
 * Texts are UTF-8 that has been made harmless (cli_text_line). What is cut or measured is a character as its reader
 * sees it: a letter with its marks, a joined emoji. Of joined parts the widths are added, as terminals do that know
 * nothing of joining; others leave a little room.
 */
#ifndef CLI_DISPLAY_H
#define CLI_DISPLAY_H

#include <stdio.h>

size_t display_width(const char *text);

/* Bytes of the longest beginning of text that takes at most `columns`; *taken is what it takes. */
size_t display_prefix(const char *text, size_t columns, size_t *taken);

/* Print text, cut to `columns` with a final … where it is longer; returns the columns taken. */
size_t display_cut(FILE *out, const char *text, size_t columns);

/* Bytes of text for a line of at most `columns` (at least one character), ended at a blank where there is one; *next is
 * where the line after it begins. */
size_t display_line(const char *text, size_t columns, size_t *next);

/* Print text as lines of at most `columns`. */
void display_wrapped(FILE *out, const char *text, size_t columns);

/* Values as a row of blocks, at most `columns` of them; of more values every so manieth, with the first and the last.
 * Needs n > 0, columns > 0 and finite values. */
void display_sparkline(FILE *out, const double *values, size_t n, size_t columns);

#endif
