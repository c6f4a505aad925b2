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

/* Appends one row to a log on a server. If the server cannot be reached the row is kept, its exp_id is outbox-NUMBER,
 * and the result is still LINEAGE_OK. */
enum lineage_status outbox_append(struct appending *a, struct lineage_error *err);

void outbox_deliver_waiting(struct lineage_store *store);

/* Append the trials of a request that was read from its file. id receives the id of the row. */
struct snapshot;
enum lineage_status outbox_deliver(struct lineage_store *store, struct outbox_request *request, const struct lineage_trial *trial,
                                   const struct lineage_append_options *options, struct snapshot *snapshot,
                                   char id[OUTBOX_ID_MAX], struct lineage_error *err);
enum lineage_status outbox_deliver_many(struct lineage_store *store, struct outbox_request *request,
                                        const struct lineage_trial *trials, size_t n,
                                        const struct lineage_append_options *options, struct lineage_error *err);
