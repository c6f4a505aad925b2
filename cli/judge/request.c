/*
 * request.c: makes the requests that libcurl sends. Redirects are not followed, because the key would be sent to the
 * new address. Only http and https are allowed, responses are bounded, and each attempt has its own timeout, which
 * begins when it is sent.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <xxhash.h>

#include "cli.h"
#include "judge/judge_internal.h"
#include "judge/wording.h"

/* ---- key and headers ---- */

/* Rejects a key with a line end, which would end the header and begin another header. */
static bool is_key(const char *key)
{
    for (; *key; key++)
        if ((unsigned char)*key < 0x21 || (unsigned char)*key > 0x7e)
            return false;
    return true;
}

/* A variable that the settings name must be set, because the user then wants a key to be sent. */
static bool read_key(struct judge *judge)
{
    const char *name = judge->settings.key_env[0] ? judge->settings.key_env : JUDGE_KEY_ENV;
    const char *key = getenv(name);
    bool there = key && *key;
    if (!there && strcmp(name, JUDGE_KEY_ENV) != 0)
        snprintf(judge->why, sizeof judge->why, "the environment variable %.80s, which should hold the "
                                                "judge's key, is not set", name);
    else if (there && !is_key(key))
        snprintf(judge->why, sizeof judge->why, "the environment variable %.80s does not hold a key: it has "
                                                "blanks or control characters", name);
    else if (there && !(judge->key = strdup(key)))
        snprintf(judge->why, sizeof judge->why, "out of memory");
    return !judge->why[0];
}

static bool add_header(struct judge *judge, const char *header)
{
    struct curl_slist *longer = judge->curl.slist_append(judge->headers, header);
    judge->headers = longer ? longer : judge->headers;
    return longer != NULL;
}

static bool make_headers(struct judge *judge)
{
    char *authorization = NULL;
    bool good = add_header(judge, "Content-Type: application/json") && add_header(judge, "Accept: application/json") &&
                add_header(judge, "Expect:");
    if (good && judge->key) {
        good = asprintf(&authorization, "Authorization: Bearer %s", judge->key) > 0 && add_header(judge, authorization);
        free(authorization);
    }
    return good;
}

void request_scrub(const struct judge *judge, char *text)
{
    size_t n = judge->key ? strlen(judge->key) : 0;
    for (char *at = text; n && (at = strstr(at, judge->key));) {
        static const char mask[] = "[key]";
        size_t m = n < sizeof mask - 1 ? n : sizeof mask - 1;
        memcpy(at, mask, m);
        memmove(at + m, at + n, strlen(at + n) + 1);
        at += m;
    }
}

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

/* SSL_CERT_FILE is the variable that programs with OpenSSL read for the certificates of a private authority; libcurl
 * does not read it. */
static bool make_handle(struct judge *judge, struct judge_slot *slot)
{
    const struct curl_library *curl = &judge->curl;
    const char *authorities = getenv("SSL_CERT_FILE");
    CURL *easy = slot->easy = curl->easy_init();
    slot->response = malloc(JUDGE_RESPONSE_MAX);
    return easy && slot->response && curl->easy_setopt(easy, CURLOPT_URL, judge->url) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_HTTPHEADER, judge->headers) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_USERAGENT, "lineage/" LINEAGE_VERSION) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, 30L) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_WRITEDATA, slot) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_PRIVATE, slot) == CURLE_OK &&
           (!authorities || !*authorities || curl->easy_setopt(easy, CURLOPT_CAINFO, authorities) == CURLE_OK);
}

/* Accepts the base address of an API, which users tend to copy, or the full address of its chat endpoint. */
static void make_url(struct judge *judge)
{
    static const char chat[] = "/chat/completions";
    const char *endpoint = judge->settings.endpoint;
    size_t n = strlen(endpoint), m = sizeof chat - 1;
    while (n && endpoint[n - 1] == '/')
        n--;
    bool whole = n >= m && memcmp(endpoint + n - m, chat, m) == 0;
    snprintf(judge->url, sizeof judge->url, "%.*s%s", (int)n, endpoint, whole ? "" : chat);
}

/* Whether the host of an address is this machine, so that nobody else can read along. */
static bool is_local(const char *host)
{
    size_t n = strcspn(host, ":/?#");
    return (n == 9 && strncmp(host, "localhost", n) == 0) || strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0;
}

static void warn_of_plain_http(const struct judge *judge)
{
    static const char plain[] = "http://";
    const size_t n = sizeof plain - 1;
    if (judge->key && strncasecmp(judge->url, plain, n) == 0 && !is_local(judge->url + n))
        cli_error(CLI_NO, "warning: the key goes to %.*s without encryption; use https", (int)strcspn(judge->url + n, "/?#"), judge->url + n);
}

bool request_open(struct judge *judge)
{
    bool good = curl_library_load(&judge->curl, judge->why) && read_key(judge);
    size_t n = (size_t)judge->settings.concurrency;
    if (!good)
        return false;
    make_url(judge);
    warn_of_plain_http(judge);
    judge->form = json_pack("{s:s, s:{s:s, s:b, s:o}}", "type", "json_schema", "json_schema", "name", "step_flags",
                            "strict", 1, "schema", wording_answer_schema());
    good = judge->form && make_headers(judge) && (judge->multi = judge->curl.multi_init()) &&
           (judge->slots = calloc(n, sizeof *judge->slots));
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
            judge->curl.easy_cleanup(slot->easy);
        free(slot->response);
    }
    if (judge->multi)
        judge->curl.multi_cleanup(judge->multi);
    if (judge->headers)
        judge->curl.slist_free_all(judge->headers);
    if (judge->key)
        explicit_bzero(judge->key, strlen(judge->key));
    free(judge->key);
    free(judge->slots);
    json_decref(judge->form);
}

/* ---- bodies ---- */

/* Temperature 0 makes answers repeatable most of the time; only the cache guarantees equal answers. */
static json_t *make_body(const struct judge *judge, const json_t *messages, const struct judge_dialect *dialect)
{
    json_t *body = json_pack("{s:s, s:O}", "model", judge->settings.model, "messages", messages);
    if (!dialect->no_temperature)
        json_object_set_new(body, "temperature", json_integer(0));
    if (judge->settings.max_tokens > 0)
        json_object_set_new(body, dialect->newer_limit ? "max_completion_tokens" : "max_tokens", json_integer(judge->settings.max_tokens));
    if (!dialect->plain)
        json_object_set(body, "response_format", judge->form);
    return body;
}

/* Takes the object. Returns false if it is NULL or there is no memory. */
static bool digest_of(char digest[CACHE_DIGEST_MAX], json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (text) {
        XXH128_hash_t hash = XXH3_128bits(text, strlen(text));
        snprintf(digest, CACHE_DIGEST_MAX, "%016llx%016llx", (unsigned long long)hash.high64,
                 (unsigned long long)hash.low64);
    }
    free(text);
    json_decref(object);
    return text != NULL;
}

/* What a server refuses does not change the question, so the digest is that of one fixed form. */
bool request_digest(const struct judge *judge, const json_t *messages, char digest[CACHE_DIGEST_MAX])
{
    const struct judge_dialect fixed = {.plain = true};
    json_t *body = make_body(judge, messages, &fixed);
    json_object_set_new(body, "endpoint", json_string(judge->url));
    return digest_of(digest, body);
}

bool request_endpoint_digest(const struct judge *judge, char digest[CACHE_DIGEST_MAX])
{
    return digest_of(digest, json_pack("{s:s, s:s}", "endpoint", judge->url, "model", judge->settings.model));
}

bool request_start(struct judge *judge, struct judge_slot *slot, struct judge_errand *errand, double seconds)
{
    const struct curl_library *curl = &judge->curl;
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
    judge->curl.multi_remove_handle(judge->multi, slot->easy);
    slot->errand->flying = false;
    slot->errand = NULL;
    free(slot->body);
    slot->body = NULL;
}
