/*
 * outbox.h: appends to a log on a server. Each is a request: a unique number and the rows, written to this machine's
 * disk before anything is sent. A request that did not reach an unreachable server is delivered later. A request that
 * the server may have added is looked up by its number first, so it is never added twice.
 *
 * While a trial waits, its id is outbox-NUMBER, and its files are named after that (telemetry is in the request).
 */
#pragma once

#include <lineage/store.h>

#include <jansson.h>

#include "appending.h"
#include "outbox_request.h"

struct log;
struct outbox_rows;

/* Appends one row to a log on a server. If the server cannot be reached the row is kept, its exp_id is outbox-NUMBER,
 * and the result is still LINEAGE_OK. */
enum lineage_status outbox_append(struct appending *a, struct lineage_error *err);

/* The steps of outbox_append, for append_many: outbox_request_make writes the request to disk, _name gives its number
 * to the log, _again tells whether to try again after a failure, _keep keeps it with a notice to the user, and _end
 * finishes it. */
enum lineage_status outbox_request_make(struct outbox_request *request, struct lineage_store *store,
                                        const struct outbox_rows *rows, size_t n, const bool *auto_status,
                                        const struct lineage_append_options *options, bool many, struct lineage_error *err);
void outbox_request_name(const struct outbox_request *request, struct log *log);
bool outbox_request_again(struct outbox_request *request, const struct log *log, enum lineage_status status);
bool outbox_is_away(const struct log *log, enum lineage_status status); /* a failure for which a request is kept */
enum lineage_status outbox_request_keep(struct outbox_request *request, struct lineage_store *store,
                                        const struct lineage_error *why, bool sync, struct lineage_error *err);
void outbox_request_end(struct outbox_request *request, const struct log *log, enum lineage_status status);

void outbox_deliver_waiting(struct lineage_store *store);

/* These functions serve a request that was read from its file: they read its number (false if it has none) and its
 * options, and append its trial now. id receives the id of the row. */
struct snapshot;
bool outbox_read_id(struct outbox_request *request, const char *id);
void outbox_read_options(struct lineage_append_options *options, const json_t *about);
enum lineage_status outbox_deliver(struct lineage_store *store, struct outbox_request *request, const struct lineage_trial *trial,
                                   const struct lineage_append_options *options, struct snapshot *snapshot,
                                   char id[OUTBOX_ID_MAX], struct lineage_error *err);
enum lineage_status outbox_deliver_many(struct lineage_store *store, struct outbox_request *request,
                                        const struct lineage_trial *trials, size_t n,
                                        const struct lineage_append_options *options, struct lineage_error *err);

/* Call them under the claim: they rename waiting files from the request's name to the row's name, and back. */
enum lineage_status outbox_request_place(struct appending *a, const char *exp_id, struct lineage_error *err);
void outbox_request_unplace(struct appending *a);
