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
#pragma once

#include <stdbool.h>

#include "message.h"

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
