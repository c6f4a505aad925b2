/*
 * mcp.h: the parts of `lineage mcp`, a Model Context Protocol server on standard input and output.
 *
 *   lines, message     bytes into lines into JSON-RPC messages; know nothing of the protocol
 *   inbox              the reading thread, cancellation, progress, the one way out
 *   server             protocol eras, methods; resources, prompt and completion answer theirs
 *   schema, tools      the tool table: arguments and results described once, checked and listed from that
 *   tool_*             one file per group of tools
 *   page, field        lists of trials into a budget of bytes
 *   untrusted          text that came from trials, made harmless and labelled
 *
 * Two eras of the protocol are spoken on one process. A request whose _meta names a version belongs to the newer
 * one (2026-07-28), which knows no session; `initialize` opens the older one (2025-11-25, 2025-06-18) for the
 * requests without a version. Results differ in a few members only, which server.c adds.
 */
#ifndef MCP_H
#define MCP_H

#include "cli.h"
#include "mcp/inbox.h"
#include "mcp/message.h"

struct mcp_server {
    struct lineage_store *store;
    struct mcp_inbox *inbox;
    const char *version; /* of the handshake, NULL before it */
    bool allow_write;
    double deadline;     /* CLOCK_MONOTONIC seconds at which the question at work is given up; 0: never */
    bool overdue;        /* it was */
};

/* One request at work. A function that answers it returns the result, or NULL after mcp_refuse or mcp_trouble. */
struct mcp_call {
    struct mcp_server *server;
    const struct mcp_message *message;
    const char *version;   /* of the protocol this request speaks */
    bool modern;           /* it is of the newer era */
    enum mcp_code code;    /* of a protocol error */
    char error[1200];      /* its message, or what a tool's caller should do instead */
    json_t *data;          /* of the error, or NULL */
    const json_t *arguments; /* tools: checked against the tool's schema */
};

/* The request is at fault: a JSON-RPC error. Returns NULL. */
json_t *mcp_refuse(struct mcp_call *call, enum mcp_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The tool cannot do it: a result with isError, whose text says what would be right. Returns NULL. */
json_t *mcp_trouble(struct mcp_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The store's error as trouble. Returns NULL. */
json_t *mcp_store_trouble(struct mcp_call *call, const struct lineage_error *err);

/* Answer requests until the input ends. Returns an exit status. */
int mcp_serve(struct mcp_server *server);

/* The methods that are more than a list. */
json_t *mcp_tools_list(struct mcp_call *call);
json_t *mcp_tools_call(struct mcp_call *call);
json_t *mcp_resources_list(struct mcp_call *call);
json_t *mcp_resource_templates_list(struct mcp_call *call);
json_t *mcp_resources_read(struct mcp_call *call);
json_t *mcp_prompts_list(struct mcp_call *call);
json_t *mcp_prompts_get(struct mcp_call *call);
json_t *mcp_complete(struct mcp_call *call);

/* A member of the request's params that must be text; NULL after mcp_refuse. */
const char *mcp_text_param(struct mcp_call *call, const char *name);

/* The lists here have one page: false after mcp_refuse when the request names another. */
bool mcp_one_page(struct mcp_call *call);

/* One trial in full, as the tool `trial` gives it; NULL after mcp_trouble. */
json_t *mcp_trial_by_id(struct mcp_call *call, const char *id);

/* Whether uri is one of the resource templates. */
bool mcp_is_template(const char *uri);

/* Text put together piece by piece; NULL data once memory is out. */
struct mcp_text {
    FILE *out;
    char *data;
    size_t length;
};
bool mcp_text_open(struct mcp_text *text);
json_t *mcp_text_json(struct mcp_text *text); /* closes and frees it; NULL when out of memory */
void mcp_text_close(struct mcp_text *text);   /* what is in data then belongs to the caller */

#endif
