/*
 * request_guard.c: decides which requests are answered; see request_guard.h. It does not use the HTTP library, so that
 * each rule can be tested on plain text.
 */
#include "serve/request_guard.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

/* Only the literal addresses and localhost: the owner of any other name could bind it to 127.0.0.1. */
static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

/* The token comes from the kernel instead of rand, because nothing else keeps other users of the machine out. */
bool guard_make_token(struct guard *guard)
{
    unsigned char bytes[GUARD_TOKEN / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(guard->token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* The port is compared too, because another server on this machine is another origin. Browsers omit port 80. */
bool guard_host_ok(const struct guard *guard, const char *host)
{
    char wanted[64];
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        snprintf(wanted, sizeof wanted, "%s:%u", names[i], guard->port);
        if (strcasecmp(host, wanted) == 0 || (guard->port == 80 && strcasecmp(host, names[i]) == 0))
            return true;
    }
    return false;
}

/* A missing Origin is allowed: a browser sends none with a plain GET of an address that was typed or opened. */
bool guard_origin_ok(const struct guard *guard, const char *origin)
{
    return !origin || (strncmp(origin, "http://", 7) == 0 && guard_host_ok(guard, origin + 7));
}

bool guard_site_ok(const char *site)
{
    return !site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
}

bool guard_token_ok(const struct guard *guard, const char *token)
{
    unsigned char differs = 0;
    if (!guard->token[0])
        return true;
    if (!token || strlen(token) != GUARD_TOKEN)
        return false;
    /* Does not stop at the first difference, because the time would reveal how many digits were right. */
    for (int i = 0; i < GUARD_TOKEN; i++)
        differs |= (unsigned char)(token[i] ^ guard->token[i]);
    return differs == 0;
}
