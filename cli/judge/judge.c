/*
 * judge.c: requests, responses and the queue. The first part makes a request of a case and the digest under which its
 * answer is cached. The second part settles the trajectory by the response, or schedules another attempt. The third
 * part sends each request that is due when a slot is free. libcurl's own queue is not used, because its timeout runs
 * from when a handle is added: a request at the end of a long queue would time out before it was sent.
 */
#include "judge/judge.h"

#include "cli.h"
#include "judge/cache.h"
#include "judge/endpoint.h"
#include "judge/trajectory.h"
#include "judge/wording.h"

/* One request in flight. */
struct judge_slot {
    CURL *easy;
    struct judge_errand *errand; /* NULL: the slot is free */
    char *body;                  /* the body of the request */
    struct endpoint_response response;
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

/* ---- what is sent ---- */

/* Prepares handles, headers and the schema part. Returns false with judge->why set. */
static bool request_open(struct judge *judge)
{
    size_t n = (size_t)judge->settings.concurrency;
    if (!endpoint_open(&judge->at, judge->settings.endpoint, ENDPOINT_CHAT, judge->settings.key_env, judge->why))
        return false;
    judge->form = json_pack("{s:s, s:{s:s, s:b, s:o}}", "type", "json_schema", "json_schema", "name", "step_flags", "strict", 1,
                            "schema", wording_answer_schema());
    bool good = judge->form && (judge->multi = judge->at.curl.multi_init()) && (judge->slots = calloc(n, sizeof *judge->slots));
    for (size_t i = 0; i < n && good; i++)
        good = (judge->slots[i].easy = endpoint_handle(&judge->at, &judge->slots[i].response, &judge->slots[i]));
    if (!good)
        snprintf(judge->why, sizeof judge->why, "out of memory, or libcurl cannot be used");
    return good;
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

/* Computes the digest under which the answer is cached. What a server refuses does not change the question, so the digest
 * is that of one fixed form. */
static bool request_digest(const struct judge *judge, const json_t *messages, char digest[CACHE_DIGEST_MAX])
{
    const struct judge_dialect fixed = {.plain = true};
    json_t *body = make_body(judge, messages, &fixed);
    json_object_set_new(body, "endpoint", json_string(judge->at.url));
    return judge_digest(digest, body);
}

/* The digest of address and model: what the endpoint refused is remembered under it. */
static bool request_endpoint_digest(const struct judge *judge, char digest[CACHE_DIGEST_MAX])
{
    return judge_digest(digest, json_pack("{s:s, s:s}", "endpoint", judge->at.url, "model", judge->settings.model));
}

/* Sends the case through a free slot. seconds is the timeout of this attempt. */
static bool request_start(struct judge *judge, struct judge_slot *slot, struct judge_errand *errand, double seconds)
{
    json_t *body = make_body(judge, errand->messages, &errand->dialect);
    slot->body = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    if (!endpoint_request(&judge->at, slot->easy, &slot->response, slot->body, seconds) ||
        judge->at.curl.multi_add_handle(judge->multi, slot->easy) != CURLM_OK) {
        free(slot->body);
        slot->body = NULL;
        return false;
    }
    slot->errand = errand;
    errand->flying = true;
    errand->about->attempts++;
    return true;
}

static void request_end(struct judge *judge, struct judge_slot *slot)
{
    judge->at.curl.multi_remove_handle(judge->multi, slot->easy);
    slot->errand->flying = false;
    slot->errand = NULL;
    free(slot->body);
    slot->body = NULL;
}

static void request_close(struct judge *judge)
{
    for (size_t i = 0; judge->slots && i < (size_t)judge->settings.concurrency; i++) {
        struct judge_slot *slot = &judge->slots[i];
        if (slot->errand)
            request_end(judge, slot);
        if (slot->easy)
            judge->at.curl.easy_cleanup(slot->easy);
        free(slot->response.bytes);
    }
    if (judge->multi)
        judge->at.curl.multi_cleanup(judge->multi);
    endpoint_close(&judge->at);
    free(judge->slots);
    json_decref(judge->form);
}

/* ---- what a response means ---- */

static void join(struct judge_dialect *to, const struct judge_dialect *from)
{
    to->plain = to->plain || from->plain;
    to->newer_limit = to->newer_limit || from->newer_limit;
    to->no_temperature = to->no_temperature || from->no_temperature;
}

/* Ends a case with a mark and a reason. */
static void outcome_settle(struct judge_errand *errand, enum trainer_judge_mark mark, const char *why)
{
    errand->about->mark = mark;
    errand->settled = true;
    snprintf(errand->about->why, sizeof errand->about->why, "%s", why);
}

/* No new requests are sent after this. Requests in flight finish normally. */
static void stop(struct judge *judge, struct judge_errand *errand, const char *why)
{
    judge->stopped = true;
    snprintf(judge->why, sizeof judge->why, "%s", why);
    outcome_settle(errand, TRAINER_JUDGE_REFUSED, why);
}

/* If the server asks to wait until after the deadline, the case fails now. */
static void try_later(struct judge *judge, struct judge_errand *errand, double server_asks, const char *why, double now)
{
    char text[JUDGE_WHY_MAX];
    errand->failed++;
    errand->due = now + retry_wait(judge->settings.backoff, errand->failed, server_asks, judge->seed, errand->number);
    if (errand->due < errand->deadline) {
        snprintf(errand->about->why, sizeof errand->about->why, "%s", why); /* replaced when the case is settled */
        return;
    }
    snprintf(text, sizeof text, "no answer before the deadline, after %u attempts: %.160s", errand->about->attempts, why);
    outcome_settle(errand, TRAINER_JUDGE_FAILED, text);
}

/* After a second unusable answer the case fails. */
static void repair(struct judge *judge, struct judge_errand *errand, const struct answer *answer)
{
    char text[JUDGE_WHY_MAX], shown[4001] = "";
    if (errand->repaired) {
        snprintf(text, sizeof text, "two unusable answers: %s", answer->why);
        outcome_settle(errand, TRAINER_JUDGE_FAILED, text);
        return;
    }
    if (answer->content) /* may end within a character; Jansson rejects such content, and it is left out */
        snprintf(shown, sizeof shown, "%s", answer->content);
    json_t *longer = wording_repair(judge->wording, errand->messages, shown, answer->why);
    if (longer) {
        json_decref(errand->messages);
        errand->messages = longer;
    }
    errand->repaired = true;
    errand->due = 0;
}

/*
 * What the judge wrote, and what it was shown. A server may send the key back, so it is taken out of the text before the
 * text goes into a file.
 */
static json_t *texts_of(const struct judge *judge, const struct judge_errand *errand, const struct answer *answer)
{
    const char *shown = json_string_value(json_object_get(json_array_get(errand->messages, 1), "content"));
    json_t *trajectory = shown ? json_loads(shown, 0, NULL) : NULL;
    json_t *texts = json_pack("{s:O*, s:o*}", "analysis", answer->analysis, "shown", trajectory), *clean;
    char *text = texts ? json_dumps(texts, JSON_COMPACT) : NULL;
    if (text)
        endpoint_scrub(&judge->at, text);
    clean = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    json_decref(texts);
    return clean;
}

static void keep(struct judge *judge, const struct judge_errand *errand, const json_t *texts)
{
    if (judge->cache)
        (void)cache_add(judge->cache, errand->digest, errand->about->flags, trajectory_steps(errand->about->trajectory),
                        judge->settings.model, json_string_value(json_object_get(judge->wording, "version")), texts);
}

/* Writes what the server has refused to the cache, if there is one. */
static void judge_remember(const struct judge *judge)
{
    char digest[CACHE_DIGEST_MAX];
    if (judge->cache && request_endpoint_digest(judge, digest))
        (void)cache_add_endpoint(judge->cache, digest, judge->settings.model, &judge->dialect);
}

/* An answered request shows what the server accepts. What it refuses is remembered in the cache, for other processes too. */
static void learn(struct judge *judge, const struct judge_dialect *answered)
{
    struct judge_dialect *known = &judge->dialect, before = *known;
    join(known, answered);
    bool news = before.plain != known->plain || before.newer_limit != known->newer_limit ||
                before.no_temperature != known->no_temperature;
    judge->form_is_taken = judge->form_is_taken || !answered->plain;
    if (news)
        judge_remember(judge);
}

static void take_flags(struct judge *judge, struct judge_errand *errand, const struct answer *answer)
{
    json_t *texts = texts_of(judge, errand, answer);
    errand->about->analysis = json_incref(json_object_get(texts, "analysis"));
    outcome_settle(errand, TRAINER_JUDGED, "");
    keep(judge, errand, texts);
    json_decref(texts);
}

static void take_answer(struct judge *judge, struct judge_slot *slot, struct judge_errand *errand)
{
    struct judge_case *about = errand->about;
    struct answer answer;
    answer_read(&answer, slot->response.bytes, slot->response.length, about->flags, trajectory_steps(about->trajectory));
    endpoint_scrub(&judge->at, answer.why);
    about->prompt_tokens += answer.prompt_tokens;
    about->completion_tokens += answer.completion_tokens;
    learn(judge, &errand->dialect);
    switch (answer.verdict) {
    case ANSWER_COMPLETE: take_flags(judge, errand, &answer); break;
    case ANSWER_TRUNCATED: outcome_settle(errand, TRAINER_JUDGE_TRUNCATED, answer.why); break;
    case ANSWER_REFUSED: outcome_settle(errand, TRAINER_JUDGE_REFUSED, answer.why); break;
    case ANSWER_UNUSABLE: repair(judge, errand, &answer); break;
    }
    answer_release(&answer);
}

static double asked_to_wait(const struct judge *judge, const struct judge_slot *slot)
{
    curl_off_t seconds = 0; /* the server gives it in seconds or as a date */
    return judge->at.curl.easy_getinfo(slot->easy, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK ? (double)seconds : 0;
}

/* The request is sent at once without what was refused. */
static void again_with(struct judge_errand *errand, bool *refused)
{
    *refused = true;
    errand->due = 0;
}

static void take_response(struct judge *judge, struct judge_slot *slot, struct judge_errand *errand, double now)
{
    struct answer_error error;
    char why[JUDGE_WHY_MAX];
    long status = 0;
    (void)judge->at.curl.easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &status);
    answer_error_read(&error, slot->response.bytes, slot->response.length);
    endpoint_tell(&judge->at, why, sizeof why, status, &error);
    struct judge_dialect sent = errand->dialect;
    sent.plain = sent.plain || judge->form_is_taken;
    sent.free_choice = true; /* a judge names no function */
    switch (retry_kind_of(status, &error, &sent)) {
    case RETRY_ANSWERED: take_answer(judge, slot, errand); break;
    case RETRY_LATER: try_later(judge, errand, asked_to_wait(judge, slot), why, now); break;
    case RETRY_PLAIN: again_with(errand, &errand->dialect.plain); break;
    case RETRY_LIMIT: again_with(errand, &errand->dialect.newer_limit); break;
    case RETRY_COOL: again_with(errand, &errand->dialect.no_temperature); break;
    case RETRY_ROW: outcome_settle(errand, TRAINER_JUDGE_REFUSED, why); break;
    case RETRY_CHOICE:
    case RETRY_STOP: stop(judge, errand, why); break;
    }
}

/* Called when the transfer of a slot has ended: settles its case, or schedules another attempt. */
static void outcome_take(struct judge *judge, struct judge_slot *slot, CURLcode result, double now)
{
    struct judge_errand *errand = slot->errand;
    const struct answer too_long = {.why = "it is longer than a mebibyte"}, not_http = {.why = "it is not HTTP"};
    request_end(judge, slot);
    if (slot->response.overflows)
        repair(judge, errand, &too_long);
    else if (result == CURLE_OK)
        take_response(judge, slot, errand, now);
    else if (result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_WEIRD_SERVER_REPLY)
        repair(judge, errand, &not_http); /* what curl takes for HTTP/0.9: a damaged response, for this case only */
    else if (endpoint_lasts(result))
        stop(judge, errand, endpoint_reason(&judge->at, result));
    else
        try_later(judge, errand, 0, endpoint_reason(&judge->at, result), now);
}

/* ---- the queue ---- */

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
