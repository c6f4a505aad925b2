/*
 * display_width.h: measures text in columns of a terminal, where a wide character takes two columns and a combining
 * character none.
 *
 * Texts are UTF-8 whose control characters have been escaped (cli_text_line). The unit is the character that a reader
 * sees: a letter with its marks, or a joined emoji. The width of a joined emoji is the sum of its parts, because some
 * terminals cannot join them; on the others a little room stays empty.
 */
#pragma once

#include <stdio.h>

/* Returns the width of text in columns. */
size_t display_width(const char *text);

/* Prints text, shortened to `columns` with a final … if it is longer. Returns the width printed. */
size_t display_cut(FILE *out, const char *text, size_t columns);

/* Returns the bytes of the first line of text with at most `columns` (but at least one character), broken at a blank if
 * possible. *next is set to where the next line begins. */
size_t display_line(const char *text, size_t columns, size_t *next);

/* Prints text as lines of at most `columns`. */
void display_wrapped(FILE *out, const char *text, size_t columns);
