/*
 * html_escape.h: escapes text of rows for a page.
 *
 * Every cell of a row was written by somebody else. This is the only place where cells become part of HTML, SVG or
 * JSON. The output is valid UTF-8 without control or bidirectional characters (lineage_text_visible), without line
 * ends, and without any character that is special in HTML, in an attribute in either kind of quotes, or in a script
 * element.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Prints text for HTML text and quoted attributes. At most `max` code points (0: all), then an ellipsis. NULL is "". */
void html_text(FILE *out, const char *text, size_t max);

/* Like html_text, for bytes that are not NUL-terminated. */
void html_bytes(FILE *out, const char *text, size_t length, size_t max);

/* Prints like printf (cli_print says which kinds there are), but each text as html_text does; its precision is max. */
void html_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void html_print_list(FILE *out, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* The start of a part that scrolls in a narrow window; HTML_SCROLL_ROLE has its attributes alone. */
#define HTML_SCROLL_ROLE " tabindex=\"0\" role=\"group\" aria-label=\"Scrollable\""
#define HTML_SCROLL "<div class=\"scroll\"" HTML_SCROLL_ROLE ">"

/* Prints a JSON string with its quotes that may be inside a script element: < > & are written as \u00XX. */
void html_json_string(FILE *out, const char *text, size_t max);
