/*
 * server_name.h: the name of a store on a server: a connection URI of libpq, with the store in it.
 *
 *     postgres://[USER@]HOST[:PORT]/DATABASE[/STORE][?KEYWORD=VALUE&...]      also postgresql://
 *
 * STORE is the second part of the path, or a keyword `store` (for names without a path, ?service=NAME&store=STORE);
 * without either it is "default". libpq interprets everything else. A password is refused, because the name is in
 * lineage.json, in the list of processes and in messages.
 */
#pragma once

#include "../fail.h"

#define SERVER_STORE_MAX 64

struct server_name {
    char *uri;   /* for libpq: without the store */
    char *shown; /* as given */
    char store[SERVER_STORE_MAX];
};

/* Whether a text that may be a directory names a store on a server. */
bool server_name_is(const char *text);

/* Returns LINEAGE_EINVAL for a text that is not such a name, for a password, a path of three parts, or an invalid store name. */
enum lineage_status server_name_parse(struct server_name *name, const char *text, struct lineage_error *err);
void server_name_release(struct server_name *name);

/*
 * Returns the directory of this machine for everything outside the log (mirror, outbox, telemetry, snapshots):
 * ${XDG_STATE_HOME:-~/.local/state}/lineage/STORE-DIGEST, where DIGEST is that of the name. Creates it and its
 * parents (for this user only), with a lineage.json that names the server, so that it is a store like any other. The
 * caller frees *dir.
 */
enum lineage_status server_name_make_dir(char **dir, const char *text, struct lineage_error *err);
