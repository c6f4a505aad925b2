/*
 * judge.c: the queue of requests. A request that is due is sent when a slot is free. Its response settles the
 * trajectory or schedules another attempt. libcurl's own queue is not used, because its timeout runs from when a handle
 * is added: a request at the end of a long queue would time out before it was sent.
 */
#include "judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "judge/judge_internal.h"
#include "judge/trajectory.h"
#include "judge/wording.h"

struct round {
    struct judge *judge;
    struct judge_errand *errands; /* [n] */
    size_t n;
    judge_settled_fn *settled;
    void *context;
};

/* ---- open and close ---- */

struct judge *judge_open(const struct trainer_judge *settings, const char *cache, uint64_t seed, char why[JUDGE_WHY_MAX])
{
    struct judge *judge = calloc(1, sizeof *judge);
    snprintf(why, JUDGE_WHY_MAX, "out of memory");
    if (!judge)
        return NULL;
    judge->settings = *settings;
    judge->seed = seed;
    bool good = (judge->wording = wording_open(settings->prompt, judge->why)) &&
                (!cache || (judge->cache = cache_open(cache, judge->why))) && request_open(judge);
    char digest[CACHE_DIGEST_MAX];
    if (good && judge->cache && request_endpoint_digest(judge, digest))
        cache_find_endpoint(judge->cache, digest, &judge->dialect);
    if (good)
        return judge;
    snprintf(why, JUDGE_WHY_MAX, "%s", judge->why);
    judge_close(judge);
    return NULL;
}

void judge_close(struct judge *judge)
{
    if (!judge)
        return;
    request_close(judge);
    cache_close(judge->cache);
    json_decref(judge->wording);
    free(judge);
}

/* ---- errands ---- */

static void announce(const struct round *round, const struct judge_errand *errand)
{
    if (round->settled)
        round->settled(round->context, errand->about);
}

/* Finds the first case with the same request: equal requests are sent once and share the answer. */
static void find_leader(struct round *round, struct judge_errand *errand)
{
    for (struct judge_errand *other = round->errands; other < errand && !errand->leader; other++)
        if (!other->settled && !other->leader && strcmp(other->digest, errand->digest) == 0)
            errand->leader = other;
}

/* Settles trajectories that are in the cache or are not to be sent. */
static bool prepare(struct round *round, size_t i, struct judge_case *about)
{
    struct judge *judge = round->judge;
    struct judge_errand *errand = &round->errands[i];
    *errand = (struct judge_errand){.about = about, .dialect = judge->dialect, .number = judge->asked++};
    if (about->mark == TRAINER_JUDGE_SKIPPED) {
        errand->settled = true;
        announce(round, errand);
        return true;
    }
    errand->messages = wording_messages(judge->wording, about->trajectory);
    if (!errand->messages || !request_digest(judge, errand->messages, errand->digest))
        return false;
    if (judge->cache &&
        cache_find(judge->cache, errand->digest, about->flags, trajectory_steps(about->trajectory), &about->analysis)) {
        outcome_settle(errand, TRAINER_JUDGE_CACHED, "");
        announce(round, errand);
    }
    if (!errand->settled)
        find_leader(round, errand);
    return true;
}

static void follow(struct round *round, const struct judge_errand *leader)
{
    for (struct judge_errand *errand = round->errands; errand < round->errands + round->n; errand++) {
        if (errand->leader != leader)
            continue;
        bool judged = leader->about->mark == TRAINER_JUDGED;
        if (judged) {
            memcpy(errand->about->flags, leader->about->flags, trajectory_steps(errand->about->trajectory));
            errand->about->analysis = json_incref(leader->about->analysis);
        }
        outcome_settle(errand, judged ? TRAINER_JUDGE_CACHED : leader->about->mark, leader->about->why);
        announce(round, errand);
    }
}

static void finish(struct round *round, struct judge_errand *errand)
{
    announce(round, errand);
    follow(round, errand);
}

/* ---- the queue ---- */

static struct judge_slot *free_slot(struct judge *judge)
{
    for (size_t i = 0; i < (size_t)judge->settings.concurrency; i++)
        if (!judge->slots[i].errand)
            return &judge->slots[i];
    return NULL;
}

static void join(struct judge_dialect *to, const struct judge_dialect *from)
{
    to->plain = to->plain || from->plain;
    to->newer_limit = to->newer_limit || from->newer_limit;
    to->no_temperature = to->no_temperature || from->no_temperature;
}

/* The time limit of a trajectory starts when its request is sent for the first time. */
static void let_go(struct round *round, struct judge_slot *slot, struct judge_errand *errand, double now)
{
    const struct trainer_judge *settings = &round->judge->settings;
    if (errand->deadline == 0)
        errand->deadline = now + settings->deadline;
    join(&errand->dialect, &round->judge->dialect);
    if (request_start(round->judge, slot, errand, fmin(settings->timeout, errand->deadline - now)))
        return;
    outcome_settle(errand, TRAINER_JUDGE_FAILED, "libcurl does not accept the request");
    finish(round, errand);
}

static void give_up(struct round *round, struct judge_errand *errand, double now)
{
    char why[JUDGE_WHY_MAX];
    if (round->judge->stopped) {
        outcome_settle(errand, TRAINER_JUDGE_REFUSED, round->judge->why);
    } else if (errand->deadline > 0 && now >= errand->deadline) {
        snprintf(why, sizeof why, "no answer before the deadline, after %u attempts: %.160s", errand->about->attempts,
                 errand->about->why);
        outcome_settle(errand, TRAINER_JUDGE_FAILED, why);
    } else {
        return;
    }
    finish(round, errand);
}

static bool is_waiting(const struct judge_errand *errand)
{
    return !errand->settled && !errand->leader && !errand->flying;
}

/*
 * Sends the requests that are due. Returns the time by which it must be called again, or a negative number when all
 * cases are settled.
 */
static double send_due(struct round *round, double now)
{
    struct judge_slot *slot = free_slot(round->judge);
    double next = INFINITY;
    bool open = false;
    for (size_t i = 0; i < round->n; i++) {
        struct judge_errand *errand = &round->errands[i];
        if (is_waiting(errand))
            give_up(round, errand, now);
        if (is_waiting(errand) && slot && errand->due <= now) {
            let_go(round, slot, errand, now);
            slot = free_slot(round->judge);
        } else if (is_waiting(errand) && slot) {
            next = fmin(next, errand->due);
        }
        open = open || !errand->settled;
    }
    return open ? next : -1;
}

/* Processes finished transfers. Returns whether there were any, since each frees a slot. */
static bool take_finished(struct round *round)
{
    struct judge *judge = round->judge;
    CURLMsg *message;
    bool any = false;
    int left;
    while ((message = judge->at.curl.multi_info_read(judge->multi, &left))) {
        char *slot = NULL;
        CURLcode result = message->data.result;
        judge->at.curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &slot);
        struct judge_errand *errand = ((struct judge_slot *)(void *)slot)->errand;
        outcome_take(judge, (struct judge_slot *)(void *)slot, result, cli_now());
        any = true;
        if (errand->settled)
            finish(round, errand);
    }
    return any;
}

/* Sleeps until a transfer progresses, an attempt is due, or a second has passed. */
static bool turn(struct round *round, double next)
{
    struct judge *judge = round->judge;
    int running, ready;
    double wait = fmin(1, fmax(0, next - cli_now()));
    bool good = judge->at.curl.multi_perform(judge->multi, &running) == CURLM_OK;
    if (!take_finished(round) && good)
        good = judge->at.curl.multi_poll(judge->multi, NULL, 0, (int)ceil(wait * 1000), &ready) == CURLM_OK;
    return good;
}

static bool go_round(struct round *round)
{
    double next;
    while ((next = send_due(round, cli_now())) >= 0)
        if (!turn(round, next))
            return false;
    return true;
}

bool judge_ask(struct judge *judge, struct judge_case *cases, size_t n, judge_settled_fn *settled, void *context)
{
    struct round round = {.judge = judge, .n = n, .settled = settled, .context = context};
    round.errands = calloc(n ? n : 1, sizeof *round.errands);
    bool good = round.errands != NULL;
    if (good && judge->cache)
        (void)cache_refresh(judge->cache); /* if it fails, more is requested, but results stay correct */
    for (size_t i = 0; good && i < n; i++)
        good = prepare(&round, i, &cases[i]);
    good = good && go_round(&round);
    for (size_t i = 0; i < (size_t)judge->settings.concurrency; i++)
        if (judge->slots[i].errand)
            request_end(judge, &judge->slots[i]); /* after a failure */
    for (size_t i = 0; round.errands && i < n; i++)
        json_decref(round.errands[i].messages);
    free(round.errands);
    return good;
}

/* ---- the check of an endpoint ---- */

void judge_remember(const struct judge *judge)
{
    char digest[CACHE_DIGEST_MAX];
    if (judge->cache && request_endpoint_digest(judge, digest))
        (void)cache_add_endpoint(judge->cache, digest, judge->settings.model, &judge->dialect);
}

/* Earlier answers and earlier refusals do not count, because the server may have been replaced. */
bool judge_check(struct judge *judge, struct judge_check *check)
{
    uint8_t flags[2] = {0};
    json_t *trajectory = json_pack("{s:s, s:i, s:[{s:s, s:s}, {s:s}]}", "task", "How much is 2 + 3?", "reward", 1, "steps",
                                   "action", "calculate 2 + 3", "observation", "5", "action", "answer 5");
    struct judge_case about = {.trajectory = trajectory, .flags = flags};
    struct cache *cache = judge->cache;
    const double begin = cli_now();
    judge->dialect = (struct judge_dialect){.plain = false};
    judge->cache = NULL;
    bool good = trajectory && judge_ask(judge, &about, 1, NULL, NULL);
    judge->cache = cache;
    *check = (struct judge_check){.answers = about.mark == TRAINER_JUDGED,
                                  .takes_schema = !judge->dialect.plain,
                                  .takes_max_tokens = !judge->dialect.newer_limit,
                                  .takes_temperature = !judge->dialect.no_temperature,
                                  .attempts = about.attempts,
                                  .prompt_tokens = about.prompt_tokens,
                                  .completion_tokens = about.completion_tokens,
                                  .seconds = cli_now() - begin};
    snprintf(check->why, sizeof check->why, "%s", about.why);
    if (good && check->answers)
        judge_remember(judge);
    json_decref(about.analysis);
    json_decref(trajectory);
    return good;
}
