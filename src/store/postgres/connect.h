/*
 * connect.h: making a connection, and what it means where that fails: nobody answers, which passes, or somebody says no,
 * which stays until the user changes something.
 */
#ifndef POSTGRES_CONNECT_H
#define POSTGRES_CONNECT_H

#include "libpq.h"

/*
 * A connection to the server that uri names, shown in messages. NULL and why:
 *     LINEAGE_EAWAY      not reached, lost on the way, or it starts, stops, has no room
 *     LINEAGE_EREFUSED   it knows no such database, does not let this user in, or TLS is not as the name asks; it is too old
 *     LINEAGE_EINVAL     libpq cannot make anything of the name, and nobody was asked
 * Takes as long as connect_timeout allows for each host, 5 seconds unless the name says otherwise.
 */
PGconn *connect_server(const struct libpq *pq, const char *uri, const char *shown, struct lineage_error *why);

/* Whether what a server refused with this SQLSTATE may go another time. */
bool connect_is_passing(const char *sqlstate);

/* Of what libpq says the first line: the others are advice, or about the next host. */
void connect_first_line(char *out, size_t size, const char *text);

#endif
