/*
 * endpoint.c: address, key and headers of a chat endpoint. Redirects are not followed, because the key would be sent to the
 * new address. Only http and https are allowed.
 */
#include "judge/endpoint.h"

#include <dlfcn.h>
#include <strings.h>

#include "cli.h"

/*
 * Loads libcurl when a judge is opened. The file name includes the ABI version, because the constants
 * in the headers belong to that version.
 */

/*
 * Returns false with the reason, which names the package, in why. The library stays loaded, because its TLS library runs
 * code when threads end.
 */
static bool curl_library_load(struct curl_library *curl, char why[CURL_LIBRARY_WHY_MAX])
{
    char reason[CURL_LIBRARY_WHY_MAX - 80];
    void *library = cli_load_library("libcurl.so.4", RTLD_LOCAL | RTLD_NODELETE, reason, sizeof reason);
    bool all = library != NULL;
    if (!library)
        return snprintf(why, CURL_LIBRARY_WHY_MAX,
                        "a language model is asked through libcurl (Debian: apt-get install libcurl4): %s", reason),
               false;
#define CURL_FIND(name) all = cli_find_function(&curl->name, sizeof curl->name, library, "curl_" #name) && all;
    CURL_FUNCTIONS(CURL_FIND)
#undef CURL_FIND
    all = all && curl->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (!all)
        snprintf(why, CURL_LIBRARY_WHY_MAX, "this libcurl lacks a function that is needed; install a newer one");
    return all;
}

/* Rejects a key with a line end, which would end the header and begin another header. */
static bool is_key(const char *key)
{
    for (; *key; key++)
        if ((unsigned char)*key < 0x21 || (unsigned char)*key > 0x7e)
            return false;
    return true;
}

/* A variable that the settings name must be set, because the user then wants a key to be sent. */
static bool read_key(struct endpoint *at, const char *key_env, char why[ENDPOINT_WHY_MAX])
{
    const char *name = key_env && *key_env ? key_env : JUDGE_KEY_ENV;
    const char *key = getenv(name);
    bool there = key && *key;
    if (!there && strcmp(name, JUDGE_KEY_ENV) != 0)
        snprintf(why, ENDPOINT_WHY_MAX, "the environment variable %.80s, which should hold the key of the endpoint, is not set",
                 name);
    else if (there && !is_key(key))
        snprintf(why, ENDPOINT_WHY_MAX, "the environment variable %.80s does not hold a key: it has blanks or control characters",
                 name);
    else if (there && !(at->key = strdup(key)))
        snprintf(why, ENDPOINT_WHY_MAX, "out of memory");
    return !why[0];
}

static bool add_header(struct endpoint *at, const char *header)
{
    struct curl_slist *longer = at->curl.slist_append(at->headers, header);
    at->headers = longer ? longer : at->headers;
    return longer != NULL;
}

static bool make_headers(struct endpoint *at)
{
    char *authorization = NULL;
    bool good = add_header(at, "Content-Type: application/json") && add_header(at, "Accept: application/json") &&
                add_header(at, "Expect:");
    if (good && at->key) {
        good = asprintf(&authorization, "Authorization: Bearer %s", at->key) > 0 && add_header(at, authorization);
        free(authorization);
    }
    return good;
}

void endpoint_scrub(const struct endpoint *at, char *text)
{
    size_t n = at->key ? strlen(at->key) : 0;
    for (char *place = text; n && (place = strstr(place, at->key));) {
        static const char mask[] = "[key]";
        size_t m = n < sizeof mask - 1 ? n : sizeof mask - 1;
        memcpy(place, mask, m);
        memmove(place + m, place + n, strlen(place + n) + 1);
        place += m;
    }
}

/* Accepts the base address of an API, which users tend to copy, or the full address of the endpoint. */
static void make_url(struct endpoint *at, const char *endpoint, const char *path)
{
    size_t n = strlen(endpoint), m = strlen(path);
    while (n && endpoint[n - 1] == '/')
        n--;
    bool whole = n >= m && memcmp(endpoint + n - m, path, m) == 0;
    snprintf(at->url, sizeof at->url, "%.*s%s", (int)n, endpoint, whole ? "" : path);
}

/* Whether the host of an address is this machine, so that nobody else can read along. */
static bool is_local(const char *host)
{
    size_t n = strcspn(host, ":/?#");
    return (n == 9 && strncmp(host, "localhost", n) == 0) || strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0;
}

static void warn_of_plain_http(const struct endpoint *at)
{
    static const char plain[] = "http://";
    const size_t n = sizeof plain - 1;
    if (at->key && strncasecmp(at->url, plain, n) == 0 && !is_local(at->url + n))
        cli_error(CLI_NO, "warning: the key goes to %.*s without encryption; use https", (int)strcspn(at->url + n, "/?#"),
                  at->url + n);
}

bool endpoint_open(struct endpoint *at, const char *address, const char *path, const char *key_env, char why[ENDPOINT_WHY_MAX])
{
    why[0] = '\0';
    if (!curl_library_load(&at->curl, why) || !read_key(at, key_env, why))
        return false;
    make_url(at, address, path);
    warn_of_plain_http(at);
    if (make_headers(at))
        return true;
    return snprintf(why, ENDPOINT_WHY_MAX, "out of memory, or libcurl cannot be used"), false;
}

static size_t take_bytes(char *bytes, size_t size, size_t n, void *context)
{
    struct endpoint_response *response = context;
    size_t length = size * n;
    response->overflows = response->overflows || length > ENDPOINT_RESPONSE_MAX - response->length;
    if (response->overflows)
        return 0;
    memcpy(response->bytes + response->length, bytes, length);
    response->length += length;
    return length;
}

/* SSL_CERT_FILE is the variable that programs with OpenSSL read for the certificates of a private authority; libcurl
 * does not read it. */
CURL *endpoint_handle(const struct endpoint *at, struct endpoint_response *response, void *context)
{
    const struct curl_library *curl = &at->curl;
    const char *authorities = getenv("SSL_CERT_FILE");
    CURL *easy = curl->easy_init();
    response->bytes = malloc(ENDPOINT_RESPONSE_MAX);
    if (easy && response->bytes && curl->easy_setopt(easy, CURLOPT_URL, at->url) == CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_HTTPHEADER, at->headers) == CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_USERAGENT, "lineage/" LINEAGE_VERSION) == CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, 30L) == CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes) == CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_WRITEDATA, response) == CURLE_OK &&
        curl->easy_setopt(easy, CURLOPT_PRIVATE, context) == CURLE_OK &&
        (!authorities || !*authorities || curl->easy_setopt(easy, CURLOPT_CAINFO, authorities) == CURLE_OK))
        return easy;
    if (easy)
        curl->easy_cleanup(easy);
    return NULL;
}

bool endpoint_request(const struct endpoint *at, CURL *easy, struct endpoint_response *response, const char *text, double seconds)
{
    response->length = 0;
    response->overflows = false;
    return text && at->curl.easy_setopt(easy, CURLOPT_POSTFIELDS, text) == CURLE_OK &&
           at->curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(text)) == CURLE_OK &&
           at->curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(seconds * 1000) + 1) == CURLE_OK;
}

/* libcurl's own text for missing certificates says nothing about where they come from. */
const char *endpoint_reason(const struct endpoint *at, CURLcode result)
{
    if (result == CURLE_SSL_CACERT_BADFILE)
        return "cannot read the certificates of authorities: install them (Debian: ca-certificates), or name their file in "
               "SSL_CERT_FILE";
    return at->curl.easy_strerror(result);
}

bool endpoint_lasts(CURLcode result)
{
    return result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CERTPROBLEM || result == CURLE_SSL_CACERT_BADFILE ||
           result == CURLE_SSL_ISSUER_ERROR || result == CURLE_URL_MALFORMAT;
}

/* A server's message about a wrong key may contain parts of the key, so only the HTTP status is reported. */
void endpoint_tell(const struct endpoint *at, char *why, size_t size, long status, const struct answer_error *error)
{
    bool about_the_key = status == 401 || status == 403 || status == 407;
    bool says = error->message[0] && !about_the_key;
    snprintf(why, size, "HTTP %ld%s%s%s", status, says ? ": " : "", says ? error->message : "",
             about_the_key       ? " (key refused)"
             : status / 100 == 3 ? " (redirects are not followed)"
                                 : "");
    endpoint_scrub(at, why);
}

void endpoint_close(struct endpoint *at)
{
    if (at->headers)
        at->curl.slist_free_all(at->headers);
    if (at->key)
        explicit_bzero(at->key, strlen(at->key));
    free(at->key);
    *at = (struct endpoint){.key = NULL};
}
