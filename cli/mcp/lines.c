/*
 * lines.c: splits bytes into lines. Separate from message.c, so that the bound on memory can be tested (and fuzzed)
 * without JSON.
 */
#include "lines.h"

#include <stdlib.h>
#include <string.h>

/* Doubles the buffer, so that a message that arrives byte by byte is not copied for each byte. One byte is reserved for
 * the NUL that the parser's caller needs. */
static bool make_room(struct mcp_lines *lines, size_t more)
{
    size_t needed = lines->length + more + 1, capacity = lines->capacity ? lines->capacity : 4096;
    if (needed <= lines->capacity)
        return true;
    while (capacity < needed)
        capacity *= 2;
    char *grown = realloc(lines->data, capacity);
    if (!grown)
        return false;
    lines->data = grown;
    lines->capacity = capacity;
    return true;
}

/* Appends bytes to the unfinished line. If the line gets too long or memory runs out, drops the line up to its end, and
 * keeps only its id. */
static void keep(struct mcp_lines *lines, const char *bytes, size_t length)
{
    if (!length)
        return;
    if (lines->dropped == MCP_LINE_WHOLE && lines->length + length > MCP_MESSAGE_MAX)
        lines->dropped = MCP_LINE_TOO_LONG;
    else if (lines->dropped == MCP_LINE_WHOLE && !make_room(lines, length))
        lines->dropped = MCP_LINE_NO_MEMORY;
    if (lines->dropped == MCP_LINE_WHOLE) {
        memcpy(lines->data + lines->length, bytes, length);
        lines->length += length;
        return;
    }
    if (lines->length)
        mcp_id_scan_feed(&lines->id, lines->data, lines->length);
    lines->length = 0;
    mcp_id_scan_feed(&lines->id, bytes, length);
}

/* Blank lines are ignored: answering each with an error without an id would only confuse clients. */
static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] != ' ' && text[i] != '\t')
            return false;
    return true;
}

/* A dropped line is reported at its end, because some clients write the id behind the params. */
static void report_dropped(struct mcp_lines *lines, mcp_line_fn *line, void *context)
{
    const char *id = mcp_id_scan_result(&lines->id);
    line(context, lines->dropped, id, strlen(id));
    lines->dropped = MCP_LINE_WHOLE;
    lines->id = (struct mcp_id_scan){.depth = 0};
    lines->length = 0;
}

/* Accepts CR LF, from clients that write text files. */
static void hand_out(struct mcp_lines *lines, mcp_line_fn *line, void *context)
{
    size_t length = lines->length;
    if (lines->dropped != MCP_LINE_WHOLE) {
        report_dropped(lines, line, context);
        return;
    }
    if (length && lines->data[length - 1] == '\r')
        length--;
    if (!is_blank(lines->data, length)) {
        lines->data[length] = '\0';
        line(context, MCP_LINE_WHOLE, lines->data, length);
    }
    lines->length = 0;
}

void mcp_lines_feed(struct mcp_lines *lines, const char *bytes, size_t length, mcp_line_fn *line, void *context)
{
    while (length) {
        const char *end = memchr(bytes, '\n', length);
        size_t n = end ? (size_t)(end - bytes) : length;
        keep(lines, bytes, n);
        if (end)
            hand_out(lines, line, context);
        n += end != NULL;
        bytes += n;
        length -= n;
    }
}

void mcp_lines_end(struct mcp_lines *lines, mcp_line_fn *line, void *context)
{
    hand_out(lines, line, context);
}

void mcp_lines_release(struct mcp_lines *lines)
{
    free(lines->data);
    *lines = (struct mcp_lines){0};
}
