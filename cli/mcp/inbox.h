/*
 * inbox.h: what came in and waits, what is being answered, and the one way out.
 *
 * A thread reads standard input while another answers, so that a cancellation is seen while its request is at work,
 * and progress can be told meanwhile. Requests are answered one after another, in the order they came: the store's
 * handle belongs to one thread.
 *
 * Invariants, under one lock
 *   1. Every line on the output is one whole JSON message.
 *   2. Once a request's cancellation was read, nothing more goes out for it; once its answer went out, no progress.
 *   3. What waits is bounded: beyond MCP_WAITING_MAX bytes the reader waits, and with it the client.
 */
#ifndef MCP_INBOX_H
#define MCP_INBOX_H

#include <stdbool.h>

#include "message.h"

#define MCP_WAITING_MAX ((size_t)16 << 20)

struct mcp_inbox;

/* Start reading descriptor in; answers go to out. NULL when there is no memory or no thread to be had. */
struct mcp_inbox *mcp_inbox_open(int in, int out);

/* Wait for the next message, which is then the one at work; the caller releases it. False at the end of input. */
bool mcp_inbox_next(struct mcp_inbox *inbox, struct mcp_message *message);

/* Whether work on the current request is in vain: cancelled, or the client is gone. Any thread may ask. */
bool mcp_inbox_cancelled(struct mcp_inbox *inbox);

/* Finish the current message with its answer (stolen), NULL for none. False when nobody reads any more. */
bool mcp_inbox_answer(struct mcp_inbox *inbox, json_t *answer);

/* Send a notification that belongs to the current request (stolen). */
bool mcp_inbox_notify(struct mcp_inbox *inbox, json_t *notification);

void mcp_inbox_close(struct mcp_inbox *inbox);

#endif
