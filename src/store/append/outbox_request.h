/* outbox_request.h: one append to a log on a server, as written to the outbox (outbox.h). */
#pragma once

#include <jansson.h>

#include <lineage/store.h>

#include "../format/row.h"
#include "outbox_file.h"

struct appending;
struct log;
struct outbox_rows;

enum { OUTBOX_ID_MAX = 48 };

struct outbox_request {
    unsigned char number[16];
    char id[OUTBOX_ID_MAX]; /* outbox-NUMBER */
    json_t *about;          /* contents of its file */
    struct outbox_file *file;
    unsigned tries;
    bool delivered;         /* sent by a later command, from the outbox */
};

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

/* Read the number (false if it has none) and the options of a request from its file. */
bool outbox_read_id(struct outbox_request *request, const char *id);
void outbox_read_options(struct lineage_append_options *options, const json_t *about);

/* Whether the append has a snapshot or telemetry, and moves what waits under one name to another (outbox_request.c). */
bool outbox_has_files(const struct appending *a);
void outbox_move_files(int dir_fd, const char *from, const char *to);

/* Call them under the claim: they rename waiting files from the request's name to the row's name, and back. */
enum lineage_status outbox_request_place(struct appending *a, const char *exp_id, struct lineage_error *err);
void outbox_request_unplace(struct appending *a);

/* ---- binds a request of the outbox to this user's machine and to the server ---- */

/* A directory from somebody else may
 * contain prepared requests, and a command that delivered them would append rows of that person under this user's rights. So a
 * request has a code that only this user's key can make (outbox_request.c), and it covers the name of the server. */

struct lineage_store;

/* Adds the server's name and the code to the request. Call it after every change of the request. Without a key the request gets
 * no code: it can be sent, but if it has to wait, only a user who says so has it delivered (lineage_sync_all). */
void outbox_bind(json_t *about, const struct lineage_store *store);

/* Whether the request was bound by this user, to the server of this store. */
bool outbox_is_bound(json_t *about, const struct lineage_store *store);

/* ---- rows of a request ---- */

/* The trials of a request as text: records in the form of results.tsv, with the 17 columns and the
 * trials' extra columns. On delivery, only extra columns that the log has are written to it. */

struct outbox_rows {
    struct buf header; /* empty if the rows need only the 17 columns */
    struct buf records;
    struct row_layout layout;
};

/* Starts the text with a header of the columns that these trials need; then add one record after another. Zero `rows`
 * before the call. */
enum lineage_status outbox_rows_begin(struct outbox_rows *rows, const struct lineage_trial *trials, size_t n,
                                      struct lineage_error *err);
enum lineage_status outbox_rows_add(struct outbox_rows *rows, const struct lineage_trial *trial, struct lineage_error *err);
void outbox_rows_release(struct outbox_rows *rows);

/* Reads the trials of a request (its members `rows` and `header`) into the arena. Returns LINEAGE_ECORRUPT unless the
 * member `auto` has one value for each trial. */
enum lineage_status outbox_rows_read(const json_t *about, struct arena *arena, struct lineage_trial **trials, size_t *n,
                                     struct lineage_error *err);
