#include "judge/chat.h"

#include <time.h>

#include "cli.h"

static bool is_stopped(const struct chat *chat)
{
    return chat->stop && atomic_load(chat->stop);
}

/* libcurl calls it at least once a second, and ends the transfer if it does not return 0. */
static int on_progress(void *context, curl_off_t to_load, curl_off_t loaded, curl_off_t to_send, curl_off_t sent)
{
    (void)to_load, (void)loaded, (void)to_send, (void)sent;
    return is_stopped(context);
}

static bool make_handle(struct chat *chat)
{
    if ((chat->easy = endpoint_handle(&chat->at, &chat->response, chat)) &&
        chat->at.curl.easy_setopt(chat->easy, CURLOPT_XFERINFOFUNCTION, on_progress) == CURLE_OK &&
        chat->at.curl.easy_setopt(chat->easy, CURLOPT_XFERINFODATA, chat) == CURLE_OK &&
        chat->at.curl.easy_setopt(chat->easy, CURLOPT_NOPROGRESS, 0L) == CURLE_OK)
        return true;
    return snprintf(chat->why, sizeof chat->why, "out of memory, or libcurl cannot be used"), false;
}

bool chat_open(struct chat *chat, const char *address, const char *path, const char *key_env, double backoff)
{
    chat->backoff = backoff;
    return endpoint_open(&chat->at, address, path, key_env, chat->why) && make_handle(chat);
}

bool chat_beside(struct chat *chat, const struct chat *open)
{
    *chat = (struct chat){.at = open->at, .beside = true, .backoff = open->backoff, .seed = open->seed};
    return make_handle(chat);
}

void chat_close(struct chat *chat)
{
    if (chat->easy)
        chat->at.curl.easy_cleanup(chat->easy);
    free(chat->response.bytes);
    if (!chat->beside)
        endpoint_close(&chat->at);
}

static CURLcode post(struct chat *chat, const json_t *body, size_t max_tokens, double seconds)
{
    json_t *whole = json_copy((json_t *)(uintptr_t)body);
    json_object_set_new(whole, chat->dialect.newer_limit ? "max_completion_tokens" : "max_tokens",
                        json_integer((json_int_t)max_tokens));
    if (chat->dialect.free_choice)
        json_object_del(whole, "tool_choice");
    char *text = whole ? json_dumps(whole, JSON_COMPACT) : NULL;
    json_decref(whole);
    CURLcode result = CURLE_OUT_OF_MEMORY;
    chat->attempts++;
    if (endpoint_request(&chat->at, chat->easy, &chat->response, text, seconds))
        result = chat->at.curl.easy_perform(chat->easy);
    free(text);
    return result;
}

/* The key is taken out of the response before anything else reads it: a server may send it back. */
static json_t *parse(struct chat *chat)
{
    json_error_t error;
    struct endpoint_response *response = &chat->response;
    if (response->length < ENDPOINT_RESPONSE_MAX) {
        response->bytes[response->length] = '\0';
        if (!memchr(response->bytes, '\0', response->length)) {
            endpoint_scrub(&chat->at, response->bytes);
            response->length = strlen(response->bytes);
        }
    }
    json_t *answer = json_loadb(response->bytes, response->length, 0, &error);
    if (json_is_object(answer))
        return answer;
    json_decref(answer);
    return snprintf(chat->why, sizeof chat->why, "the response is not a JSON object"), NULL;
}

enum next { NEXT_DONE, NEXT_LATER, NEXT_AT_ONCE, NEXT_STOP };

static enum next take_status(struct chat *chat, const json_t *body, json_t **answer, double *server_asks)
{
    struct answer_error error;
    long status = 0;
    curl_off_t seconds = 0;
    struct judge_dialect sent = chat->dialect;
    sent.plain = sent.no_temperature = true; /* neither is sent */
    sent.free_choice = sent.free_choice || !json_object_get(body, "tool_choice");
    (void)chat->at.curl.easy_getinfo(chat->easy, CURLINFO_RESPONSE_CODE, &status);
    if (chat->at.curl.easy_getinfo(chat->easy, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK)
        *server_asks = (double)seconds;
    answer_error_read(&error, chat->response.bytes, chat->response.length);
    endpoint_tell(&chat->at, chat->why, sizeof chat->why, status, &error);
    switch (retry_kind_of(status, &error, &sent)) {
    case RETRY_ANSWERED: return (*answer = parse(chat)) ? NEXT_DONE : NEXT_LATER;
    case RETRY_LATER: return NEXT_LATER;
    case RETRY_LIMIT: chat->dialect.newer_limit = true; return NEXT_AT_ONCE;
    case RETRY_CHOICE: chat->dialect.free_choice = true; return NEXT_AT_ONCE;
    case RETRY_PLAIN:
    case RETRY_COOL:
    case RETRY_ROW:
    case RETRY_STOP: break;
    }
    return NEXT_STOP;
}

static enum next take(struct chat *chat, const json_t *body, CURLcode result, json_t **answer, double *server_asks)
{
    if (result == CURLE_OK)
        return take_status(chat, body, answer, server_asks);
    snprintf(chat->why, sizeof chat->why, "%s",
             chat->response.overflows ? "the response is longer than a mebibyte" : endpoint_reason(&chat->at, result));
    return chat->response.overflows || endpoint_lasts(result) || result == CURLE_OUT_OF_MEMORY ||
                   result == CURLE_ABORTED_BY_CALLBACK
               ? NEXT_STOP
               : NEXT_LATER;
}

/* In pieces, so that another thread can end it. */
static void nap(struct chat *chat, double seconds)
{
    const double end = cli_now() + seconds;
    for (double left; (left = end - cli_now()) > 0 && !is_stopped(chat);) {
        const double piece = fmin(left, 0.25);
        nanosleep(&(struct timespec){0, (long)(piece * 1e9)}, NULL);
    }
}

json_t *chat_ask(struct chat *chat, const json_t *body, size_t max_tokens, double deadline)
{
    json_t *answer = NULL;
    unsigned failed = 0;
    chat->asked++;
    chat->attempts = 0;
    snprintf(chat->why, sizeof chat->why, "there is no time left");
    for (double now; (now = cli_now()) < deadline && !is_stopped(chat);) {
        double server_asks = 0;
        enum next next = take(chat, body, post(chat, body, max_tokens, deadline - now), &answer, &server_asks);
        if (next == NEXT_DONE || next == NEXT_STOP)
            break;
        if (next == NEXT_AT_ONCE)
            continue;
        double wait = retry_wait(chat->backoff, ++failed, server_asks, chat->seed, chat->asked);
        if (cli_now() + wait >= deadline)
            break;
        nap(chat, wait);
    }
    return answer;
}
