/* retry.h: classifies failed requests, and decides when to retry. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "judge/answer.h"

/* What an endpoint has refused, so that later requests do without it. */
struct judge_dialect {
    bool plain;          /* the schema of the answer */
    bool newer_limit;    /* max_tokens; max_completion_tokens is sent instead */
    bool no_temperature; /* temperature 0, as models that reason do */
    bool free_choice;    /* a tool_choice that names a function, as models that reason do */
};

enum retry_kind {
    RETRY_ANSWERED, /* 2xx: the body is an answer */
    RETRY_LATER,    /* 408, 409, 429, 5xx, unless the message shows that the request itself is at fault */
    RETRY_PLAIN,    /* perhaps only the schema of the answer was refused */
    RETRY_LIMIT,    /* only the name of the token limit was refused */
    RETRY_COOL,     /* only the temperature was refused */
    RETRY_CHOICE,   /* only tool_choice was refused */
    RETRY_ROW,      /* the server cannot judge this trajectory, but others */
    RETRY_STOP      /* no other request will succeed: key, address, model, quota */
};

/* Decides by the HTTP status and the body of the response. sent: what the request did without. */
enum retry_kind retry_kind_of(long http_status, const struct answer_error *error, const struct judge_dialect *sent);

/*
 * Returns the seconds to wait after `failed` failed attempts: backoff, twice that, four times, .., at most a minute,
 * each times a random factor of 0.5 to 1.5, and at least the wait that the server asked for. The random factor depends
 * only on seed, item and failed.
 */
double retry_wait(double backoff, unsigned failed, double server_asks, uint64_t seed, uint64_t item);
