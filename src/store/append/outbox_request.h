/* outbox_request.h: one append to a log on a server, as written to the outbox (outbox.h). */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include <lineage/store.h>

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
