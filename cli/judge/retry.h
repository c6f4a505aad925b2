/* retry.h: what a failed request means, and when to try again. */
#ifndef JUDGE_RETRY_H
#define JUDGE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "judge/answer.h"

enum retry_kind {
    RETRY_ANSWERED, /* 2xx: the body is an answer */
    RETRY_LATER,    /* 408, 409, 429, 5xx */
    RETRY_PLAIN,    /* perhaps it only refuses the form of the answer that was asked for */
    RETRY_ROW,      /* this trajectory cannot be judged there, others can */
    RETRY_STOP      /* no request will do better: key, address, model, quota */
};

/* By the status of the response and what its body says; plain: the request named no form of the answer. */
enum retry_kind retry_kind_of(long http_status, const struct answer_error *error, bool plain);

/*
 * Seconds to wait before another attempt, when `failed` have failed: about backoff, twice that, four times, .., at most
 * a minute, each times 0.5 to 1.5 by chance; at least what the server asked for. The chance is a function of seed, item
 * and failed alone.
 */
double retry_wait(double backoff, unsigned failed, double server_asks, uint64_t seed, uint64_t item);

#endif
