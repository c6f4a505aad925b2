/* judge_internal.h: the parts of a judge, and trajectories while they are processed. */
#pragma once

#include "judge/cache.h"
#include "judge/endpoint.h"
#include "judge/judge_case.h"

/* Longer responses are aborted. The limit is generous: an answer of 8192 tokens, reasoning included, is about 40 kB. */
enum { JUDGE_RESPONSE_MAX = 1 << 20 };

/* One request in flight. */
struct judge_slot {
    CURL *easy;
    struct judge_errand *errand; /* NULL: the slot is free */
    char *body;                  /* the body of the request */
    char *response;              /* [JUDGE_RESPONSE_MAX] */
    size_t length;
    bool overflows;
};

struct judge {
    struct trainer_judge settings;
    struct endpoint at;
    CURLM *multi;
    struct judge_slot *slots; /* [settings.concurrency] */
    struct cache *cache;      /* NULL: no cache */
    json_t *wording, *form;   /* form: the part of the request that specifies the answer's schema */
    uint64_t seed, asked;
    struct judge_dialect dialect; /* what this server has refused */
    bool form_is_taken;  /* the server has accepted a request with a schema */
    bool stopped;        /* no more requests are sent; `why` holds the reason */
    char why[JUDGE_WHY_MAX];
};

/* One case while it is processed. */
struct judge_errand {
    struct judge_case *about;
    json_t *messages;
    char digest[CACHE_DIGEST_MAX];
    const struct judge_errand *leader; /* the first case with the same request */
    uint64_t number;                   /* for the jitter */
    double due, deadline;              /* deadline: 0 until the case is first sent */
    unsigned failed;                   /* number of failed attempts that allow a retry */
    bool flying, settled, repaired;
    struct judge_dialect dialect; /* what its next request does without */
};

/* ---- judge.c: what is sent ---- */

/* Prepares handles, headers and the schema part. Returns false with judge->why set. */
bool request_open(struct judge *judge);

/* Computes the digest under which the answer to these messages is cached. Returns false when out of memory. */
bool request_digest(const struct judge *judge, const json_t *messages, char digest[CACHE_DIGEST_MAX]);

/* Computes the digest of address and model, under which it is remembered what the endpoint refused. */
bool request_endpoint_digest(const struct judge *judge, char digest[CACHE_DIGEST_MAX]);

/* Sends the case through a free slot. seconds is the timeout of this attempt. */
bool request_start(struct judge *judge, struct judge_slot *slot, struct judge_errand *errand, double seconds);
void request_end(struct judge *judge, struct judge_slot *slot);

/* ---- judge.c ---- */

/* Writes what the server has refused to the cache, if there is one. */
void judge_remember(const struct judge *judge);

/* ---- outcome.c: what a response means ---- */

/* Called when the transfer of a slot has ended: settles its case, or schedules another attempt. */
void outcome_take(struct judge *judge, struct judge_slot *slot, CURLcode result, double now);

/* Ends a case with a mark and a reason. */
void outcome_settle(struct judge_errand *errand, enum trainer_judge_mark mark, const char *why);
