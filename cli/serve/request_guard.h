/*
 * request_guard.h: decides which requests are answered. A page of another site can make a browser send requests to
 * localhost, but it cannot choose Host (which stops a name that was rebound to 127.0.0.1), cannot hide its Origin or
 * the site that Sec-Fetch-Site states, and does not know the token.
 */
#pragma once

#include <stdbool.h>

enum { GUARD_TOKEN = 32 }; /* hexadecimal digits, 128 bits */

struct guard {
    _Atomic unsigned port; /* written once, while requests may come already; 0 until then, which refuses them */
    char token[GUARD_TOKEN + 1]; /* "" if no token is required */
};

/* Makes a random token. Returns false if the system has no random numbers. */
bool guard_make_token(struct guard *guard);

/* Whether Host names this server: 127.0.0.1, localhost or [::1] with its port. NULL means that the header is
 * missing. */
bool guard_host_ok(const struct guard *guard, const char *host);

/* Whether Origin is this server's or missing. */
bool guard_origin_ok(const struct guard *guard, const char *origin);

/*
 * Whether Sec-Fetch-Site allows the request: the header is missing (only browsers send it), or says that the user typed or
 * opened the address (none) or that this server's own page asked (same-origin). A link on another site is refused too.
 */
bool guard_site_ok(const char *site);

/* Whether the token is right. Its time does not depend on how many digits are right. */
bool guard_token_ok(const struct guard *guard, const char *token);
