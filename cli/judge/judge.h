/*
 * judge.h: a language model behind an OpenAI-compatible chat endpoint that rates the steps of trajectories.
 *
 * One request asks about all steps of a trajectory. Requests wait in a queue of our own and go out when one of
 * `concurrency` places is free, so that no clock runs for a request that only waits. What is asked once is not asked
 * again: not of another process with the same cache, and not of two equal trajectories in one call.
 *
 * The key comes from the environment variable that the settings name, goes into the header of the requests and nowhere
 * else; in what a server says it is replaced by [key].
 */
#ifndef JUDGE_JUDGE_H
#define JUDGE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <trainer/judge.h>

enum { JUDGE_WHY_MAX = 256 };

/* Where a judge's answers are kept in a store whose recipe or command does not say where. */
#define JUDGE_CACHE "judge-cache.jsonl"

/* The environment variable of a key that nobody named another one for: it may be missing. */
#define JUDGE_KEY_ENV "LINEAGE_JUDGE_KEY"

/* One trajectory to be judged. */
struct judge_case {
    const json_t *trajectory; /* checked (trajectory.h); the caller's */
    uint8_t *flags;           /* [trajectory_steps] out: 1 GOOD, 0 BAD, if it is judged or cached */
    enum trainer_judge_mark mark; /* in: SKIPPED is left alone; out: how it went */
    unsigned attempts;
    uint64_t prompt_tokens, completion_tokens;
    char why[JUDGE_WHY_MAX]; /* why it has no flags; "" */
};

struct judge;

/* Called for each case as soon as it is settled, in any order. */
typedef void judge_settled_fn(void *context, const struct judge_case *settled);

/*
 * Settings as in a recipe (endpoint and model are there); cache is the file of earlier answers, NULL for none; seed is
 * that of the jitter. NULL with the reason in why: libcurl, the wording or the cache cannot be used, or the key is not
 * there.
 */
struct judge *judge_open(const struct trainer_judge *settings, const char *cache, uint64_t seed, char why[JUDGE_WHY_MAX]);
void judge_close(struct judge *judge);

/* Ask about n cases; returns when each has its mark. False only when out of memory or libcurl fails. */
bool judge_ask(struct judge *judge, struct judge_case *cases, size_t n, judge_settled_fn *settled, void *context);

#endif
