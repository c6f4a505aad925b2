/*
 * fuzz_mcp.c: reads hostile bytes as messages of `lineage mcp`. However the bytes are split, the reader must find the
 * same lines. Every line has one of the kinds, and an error if it is invalid. The id of a request can always be sent
 * back, and the search for the id of a dropped message finds the one that the parser finds, or none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "mcp/lines.h"
#include "mcp/message.h"

struct heard {
    size_t n, bytes;
    unsigned hash;
};

static void check_message(const struct mcp_message *message)
{
    fuzz_assert(!message->id || json_is_string(message->id) || json_is_integer(message->id));
    switch (message->kind) {
    case MCP_REQUEST: fuzz_assert(message->id && message->method && message->root); break;
    case MCP_NOTIFICATION: fuzz_assert(!message->id && message->method && message->root); break;
    case MCP_RESPONSE: fuzz_assert(!message->method && message->root); break;
    case MCP_BATCH: fuzz_assert(json_array_size(message->root) > 0); break;
    case MCP_INVALID:
        fuzz_assert(message->error[0] && !strchr(message->error, '\n'));
        fuzz_assert(message->code == MCP_PARSE_ERROR || message->code == MCP_INVALID_REQUEST ||
                    message->code == MCP_INVALID_PARAMS);
        break;
    }
    fuzz_assert(!message->params || message->kind == MCP_INVALID || json_is_object(message->params));
}

/* A key that is written with escapes is not found, which costs a client the id in an error only. */
static void check_id(const struct mcp_message *message, const char *text, size_t length)
{
    struct mcp_id_scan scan = {.depth = 0};
    struct mcp_message dropped;
    mcp_id_scan_feed(&scan, text, length);
    mcp_message_dropped(&dropped, mcp_id_scan_result(&scan), "dropped");
    fuzz_assert(dropped.kind == MCP_INVALID && dropped.error[0]);
    fuzz_assert(!dropped.id || message->kind != MCP_REQUEST || json_equal(dropped.id, message->id));
    mcp_message_release(&dropped);
}

static void hear(void *context, enum mcp_line_kind kind, const char *text, size_t length)
{
    struct heard *heard = context;
    struct mcp_message message;
    heard->n++;
    heard->bytes += length;
    for (size_t i = 0; i < length; i++)
        heard->hash = heard->hash * 31 + (unsigned char)text[i];
    if (kind != MCP_LINE_WHOLE)
        return;
    fuzz_assert(length > 0 && length <= MCP_MESSAGE_MAX && text[length] == '\0' && !memchr(text, '\n', length));
    mcp_message_read(&message, text, length);
    check_message(&message);
    check_id(&message, text, length);
    mcp_message_release(&message);
}

static struct heard read_in_pieces(const char *data, size_t size, size_t piece)
{
    struct mcp_lines lines = {0};
    struct heard heard = {0};
    for (size_t i = 0; i < size; i += piece)
        mcp_lines_feed(&lines, data + i, size - i < piece ? size - i : piece, hear, &heard);
    mcp_lines_end(&lines, hear, &heard);
    mcp_lines_release(&lines);
    return heard;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heard whole = read_in_pieces((const char *)data, size, size ? size : 1);
    struct heard pieces = read_in_pieces((const char *)data, size, 7);
    fuzz_assert(whole.n == pieces.n && whole.bytes == pieces.bytes && whole.hash == pieces.hash);
    return 0;
}
