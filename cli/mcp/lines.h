/*
 * lines.h: splits standard input into lines of one message each. A line longer than MCP_MESSAGE_MAX is dropped, so that a
 * sender without line ends cannot use up the memory, and reported once at its end, with the id of its request.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* ---- id scan ---- */

/*
 * Finds the id of a request that is too long to be kept, byte by byte and in constant memory, so that its client learns
 * which of its requests was refused.
 */

#define MCP_ID_MAX 200 /* bytes of an id in JSON; a longer one is not reported */

struct mcp_id_scan {
    int depth;                   /* nested objects and lists at this place */
    bool in_string, escaped;     /* inside a string; behind its backslash */
    bool in_object;              /* the outermost value is an object */
    bool is_value;               /* behind a colon of the outermost object */
    bool has_method;             /* the key "method" was seen */
    char word[MCP_ID_MAX + 1];   /* the key or value of the outermost object in progress, as JSON */
    size_t length;               /* of word; MCP_ID_MAX + 1: it does not fit */
    char key[8];                 /* the key of that value, without quotes; "" if it is longer */
    char id[MCP_ID_MAX + 1];     /* "" if none was found */
};

/* Takes the next bytes of one message. Begin with a zeroed scan. Anything but valid JSON finds nothing or some text, which
 * the caller must parse. */
void mcp_id_scan_feed(struct mcp_id_scan *scan, const char *bytes, size_t length);

/* Returns the id as JSON text if the message is a request, else "". Valid while the scan is. */
const char *mcp_id_scan_result(const struct mcp_id_scan *scan);

#define MCP_MESSAGE_MAX ((size_t)1 << 20) /* bytes; a cell of results.tsv has at most 131072 */

/* How a line ended. text is NUL-terminated and valid only during the call: the line, or for a dropped line the JSON text of
 * its id, "" if it has none. */
enum mcp_line_kind { MCP_LINE_WHOLE, MCP_LINE_TOO_LONG, MCP_LINE_NO_MEMORY };

struct mcp_lines {
    char *data;
    size_t length, capacity;
    enum mcp_line_kind dropped; /* inside a line that is dropped, and why */
    struct mcp_id_scan id;      /* of that line */
};

typedef void mcp_line_fn(void *context, enum mcp_line_kind kind, const char *text, size_t length);

/* Takes bytes and calls `line` for each line that ends in them, without its LF or CR LF; blank lines are skipped. */
void mcp_lines_feed(struct mcp_lines *lines, const char *bytes, size_t length, mcp_line_fn *line, void *context);

/* At the end of the input: calls `line` for a last line without a line end. */
void mcp_lines_end(struct mcp_lines *lines, mcp_line_fn *line, void *context);

void mcp_lines_release(struct mcp_lines *lines);
