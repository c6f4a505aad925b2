/*
 * mcp.h: the parts of `lineage mcp`, a Model Context Protocol server on standard input and output.
 *
 *   lines, message   bytes into lines into JSON-RPC messages; independent of the protocol
 *   inbox            the reading thread, cancellation, progress notices, output
 *   server           protocol eras, methods
 *   resources, prompt  resources; the prompt and the completion of arguments
 *   schema, tools    the tool table: arguments and results are described once, and checked and listed from there
 *   tool_*           one file per group of tools
 *   page, field      lists of trials, cut to a budget of bytes
 *   untrusted        the fence around text from trials: escaped and labelled as data
 *
 * One process serves two eras of the protocol. A request whose _meta names a version belongs to the newer era
 * (2026-07-28), which has no session. `initialize` opens a session of the older era (2025-11-25 to 2024-11-05) for
 * requests without a version. Results differ only in a few members, which server.c adds.
 */
#pragma once

#include "cli.h"
#include "mcp/message.h"

/* ---- inbox ---- */

/*
 * The queue of incoming messages, the request in progress, and the output. One thread reads standard input while another
 * answers, so that a cancellation is read while its request is in progress, and progress notices can be sent meanwhile.
 * Requests are answered one after another in the order of arrival, because the store's handle belongs to one thread.
 * Invariants, all under one lock: 1. Every line of the output is one complete JSON message. 2. After a request's
 * cancellation was read, nothing more is sent for it; after its answer, no progress notice. 3. The queue is bounded: beyond
 * MCP_WAITING_MAX bytes the reader waits, and so does the client.
 */

#define MCP_WAITING_MAX ((size_t)16 << 20)

struct mcp_inbox;

/* Starts a thread that reads descriptor `in`; answers go to `out`. Returns NULL if memory runs out or no thread can be
 * started. */
struct mcp_inbox *mcp_inbox_open(int in, int out);

/* Waits for the next message, which becomes the request in progress. The caller releases the message. Returns false at
 * the end of input. */
bool mcp_inbox_next(struct mcp_inbox *inbox, struct mcp_message *message);

/* Whether the current request was cancelled or the client is gone. May be called from any thread. */
bool mcp_inbox_cancelled(struct mcp_inbox *inbox);

/* Finishes the current message and sends its answer, whose reference it takes over; NULL sends nothing. Returns false
 * if the client no longer reads. */
bool mcp_inbox_answer(struct mcp_inbox *inbox, json_t *answer);

/* Sends a notification that belongs to the current request, and takes over its reference. */
bool mcp_inbox_notify(struct mcp_inbox *inbox, json_t *notification);

void mcp_inbox_close(struct mcp_inbox *inbox);

struct mcp_server {
    const char *dir; /* of the store, as the user named it */
    struct lineage_store *store;
    struct mcp_inbox *inbox;
    const char *version; /* from the handshake; NULL before it */
    bool allow_write;
    double deadline;     /* CLOCK_MONOTONIC time in seconds at which the current question is aborted; 0: never */
    bool overdue;        /* the deadline has passed */
};

/* One request in progress. A function that answers it returns the result, or NULL after mcp_refuse or mcp_trouble. */
struct mcp_call {
    struct mcp_server *server;
    const struct mcp_message *message;
    const char *version;   /* protocol version of this request */
    bool modern;           /* the request belongs to the newer era */
    enum mcp_code code;    /* code of a protocol error */
    char error[1200];      /* its message, or what the caller of a tool should do instead */
    json_t *data;          /* data of the error, or NULL */
    const json_t *arguments; /* tools: checked with the tool's schema */
};

/* The request is invalid: answers with a JSON-RPC error. Returns NULL. */
json_t *mcp_refuse(struct mcp_call *call, enum mcp_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The tool cannot answer: returns a result with isError, whose text tells the model what to change. Returns NULL. */
json_t *mcp_trouble(struct mcp_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether the directory has a store by now. If not, reports that by mcp_trouble, because an empty answer would be
 * misread as "nobody tried this". */
bool mcp_has_store(struct mcp_call *call);

/* Turns the store's error into mcp_trouble. Returns NULL. */
json_t *mcp_store_trouble(struct mcp_call *call, const struct lineage_error *err);

/* Answers requests until the input ends. Returns an exit status. */
int mcp_serve(struct mcp_server *server);

/* These methods have files of their own. */
json_t *mcp_tools_list(struct mcp_call *call);
json_t *mcp_tools_call(struct mcp_call *call);
json_t *mcp_resources_list(struct mcp_call *call);
json_t *mcp_resource_templates_list(struct mcp_call *call);
json_t *mcp_resources_read(struct mcp_call *call);
json_t *mcp_prompts_list(struct mcp_call *call);
json_t *mcp_prompts_get(struct mcp_call *call);
json_t *mcp_complete(struct mcp_call *call);

/* Returns a text member of the request's params, or NULL after mcp_refuse. */
const char *mcp_text_param(struct mcp_call *call, const char *name);

/* Every list has a single page. Returns false after mcp_refuse if the request asks for another page. */
bool mcp_one_page(struct mcp_call *call);

/* Returns one trial in full, as the tool `trial` does; NULL after mcp_trouble. */
json_t *mcp_trial_by_id(struct mcp_call *call, const char *id);

/* Whether uri is one of the resource templates. */
bool mcp_is_template(const char *uri);

/* Closes the writer and frees its text; NULL if memory ran out. */
json_t *mcp_text_json(struct cli_writer *writer);
