/*
 * message.h: parses one line as a JSON-RPC 2.0 message. Every line becomes one of five kinds. Only what both protocol
 * eras have in common is checked here; each method checks its own params.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define MCP_DEPTH_MAX 32 /* nested objects and lists; the protocol needs about 8 */

/* Error codes of JSON-RPC and of MCP. */
enum mcp_code {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_METHOD_NOT_FOUND = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL_ERROR = -32603,
    MCP_RESOURCE_NOT_FOUND = -32002, /* older era; the newer one uses MCP_INVALID_PARAMS */
    MCP_UNSUPPORTED_VERSION = -32022
};

enum mcp_kind {
    MCP_REQUEST,
    MCP_NOTIFICATION,
    MCP_RESPONSE, /* ignored, because this server sends no requests */
    MCP_INVALID,  /* answered with code and error; id is set if it could be read */
    MCP_BATCH     /* the root is a list of messages */
};

/* Whether the value is a whole number: JSON has one type of number, and some clients write 3 as 3.0. */
bool mcp_is_whole(const json_t *value);

struct mcp_message {
    enum mcp_kind kind;
    json_t *root;       /* owns the three members below; NULL if the line is not JSON */
    json_t *id;         /* a string, a whole number, or NULL */
    const char *method; /* of requests and notifications */
    json_t *params;     /* an object, or NULL */
    bool batched;       /* from a batch, which only one revision has */
    enum mcp_code code; /* of MCP_INVALID */
    char error[160];
};

/* text[length] must be NUL. Release the message after use, whatever its kind. */
void mcp_message_read(struct mcp_message *message, const char *text, size_t length);

/* Reads a value that is parsed already, and steals it. */
void mcp_message_take(struct mcp_message *message, json_t *root);

/* A message that was not kept. Its answer names the request if `id`, as JSON text, is one. Release it likewise. */
void mcp_message_dropped(struct mcp_message *message, const char *id, const char *why);
void mcp_message_release(struct mcp_message *message);
