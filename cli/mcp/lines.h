/*
 * lines.h: bytes of standard input into lines, one message each.
 *
 * A line longer than MCP_MESSAGE_MAX is dropped to its end and counted once, so that a sender without line ends
 * costs no more memory than one with.
 */
#ifndef MCP_LINES_H
#define MCP_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define MCP_MESSAGE_MAX ((size_t)1 << 20) /* bytes; a cell of results.tsv has 131072 at most */

struct mcp_lines {
    char *data;
    size_t length, capacity;
    bool dropping; /* inside a line that was too long */
};

/* What a line is; text is NUL-terminated and valid during the call. */
enum mcp_line_kind { MCP_LINE_WHOLE, MCP_LINE_TOO_LONG, MCP_LINE_NO_MEMORY };
typedef void mcp_line_fn(void *context, enum mcp_line_kind kind, const char *text, size_t length);

/* Take in bytes and hand out the lines that end in them, without LF or CR LF; empty ones are left out. */
void mcp_lines_feed(struct mcp_lines *lines, const char *bytes, size_t length, mcp_line_fn *line, void *context);

/* The input has ended: hand out a last line without line end. */
void mcp_lines_end(struct mcp_lines *lines, mcp_line_fn *line, void *context);

void mcp_lines_release(struct mcp_lines *lines);

#endif
