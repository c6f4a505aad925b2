/*
 * request.c: makes the requests that libcurl sends. Responses are bounded, and each attempt has its own timeout, which
 * begins when it is sent.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "judge/judge_internal.h"
#include "judge/wording.h"

/* ---- handles ---- */

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

void request_close(struct judge *judge)
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

/* ---- bodies ---- */

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
