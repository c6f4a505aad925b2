/* kept_token.h: the token of `lineage serve` in the user's state directory, so that a page reconnects to a server that was
 * started again. */
#pragma once

#include "serve/request_guard.h"

/*
 * Fills guard->token from ${XDG_STATE_HOME:-~/.local/state}/lineage/serve_token. If the file does not exist, or `fresh` is
 * set, makes a new token and writes it there; of two servers that start at once, both get the same one. Without a file that
 * only this user can read and write, the token is new and is not kept; *kept says which. Returns false if the system has no
 * random numbers.
 */
bool token_keep(struct guard *guard, bool fresh, bool *kept);
