/*
 * fuzz_http.c: reads arbitrary bytes as the headers by which `lineage serve` decides whether it answers: Host, Origin, the
 * token and Sec-Fetch-Site, separated by line ends. libmicrohttpd has parsed them before. Only this server's own names pass.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "serve/request_guard.h"

static bool is_host(const char *text, const char *port)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        size_t n = strlen(hosts[i]);
        if (strncasecmp(text, hosts[i], n) == 0 && text[n] == ':' && strcmp(text + n + 1, port) == 0)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct guard guard = {.port = 8080};
    char *text = malloc(size + 1), *rest = text, *fields[4] = {NULL};
    fuzz_assert(text && guard_make_token(&guard));
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0; i < 4; i++)
        fields[i] = rest ? strsep(&rest, "\n") : NULL;
    if (fields[0] && guard_host_ok(&guard, fields[0]))
        fuzz_assert(is_host(fields[0], "8080"));
    if (fields[1] && guard_origin_ok(&guard, fields[1]))
        fuzz_assert(strncasecmp(fields[1], "http://", 7) == 0 && is_host(fields[1] + 7, "8080"));
    if (fields[2])
        fuzz_assert(!guard_token_ok(&guard, fields[2]));
    if (fields[3] && guard_site_ok(fields[3]))
        fuzz_assert(strcmp(fields[3], "same-origin") == 0 || strcmp(fields[3], "none") == 0);
    free(text);
    return 0;
}
