/*
 * message.c: parses one line as a JSON-RPC 2.0 message. Malformed input ends here: afterwards every message has a kind,
 * its id is a string or an integer, and its params are an object.
 */
#include "message.h"

#include <math.h>

#include "cli.h"
#include "mcp/lines.h"

enum { JSON_FLAGS = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY };

static void __attribute__((format(printf, 3, 4))) refuse(struct mcp_message *message, enum mcp_code code, const char *format, ...)
{
    va_list args;
    message->kind = MCP_INVALID;
    message->code = code;
    va_start(args, format);
    vsnprintf(message->error, sizeof message->error, format, args);
    va_end(args);
}

/* Checks the nesting depth before the parser descends. */
static bool is_too_deep(const char *text, size_t length)
{
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > MCP_DEPTH_MAX)
                return true;
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
        }
    }
    return false;
}

bool mcp_is_whole(const json_t *value)
{
    return json_is_integer(value) || (json_is_real(value) && floor(json_real_value(value)) == json_real_value(value));
}

static bool is_id(const json_t *value)
{
    return json_is_string(value) || json_is_integer(value) || (mcp_is_whole(value) && fabs(json_real_value(value)) < 1e15);
}

/* Takes the id from its JSON text, so that the client learns which of its requests was refused. Returns false if it is none. */
static bool take_id(struct mcp_message *message, const char *id)
{
    json_t *value = json_loads(id, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    message->root = json_object();
    if (is_id(value) && json_object_set(message->root, "id", value) == 0)
        message->id = value;
    json_decref(value); /* the root holds it */
    return message->id != NULL;
}

/* A progress token is sent back as it came, and digits in quotes may have been an integer. */
static bool has_long_token(const json_t *root)
{
    const json_t *meta = json_object_get(json_object_get(root, "params"), "_meta");
    const char *token = json_string_value(json_object_get(meta, "progressToken"));
    return token && strlen(token) > 18 && !token[strspn(token, "-0123456789")];
}

/* Integers of more than 64 bits, which Jansson refuses, become texts, as parameters have them. The id and the progress token stay, because
 * they must be sent back. Columns of the quoted text would mislead, so an error in it has none. */
static json_t *parse_long_integers(struct mcp_message *message, const char *text, const size_t length, json_error_t *error)
{
    json_error_t second;
    size_t n = length;
    struct mcp_id_scan scan = {.depth = 0};
    mcp_id_scan_feed(&scan, text, length);
    const bool has_id = take_id(message, mcp_id_scan_result(&scan));
    char *quoted = has_id ? cli_json_quoted(text, &n, CLI_QUOTE_INTEGERS) : NULL;
    const bool has_any = quoted && n > length;
    json_t *root = has_any ? json_loadb(quoted, n, JSON_FLAGS, &second) : NULL;
    if (has_any && !root) {
        *error = second;
        error->column = -1;
    } else if (has_long_token(root)) {
        json_decref(root);
        root = NULL;
    }
    free(quoted);
    json_decref(message->root);
    message->root = message->id = NULL;
    return root;
}

/* Duplicate names are rejected, because two readers would use different ones. NUL in texts is let through here and
 * rejected by name where a tool or a prompt reads its arguments, because C would silently cut the text there. */
static json_t *parse(struct mcp_message *message, const char *text, size_t length)
{
    json_error_t error;
    if (is_too_deep(text, length)) {
        refuse(message, MCP_INVALID_REQUEST, "Invalid request: more than %d levels of nesting", MCP_DEPTH_MAX);
        return NULL;
    }
    json_t *root = json_loadb(text, length, JSON_FLAGS, &error);
    if (!root && json_error_code(&error) == json_error_numeric_overflow)
        root = parse_long_integers(message, text, length, &error);
    if (!root && error.column < 0)
        refuse(message, MCP_PARSE_ERROR, "Parse error: %.80s", error.text);
    else if (!root)
        refuse(message, MCP_PARSE_ERROR, "Parse error: column %d: %.80s", error.column, error.text);
    return root;
}

/* Programs write NaN and half a surrogate pair, which are not JSON, into the params of requests that wait for an answer. */
static void refuse_text(struct mcp_message *message, const char *text, size_t length)
{
    struct mcp_id_scan scan = {.depth = 0};
    mcp_id_scan_feed(&scan, text, length);
    if (take_id(message, mcp_id_scan_result(&scan)) && message->code == MCP_PARSE_ERROR)
        message->code = MCP_INVALID_PARAMS;
}

/* Refuses an id that is neither a string nor an integer, because it cannot be sent back. */
static bool read_id(struct mcp_message *message)
{
    json_t *id = json_object_get(message->root, "id");
    if (!id)
        return true;
    if (!is_id(id)) {
        refuse(message, MCP_INVALID_REQUEST, "Invalid request: id must be a string or an integer");
        return false;
    }
    message->id = id;
    return true;
}

/* A response (a message without a method) is ignored: this server sends no requests, and answering an answer might
 * never end. The id is read first, so that an error names its request. */
static void classify(struct mcp_message *message)
{
    const json_t *root = message->root;
    const json_t *version = json_object_get(root, "jsonrpc");
    if (!json_is_string(version) || strcmp(json_string_value(version), "2.0") != 0) {
        refuse(message, MCP_INVALID_REQUEST, "Invalid request: jsonrpc must be \"2.0\"");
        return;
    }
    message->method = json_string_value(json_object_get(root, "method"));
    message->params = json_object_get(root, "params");
    if (!message->method && (json_object_get(root, "result") || json_object_get(root, "error")))
        message->kind = MCP_RESPONSE;
    else if (!message->method)
        refuse(message, MCP_INVALID_REQUEST, "Invalid request: method must be a string");
    else if (message->params && !json_is_object(message->params))
        refuse(message, MCP_INVALID_PARAMS, "Invalid params: params must be an object");
    else
        message->kind = message->id ? MCP_REQUEST : MCP_NOTIFICATION;
}

void mcp_message_read(struct mcp_message *message, const char *text, size_t length)
{
    *message = (struct mcp_message){.kind = MCP_INVALID};
    json_t *root = parse(message, text, length);
    if (root)
        mcp_message_take(message, root);
    else
        refuse_text(message, text, length);
}

void mcp_message_take(struct mcp_message *message, json_t *root)
{
    *message = (struct mcp_message){.kind = MCP_INVALID, .root = root};
    if (json_array_size(root))
        message->kind = MCP_BATCH;
    else if (!json_is_object(root))
        refuse(message, MCP_INVALID_REQUEST, "Invalid request: not an object");
    else if (read_id(message))
        classify(message);
}

void mcp_message_dropped(struct mcp_message *message, const char *id, const char *why)
{
    *message = (struct mcp_message){.kind = MCP_INVALID};
    refuse(message, MCP_INVALID_REQUEST, "Invalid request: %s", why);
    take_id(message, id);
}

void mcp_message_release(struct mcp_message *message)
{
    json_decref(message->root);
    *message = (struct mcp_message){.kind = MCP_INVALID};
}
