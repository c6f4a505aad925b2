/*
 * endpoint.h: an OpenAI-compatible chat endpoint: its address, its key, and the libcurl handles for them. The key comes from
 * an environment variable and is only put into the header of requests.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "judge/answer.h"

/* ---- curl library ---- */

/*
 * The functions of libcurl that are called, looked up when an endpoint is opened. If the library were linked, every trial
 * would load it and a dozen others, although few trials use a judge.
 */

/* clang-format off */
#define CURL_FUNCTIONS(X)                                                                                        \
    X(global_init) X(easy_init) X(easy_perform) X(easy_setopt) X(easy_getinfo) X(easy_strerror) X(easy_cleanup)                  \
    X(multi_init) X(multi_add_handle) X(multi_remove_handle) X(multi_perform) X(multi_poll) X(multi_info_read)   \
    X(multi_cleanup) X(slist_append) X(slist_free_all)
/* clang-format on */

/* The functions of libcurl, without the prefix curl_: curl.easy_init is curl_easy_init. */
struct curl_library {
#define CURL_MEMBER(name) __typeof__(&curl_##name) name;
    CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

enum { CURL_LIBRARY_WHY_MAX = 256 };

/* The environment variable that holds the key if the settings name no other; it may be unset. */
#define JUDGE_KEY_ENV "LINEAGE_JUDGE_KEY"

enum { ENDPOINT_WHY_MAX = CURL_LIBRARY_WHY_MAX, ENDPOINT_URL_MAX = 4096 + 32 };

/* Zeroed before it is opened. */
struct endpoint {
    struct curl_library curl;
    struct curl_slist *headers;
    char url[ENDPOINT_URL_MAX];
    char *key; /* NULL: no key */
};

/* What is asked: a chat, or the completion of a text (OpenAI's older interface, which also returns log-probs of a prompt). */
#define ENDPOINT_CHAT "/chat/completions"
#define ENDPOINT_COMPLETIONS "/completions"

/*
 * Loads libcurl and reads the key; key_env NULL or "": JUDGE_KEY_ENV, which may be unset. address: the base address of an API
 * or the whole address of the endpoint; path: one of the above. Warns if a key would leave the machine unencrypted. Returns false with the
 * reason in why; close the endpoint in any case.
 */
bool endpoint_open(struct endpoint *at, const char *address, const char *path, const char *key_env, char why[ENDPOINT_WHY_MAX]);
void endpoint_close(struct endpoint *at);

/*
 * The bytes of a response. Longer responses are aborted, whatever a server sends. The limit is generous: an answer of 8192 tokens,
 * reasoning included, is about 40 kB.
 */
enum { ENDPOINT_RESPONSE_MAX = 1 << 20 };
struct endpoint_response {
    char *bytes; /* [ENDPOINT_RESPONSE_MAX] */
    size_t length;
    bool overflows;
};

/* A handle for requests to this endpoint, whose private pointer is the context, and the room for their responses (free). Returns NULL
 * if libcurl refuses or memory runs out. */
CURL *endpoint_handle(const struct endpoint *at, struct endpoint_response *response, void *context);

/* Sets what the next request sends, and its timeout. The text must live until the request has ended. */
bool endpoint_request(const struct endpoint *at, CURL *easy, struct endpoint_response *response, const char *text,
                      double seconds);

/* Why a request failed, for the user. The text belongs to libcurl or is constant. */
const char *endpoint_reason(const struct endpoint *at, CURLcode result);

/* Whether a retry is useless: a certificate that is not trusted now will not be trusted in a minute either. */
bool endpoint_lasts(CURLcode result);

/* Writes what a response that is not an answer means, without the key. */
void endpoint_tell(const struct endpoint *at, char *why, size_t size, long status, const struct answer_error *error);

/* Replaces the key by [key]. */
void endpoint_scrub(const struct endpoint *at, char *text);
