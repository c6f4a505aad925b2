/* retry.h: what a failed request means, and when to retry. */
#ifndef JUDGE_RETRY_H
#define JUDGE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "judge/answer.h"

enum retry_kind {
    RETRY_ANSWERED, /* 2xx: the body is an answer */
    RETRY_LATER,    /* 408, 409, 429, 5xx */
    RETRY_PLAIN,    /* possibly only the requested form of the answer was refused */
    RETRY_ROW,      /* this trajectory cannot be judged by this server, others can */
    RETRY_STOP      /* no other request will succeed: key, address, model, quota */
};

/* Decides by the status of the response and its body; plain: the request specified no form of the answer. */
enum retry_kind retry_kind_of(long http_status, const struct answer_error *error, bool plain);

/*
 * Returns the seconds to wait after `failed` failed attempts: backoff, twice that, four times, .., at most a minute,
 * each times a random factor of 0.5 to 1.5, and at least what the server asked for. The random factor depends only on
 * seed, item and failed.
 */
double retry_wait(double backoff, unsigned failed, double server_asks, uint64_t seed, uint64_t item);

#endif
