/*
 * lines.c: splits bytes into lines. Separate from message.c, so that the bound on memory can be tested (and fuzzed)
 * without JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "lines.h"

/*
 * The outermost keys and values of a JSON object, without keeping it. Only strings and brackets matter: a bracket inside a
 * string does not nest, and an "id" inside params is not the request's.
 */

static void add(struct mcp_id_scan *scan, char byte)
{
    if (scan->length < MCP_ID_MAX)
        scan->word[scan->length++] = byte;
    else
        scan->length = MCP_ID_MAX + 1;
}

/* Ends the key or value in progress. */
static void end_word(struct mcp_id_scan *scan)
{
    bool fits = scan->length <= MCP_ID_MAX;
    scan->word[fits ? scan->length : 0] = '\0';
    if (!scan->is_value) {
        size_t n = fits && scan->length >= 2 ? scan->length - 2 : 0;
        scan->key[0] = '\0';
        if (n && n < sizeof scan->key) {
            memcpy(scan->key, scan->word + 1, n);
            scan->key[n] = '\0';
        }
        scan->has_method = scan->has_method || strcmp(scan->key, "method") == 0;
    } else if (strcmp(scan->key, "id") == 0) {
        memcpy(scan->id, scan->word, sizeof scan->id);
    }
    scan->length = 0;
}

/* A byte outside of strings. */
static void take_plain(struct mcp_id_scan *scan, char byte)
{
    bool opens = byte == '{' || byte == '[', closes = byte == '}' || byte == ']';
    if (scan->depth == 1 && (byte == ':' || byte == ',' || closes)) {
        end_word(scan);
        scan->is_value = byte == ':';
    } else if (scan->depth == 1 && byte != ' ' && byte != '\t' && byte != '\r') {
        add(scan, byte);
    }
    if (opens && scan->depth++ == 0)
        scan->in_object = byte == '{';
    scan->depth -= closes && scan->depth > 0;
    scan->in_string = byte == '"';
}

void mcp_id_scan_feed(struct mcp_id_scan *scan, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!scan->in_string) {
            take_plain(scan, bytes[i]);
            continue;
        }
        if (scan->depth == 1)
            add(scan, bytes[i]);
        scan->in_string = scan->escaped || bytes[i] != '"';
        scan->escaped = !scan->escaped && bytes[i] == '\\';
    }
}

const char *mcp_id_scan_result(const struct mcp_id_scan *scan)
{
    return scan->in_object && scan->has_method ? scan->id : "";
}

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
