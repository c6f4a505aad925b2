/*
 * html_escape.h: text of rows on its way into a page. Every cell of a row is written by somebody else: this is
 * the one place where it becomes part of HTML, SVG or JSON, and nothing else in this room prints a cell.
 *
 * What comes out is valid UTF-8 without control or bidirectional characters (lineage_text_visible), without line
 * ends, and without any character that HTML, an attribute in either kind of quotes, or a script element gives a
 * meaning to.
 */
#ifndef REPORT_HTML_ESCAPE_H
#define REPORT_HTML_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* For text and for attributes in quotes. At most `max` code points (0: all), then an ellipsis. NULL is "". */
void html_text(FILE *out, const char *text, size_t max);

/* The same for a stretch of bytes that has no end of its own. */
void html_bytes(FILE *out, const char *text, size_t length, size_t max);

/* A JSON string, quotes included, that may stand inside a script element: < > & are written \u00XX. */
void html_json_string(FILE *out, const char *text, size_t max);

#endif
