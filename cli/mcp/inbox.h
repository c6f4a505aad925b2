/*
 * inbox.h: the queue of incoming messages, the request in progress, and the output.
 *
 * One thread reads standard input while another answers, so that a cancellation is read while its request is in
 * progress, and progress notices can be sent meanwhile. Requests are answered one after another in the order of
 * arrival, because the store's handle belongs to one thread.
 *
 * Invariants, all under one lock:
 *   1. Every line of the output is one complete JSON message.
 *   2. After a request's cancellation was read, nothing more is sent for it; after its answer, no progress notice.
 *   3. The queue is bounded: beyond MCP_WAITING_MAX bytes the reader waits, and so does the client.
 */
#ifndef MCP_INBOX_H
#define MCP_INBOX_H

#include <stdbool.h>

#include "message.h"

#define MCP_WAITING_MAX ((size_t)16 << 20)

struct mcp_inbox;

/* Starts a thread that reads descriptor `in`; answers go to `out`. Returns NULL without memory or a thread. */
struct mcp_inbox *mcp_inbox_open(int in, int out);

/* Waits for the next message, which becomes the one in progress; the caller releases it. Returns false at the end of
 * input. */
bool mcp_inbox_next(struct mcp_inbox *inbox, struct mcp_message *message);

/* Whether the current request was cancelled or the client is gone. May be called from any thread. */
bool mcp_inbox_cancelled(struct mcp_inbox *inbox);

/* Ends the current message with its answer (stolen), or with NULL for none. Returns false when nobody reads any
 * more. */
bool mcp_inbox_answer(struct mcp_inbox *inbox, json_t *answer);

/* Sends a notification that belongs to the current request (stolen). */
bool mcp_inbox_notify(struct mcp_inbox *inbox, json_t *notification);

void mcp_inbox_close(struct mcp_inbox *inbox);

#endif
