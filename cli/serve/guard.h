/*
 * guard.h: which requests are answered. A page on another site can make a browser send requests to localhost: it cannot
 * choose Host (which stops a name that was rebound to 127.0.0.1), its Origin is told, and it does not know the token.
 */
#ifndef SERVE_GUARD_H
#define SERVE_GUARD_H

#include <stdbool.h>

enum { GUARD_TOKEN = 32 }; /* hexadecimal digits: 128 bits */

struct guard {
    unsigned port;
    char token[GUARD_TOKEN + 1]; /* "" if none is asked for */
};

/* A random token; false if the system has no random numbers. */
bool guard_make_token(struct guard *guard);

/* Host names this server: 127.0.0.1, localhost or [::1] with its port. NULL: the header is missing. */
bool guard_host_ok(const struct guard *guard, const char *host);

/* Origin is this server's, or there is none. */
bool guard_origin_ok(const struct guard *guard, const char *origin);

/* The token is the one; compared in a time that does not tell how much of it was right. */
bool guard_token_ok(const struct guard *guard, const char *token);

#endif
