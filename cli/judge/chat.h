/*
 * chat.h: single requests to an endpoint, for callers that wait for each answer. Retries, the key and what it means for
 * the promises in schema/PROMISES.md are those of the judge (endpoint.h, retry.h).
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <jansson.h>

#include "judge/endpoint.h"
#include "judge/retry.h"

/* Zeroed before it is opened. */
struct chat {
    struct endpoint at;
    CURL *easy;
    struct endpoint_response response;
    bool beside; /* the endpoint is another chat's */
    const atomic_bool *stop; /* a request ends when another thread sets it; NULL: none does */
    struct judge_dialect dialect; /* what the endpoint has refused */
    double backoff;
    uint64_t seed, asked; /* for the jitter between attempts */
    unsigned attempts;    /* of the last request */
    char why[ENDPOINT_WHY_MAX]; /* why the last call failed */
};

/* path: of endpoint.h; backoff: seconds before the second attempt. Returns false with chat->why; close the chat in any case. */
bool chat_open(struct chat *chat, const char *address, const char *path, const char *key_env, double backoff);

/*
 * A further chat with the endpoint of an open one, for another thread: its address and key are that one's, which is closed last. Returns
 * false with chat->why; close the chat in any case.
 */
bool chat_beside(struct chat *chat, const struct chat *open);
void chat_close(struct chat *chat);

/*
 * Sends a request and returns the response (a new reference). max_tokens limits the answer and is sent under the name that the
 * endpoint takes. Gives up at the deadline (cli_now) or when a further attempt cannot help: returns NULL with chat->why.
 */
json_t *chat_ask(struct chat *chat, const json_t *body, size_t max_tokens, double deadline);
