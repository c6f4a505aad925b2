/*
 * judge.c: the queue of requests. A request that is due is sent when a slot is free. Its response settles the
 * trajectory or schedules another attempt. libcurl's own queue is not used, because its timeout runs from when a handle
 * is added: a request at the end of a long queue would time out before it was sent.
 */
#include "judge/judge.h"

#include "cli.h"
#include "judge/judge_internal.h"
#include "judge/trajectory.h"
#include "judge/wording.h"

/* A response is bounded, whatever a server sends. */
static size_t take_bytes(char *bytes, size_t size, size_t n, void *context)
{
    struct judge_slot *slot = context;
    size_t length = size * n;
    slot->overflows = slot->overflows || length > JUDGE_RESPONSE_MAX - slot->length;
    if (slot->overflows)
        return 0;
    memcpy(slot->response + slot->length, bytes, length);
    slot->length += length;
    return length;
}

static bool make_handle(struct judge *judge, struct judge_slot *slot)
{
    slot->easy = judge->at.curl.easy_init();
    slot->response = malloc(JUDGE_RESPONSE_MAX);
    return slot->response && endpoint_handle(&judge->at, slot->easy, take_bytes, slot);
}

bool request_open(struct judge *judge)
{
    size_t n = (size_t)judge->settings.concurrency;
    if (!endpoint_open(&judge->at, judge->settings.endpoint, ENDPOINT_CHAT, judge->settings.key_env, judge->why))
        return false;
    judge->form = json_pack("{s:s, s:{s:s, s:b, s:o}}", "type", "json_schema", "json_schema", "name", "step_flags", "strict", 1,
                            "schema", wording_answer_schema());
    bool good = judge->form && (judge->multi = judge->at.curl.multi_init()) && (judge->slots = calloc(n, sizeof *judge->slots));
    for (size_t i = 0; i < n && good; i++)
        good = make_handle(judge, &judge->slots[i]);
    if (!good)
        snprintf(judge->why, sizeof judge->why, "out of memory, or libcurl cannot be used");
    return good;
}

static void request_close(struct judge *judge)
{
    for (size_t i = 0; judge->slots && i < (size_t)judge->settings.concurrency; i++) {
        struct judge_slot *slot = &judge->slots[i];
        if (slot->errand)
            request_end(judge, slot);
        if (slot->easy)
            judge->at.curl.easy_cleanup(slot->easy);
        free(slot->response);
    }
    if (judge->multi)
        judge->at.curl.multi_cleanup(judge->multi);
    endpoint_close(&judge->at);
    free(judge->slots);
    json_decref(judge->form);
}

/* Temperature 0 makes answers repeatable most of the time; only the cache guarantees equal answers. */
static json_t *make_body(const struct judge *judge, const json_t *messages, const struct judge_dialect *dialect)
{
    json_t *body = json_pack("{s:s, s:O}", "model", judge->settings.model, "messages", messages);
    cli_json_set(body, "temperature", !dialect->no_temperature ? json_integer(0) : NULL,
                 dialect->newer_limit ? "max_completion_tokens" : "max_tokens",
                 judge->settings.max_tokens > 0 ? json_integer(judge->settings.max_tokens) : NULL, NULL);
    if (!dialect->plain)
        json_object_set(body, "response_format", judge->form);
    return body;
}

/* What a server refuses does not change the question, so the digest is that of one fixed form. */
bool request_digest(const struct judge *judge, const json_t *messages, char digest[CACHE_DIGEST_MAX])
{
    const struct judge_dialect fixed = {.plain = true};
    json_t *body = make_body(judge, messages, &fixed);
    json_object_set_new(body, "endpoint", json_string(judge->at.url));
    return judge_digest(digest, body);
}

bool request_endpoint_digest(const struct judge *judge, char digest[CACHE_DIGEST_MAX])
{
    return judge_digest(digest, json_pack("{s:s, s:s}", "endpoint", judge->at.url, "model", judge->settings.model));
}

bool request_start(struct judge *judge, struct judge_slot *slot, struct judge_errand *errand, double seconds)
{
    const struct curl_library *curl = &judge->at.curl;
    json_t *body = make_body(judge, errand->messages, &errand->dialect);
    slot->body = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    slot->length = 0;
    slot->overflows = false;
    if (!slot->body || curl->easy_setopt(slot->easy, CURLOPT_POSTFIELDS, slot->body) != CURLE_OK ||
        curl->easy_setopt(slot->easy, CURLOPT_POSTFIELDSIZE, (long)strlen(slot->body)) != CURLE_OK ||
        curl->easy_setopt(slot->easy, CURLOPT_TIMEOUT_MS, (long)(seconds * 1000) + 1) != CURLE_OK ||
        curl->multi_add_handle(judge->multi, slot->easy) != CURLM_OK) {
        free(slot->body);
        slot->body = NULL;
        return false;
    }
    slot->errand = errand;
    errand->flying = true;
    errand->about->attempts++;
    return true;
}

void request_end(struct judge *judge, struct judge_slot *slot)
{
    judge->at.curl.multi_remove_handle(judge->multi, slot->easy);
    slot->errand->flying = false;
    slot->errand = NULL;
    free(slot->body);
    slot->body = NULL;
}

struct round {
    struct judge *judge;
    struct judge_errand *errands; /* [n] */
    size_t n;
    judge_settled_fn *settled;
    void *context;
};

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
