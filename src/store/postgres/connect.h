/*
 * connect.h: connects to a server and classifies failures: either the server does not answer, which is temporary, or it
 * refuses, which lasts until the user changes something.
 */
#pragma once

#include "libpq.h"

/*
 * Connects to the server of uri; messages show `shown`. Returns NULL and sets *why:
 *     LINEAGE_EAWAY      not reached, lost on the way, or the server starts, stops or is full
 *     LINEAGE_EREFUSED   no such database, this user may not connect, TLS is not as the name asks, or the server is too
 *     old LINEAGE_EINVAL     libpq cannot read the name; no server was contacted
 * Takes as long as connect_timeout allows for each host: 5 seconds unless the name says otherwise.
 */
PGconn *connect_server(const struct libpq *pq, const char *uri, const char *shown, struct lineage_error *why);

/* Whether a statement that a server refused with this SQLSTATE may succeed later. */
bool connect_is_passing(const char *sqlstate);

/* The first line of a libpq message; the others are advice, or about the next host. */
void connect_first_line(char *out, size_t size, const char *text);
