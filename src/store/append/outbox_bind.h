/*
 * outbox_bind.h: binds a request of the outbox to this user's machine and to the server. A directory from somebody else may
 * contain prepared requests, and a command that delivered them would append rows of that person under this user's rights. So a
 * request has a code that only this user's key can make (user_key.h), and it covers the name of the server.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct lineage_store;

/* Adds the server's name and the code to the request. Call it after every change of the request. Without a key the request gets
 * no code: it can be sent, but if it has to wait, only a user who says so has it delivered (lineage_sync_all). */
void outbox_bind(json_t *about, const struct lineage_store *store);

/* Whether the request was bound by this user, to the server of this store. */
bool outbox_is_bound(json_t *about, const struct lineage_store *store);
