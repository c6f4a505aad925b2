/*
 * message.h: one line as a JSON-RPC 2.0 message.
 *
 * Whatever the line holds, the answer is one of five kinds. Only what both protocol eras agree on is checked here;
 * what a method wants of its params is the method's business.
 */
#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

#include <jansson.h>
#include <stddef.h>

#define MCP_DEPTH_MAX 32 /* objects and lists inside one another; the protocol needs about 8 */

/* Error codes of JSON-RPC and of the protocol. */
enum mcp_code {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_METHOD_NOT_FOUND = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL_ERROR = -32603,
    MCP_RESOURCE_NOT_FOUND = -32002, /* in the older era; MCP_INVALID_PARAMS since */
    MCP_UNSUPPORTED_VERSION = -32022
};

enum mcp_kind {
    MCP_REQUEST,
    MCP_NOTIFICATION,
    MCP_RESPONSE, /* nothing was asked of the client: ignored */
    MCP_INVALID   /* answered with code and error; id is there if it could be read */
};

struct mcp_message {
    enum mcp_kind kind;
    json_t *root;       /* owns the three below; NULL if there is no JSON */
    json_t *id;         /* string or integer, or NULL */
    const char *method; /* requests and notifications */
    json_t *params;     /* an object, or NULL */
    enum mcp_code code; /* MCP_INVALID */
    char error[160];
};

/* text[text_length] must be NUL. Release the message after use, whatever its kind. */
void mcp_message_read(struct mcp_message *message, const char *text, size_t length);
void mcp_message_release(struct mcp_message *message);

#endif
