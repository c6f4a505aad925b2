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

/* Appends bytes to the unfinished line. If the line gets too long or memory runs out, reports that and drops the
 * line. */
static void keep(struct mcp_lines *lines, const char *bytes, size_t length, mcp_line_fn *line, void *context)
{
    enum mcp_line_kind trouble = MCP_LINE_WHOLE;
    if (lines->dropping || !length)
        return;
    if (lines->length + length > MCP_MESSAGE_MAX)
        trouble = MCP_LINE_TOO_LONG;
    else if (!make_room(lines, length))
        trouble = MCP_LINE_NO_MEMORY;
    if (trouble != MCP_LINE_WHOLE) {
        line(context, trouble, "", 0);
        lines->dropping = true;
        lines->length = 0;
        return;
    }
    memcpy(lines->data + lines->length, bytes, length);
    lines->length += length;
}

/* Blank lines are ignored: answering each with an error without an id would only confuse clients. */
static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] != ' ' && text[i] != '\t')
            return false;
    return true;
}

/* Accepts CR LF, from clients that write text files. A dropped line was reported when it became too long. */
static void hand_out(struct mcp_lines *lines, mcp_line_fn *line, void *context)
{
    size_t length = lines->length;
    if (length && lines->data[length - 1] == '\r')
        length--;
    if (!lines->dropping && !is_blank(lines->data, length)) {
        lines->data[length] = '\0';
        line(context, MCP_LINE_WHOLE, lines->data, length);
    }
    lines->dropping = false;
    lines->length = 0;
}

void mcp_lines_feed(struct mcp_lines *lines, const char *bytes, size_t length, mcp_line_fn *line, void *context)
{
    while (length) {
        const char *end = memchr(bytes, '\n', length);
        size_t n = end ? (size_t)(end - bytes) : length;
        keep(lines, bytes, n, line, context);
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
