/*
 * outbox.h: appends to a log on a server. Each is a request: a number of its own and what is to be appended, written down on
 * this machine before anything is sent. What the server does not take, because it is away, is delivered later; what it may
 * have taken is asked for by its number, never sent again on a guess.
 *
 * While it waits a trial is called outbox-NUMBER, and so are its files (telemetry is in the request).
 */
#ifndef APPEND_OUTBOX_H
#define APPEND_OUTBOX_H

#include <lineage/store.h>

#include <jansson.h>

#include "appending.h"
#include "outbox_request.h"

struct log;
struct outbox_rows;

/* One row, or n of them, into a log on a server; with the server away it is kept, its exp_id is outbox-NUMBER, and that is
 * LINEAGE_OK too. */
enum lineage_status outbox_append(struct appending *a, struct lineage_error *err);

/*
 * The same in steps, for append_many: write down what `rows` are to become; take up the
 * claim's number; whether to try once more after a failure; keep it, said to the user, or have done with it.
 */
enum lineage_status outbox_request_make(struct outbox_request *request, struct lineage_store *store, const struct outbox_rows *rows,
                                        size_t n, const bool *auto_status, const struct lineage_append_options *options, bool many,
                                        struct lineage_error *err);
void outbox_request_name(const struct outbox_request *request, struct log *log);
bool outbox_request_again(struct outbox_request *request, const struct log *log, enum lineage_status status);
bool outbox_is_away(const struct log *log, enum lineage_status status); /* what a request is kept for */
enum lineage_status outbox_request_keep(struct outbox_request *request, struct lineage_store *store,
                                        const struct lineage_error *why, bool sync, struct lineage_error *err);
void outbox_request_end(struct outbox_request *request, const struct log *log, enum lineage_status status);

void outbox_deliver_waiting(struct lineage_store *store);

/* A request read from its file: its number (false if it has none), the options, and the trial to be appended now. id receives
 * that of the row. */
struct snapshot;
bool outbox_read_id(struct outbox_request *request, const char *id);
void outbox_read_options(struct lineage_append_options *options, const json_t *about);
enum lineage_status outbox_deliver(struct lineage_store *store, struct outbox_request *request, const struct lineage_trial *trial,
                                   const struct lineage_append_options *options, struct snapshot *snapshot,
                                   char id[OUTBOX_ID_MAX], struct lineage_error *err);
enum lineage_status outbox_deliver_many(struct lineage_store *store, struct outbox_request *request,
                                        const struct lineage_trial *trials, size_t n,
                                        const struct lineage_append_options *options, struct lineage_error *err);

/* Under the claim: files that wait under the request's name get that of the row, and back. */
enum lineage_status outbox_request_place(struct appending *a, const char *exp_id, struct lineage_error *err);
void outbox_request_unplace(struct appending *a);

#endif
