/* judge_internal.h: a judge, and trajectories on their way to it. */
#ifndef JUDGE_INTERNAL_H
#define JUDGE_INTERNAL_H

#include "judge/answer.h"
#include "judge/cache.h"
#include "judge/curl_library.h"
#include "judge/judge.h"

/* Longer responses are not read to their end: 8192 tokens are some 40 kB, and reasoning may come with them. */
enum { JUDGE_RESPONSE_MAX = 1 << 20 };

/* One request in flight. */
struct judge_slot {
    CURL *easy;
    struct judge_errand *errand; /* NULL: free */
    char *body;                  /* of the request */
    char *response;              /* [JUDGE_RESPONSE_MAX] */
    size_t length;
    bool overflows;
};

struct judge {
    struct trainer_judge settings;
    struct curl_library curl;
    CURLM *multi;
    struct curl_slist *headers;
    struct judge_slot *slots; /* [settings.concurrency] */
    struct cache *cache;      /* NULL: none */
    json_t *wording, *form;   /* form: what is said of the answer's schema */
    char url[TRAINER_PATH_MAX + 32];
    char *key; /* NULL: none */
    uint64_t seed, asked;
    bool plain;          /* this server refuses to be told the form of the answer */
    bool form_is_taken;  /* it has taken it */
    bool stopped;        /* nothing more is asked: why */
    char why[JUDGE_WHY_MAX];
};

/* One case on its way. */
struct judge_errand {
    struct judge_case *about;
    json_t *messages;
    char digest[CACHE_DIGEST_MAX];
    const struct judge_errand *leader; /* the first of those that ask the same */
    uint64_t number;                   /* for the jitter */
    double due, deadline;              /* deadline: 0 until it first went out */
    unsigned failed;                   /* attempts that are to be repeated after a while */
    bool flying, settled, repaired, plain;
};

/* ---- request.c: what is sent ---- */

/* Open handles, headers, form. False with why set. */
bool request_open(struct judge *judge);
void request_close(struct judge *judge);

/* Digest by which an answer to these messages is found again. False when out of memory. */
bool request_digest(const struct judge *judge, const json_t *messages, char digest[CACHE_DIGEST_MAX]);

/* Send the errand by a free slot. seconds: for this attempt. */
bool request_start(struct judge *judge, struct judge_slot *slot, struct judge_errand *errand, double seconds);
void request_end(struct judge *judge, struct judge_slot *slot);

/* Put [key] where the key stands. */
void request_scrub(const struct judge *judge, char *text);

/* ---- outcome.c: what came of it ---- */

/* The transfer of a slot is over: settle its errand, or make it due again. */
void outcome_take(struct judge *judge, struct judge_slot *slot, CURLcode result, double now);

/* End an errand with a mark and a reason. */
void outcome_settle(struct judge_errand *errand, enum trainer_judge_mark mark, const char *why);

#endif
