/*
 * id_scan.c: the outermost keys and values of a JSON object, without keeping it. Only strings and brackets matter: a bracket
 * inside a string does not nest, and an "id" inside params is not the request's.
 */
#include "id_scan.h"

#include <string.h>

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
