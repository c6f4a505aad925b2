/* outcome.c: decides what a finished transfer means for its trajectory and for the judge. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/judge_internal.h"
#include "judge/trajectory.h"
#include "judge/wording.h"

void outcome_settle(struct judge_errand *errand, enum trainer_judge_mark mark, const char *why)
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

/* An answered request shows what the server accepts. What it refuses is remembered in the cache, for other processes too. */
static void learn(struct judge *judge, const struct judge_dialect *answered)
{
    struct judge_dialect *known = &judge->dialect, now = {.plain = known->plain || answered->plain,
                                                          .newer_limit = known->newer_limit || answered->newer_limit,
                                                          .no_temperature = known->no_temperature || answered->no_temperature};
    bool news = now.plain != known->plain || now.newer_limit != known->newer_limit || now.no_temperature != known->no_temperature;
    *known = now;
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
    answer_read(&answer, slot->response, slot->length, about->flags, trajectory_steps(about->trajectory));
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
    answer_error_read(&error, slot->response, slot->length);
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

void outcome_take(struct judge *judge, struct judge_slot *slot, CURLcode result, double now)
{
    struct judge_errand *errand = slot->errand;
    const struct answer too_long = {.why = "it is longer than a mebibyte"}, not_http = {.why = "it is not HTTP"};
    request_end(judge, slot);
    if (slot->overflows)
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
