/*
 * judge.h: rates the steps of trajectories with a language model behind an OpenAI-compatible chat endpoint.
 *
 * One request asks about all steps of a trajectory. Requests wait in a queue of this module and are sent when one of
 * `concurrency` slots is free, so a request's timeout does not run while the request waits. Nothing is requested twice,
 * neither by another process with the same cache nor for two equal trajectories in one call. The key comes from the
 * environment variable that the settings name and is only put into the header of the requests; if a server's message
 * contains it, it is replaced by [key].
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <trainer/judge.h>

/* The name of the cache file in a store, used if neither the recipe nor the command line names one. */
#define JUDGE_CACHE "judge-cache.jsonl"

struct judge;

enum { JUDGE_WHY_MAX = 256 };

/* One trajectory that a judge rates, and its result. */
struct judge_case {
    const json_t *trajectory; /* checked by trajectory.h; owned by the caller */
    uint8_t *flags;           /* [trajectory_steps] out: 1 GOOD, 0 BAD, if it was judged or cached */
    enum trainer_judge_mark mark; /* in: a case marked SKIPPED is not sent; out: what happened */
    unsigned attempts;
    uint64_t prompt_tokens, completion_tokens;
    json_t *analysis; /* out: a list with what the judge wrote about each step (json_decref), or NULL */
    char why[JUDGE_WHY_MAX]; /* reason why the flags are missing, or "" */
};

/* Called for each case once it is settled, in any order. */
typedef void judge_settled_fn(void *context, const struct judge_case *settled);

/*
 * Opens a judge. The settings are those of a recipe and must name endpoint and model; cache is the file of earlier
 * answers, or NULL; seed is the seed of the retry jitter. Returns NULL with the reason in why if libcurl, the wording
 * or the cache cannot be used or if the key is missing.
 */
struct judge *judge_open(const struct trainer_judge *settings, const char *cache, uint64_t seed, char why[JUDGE_WHY_MAX]);
void judge_close(struct judge *judge);

/* Rates n cases and returns when each has its mark. Returns false only when out of memory or if libcurl fails. */
bool judge_ask(struct judge *judge, struct judge_case *cases, size_t n, judge_settled_fn *settled, void *context);

struct judge_check {
    bool answers; /* with flags that can be read */
    bool takes_schema, takes_max_tokens, takes_temperature;
    unsigned attempts;
    uint64_t prompt_tokens, completion_tokens;
    double seconds;
    char why[JUDGE_WHY_MAX]; /* reason why it does not answer, or "" */
};

/*
 * Asks about a built-in trajectory, to find out what the endpoint accepts. If it answers, that is remembered in the cache, where
 * later judges find it. Returns false only when out of memory or if libcurl fails.
 */
bool judge_check(struct judge *judge, struct judge_check *check);
