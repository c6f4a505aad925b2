/*
 * appending.h: one append in progress, of a single row (append.c) or of each of many (append_many.c), into a file or
 * to a log on a server (outbox.c). The functions are in the order in which they are called.
 */
#pragma once

#include "append_state.h"
#include "../files/snapshot.h"
#include "catch_up.h"

struct outbox_request;

struct appending {
    struct lineage_store *store;
    const struct lineage_append_options *options;
    const struct lineage_trial *given;
    struct lineage_trial checked; /* the trial with its parameters written into its notes */
    struct lineage_trial trial;   /* the completed trial; its texts are the caller's or in arena */
    struct arena *arena;
    time_t clock; /* second of `timestamp` */
    const char *timestamp;
    struct log_state end;
    struct snapshot *snapshot; /* NULL if no snapshot was requested */
    bool wrote_telemetry;
    struct id_set *missing; /* missing parents of a batch, without prefix; NULL for a single row */
    struct outbox_request *request; /* NULL for a log that is a file */
    bool kept;                      /* kept in the outbox, because the server cannot be reached */
};

static inline bool is_empty(const char *text)
{
    return !text || !*text;
}

/* Prepares the state of the handle and the arena. */
enum lineage_status appending_begin(struct appending *a, struct lineage_error *err);

/* Checks the row's own texts, and writes its parameters and statistics into its notes. */
enum lineage_status appending_check(struct appending *a, const struct lineage_trial *trial, struct lineage_error *err);

/* Copies the snapshot that was asked for and sets a->snapshot, which the caller releases. Does nothing for a trial
 * that cannot be kept. */
enum lineage_status appending_copy_snapshot(struct appending *a, struct snapshot *snapshot, struct lineage_error *err);

/* appending_claim claims the log; appending_locked adds the row under the claim. */
enum lineage_status appending_claim(struct appending *a, struct lineage_error *err);
enum lineage_status appending_locked(struct appending *a, struct lineage_error *err);

/* Fills in the cells that depend on other rows (id, parent, delta, label), and the time if the row has none. */
enum lineage_status appending_fill_in(struct appending *a, struct lineage_error *err);
enum lineage_status appending_give_timestamp(struct appending *a, struct lineage_error *err);

/* appending_put_beside puts telemetry and snapshot in place for the row that is about to be written;
 * appending_take_back removes them if the row was not written. */
enum lineage_status appending_put_beside(struct appending *a, struct lineage_error *err);
void appending_take_back(struct appending *a);

/* The mirror is normally brought up to date at close and at the next read. This function does it earlier if waiting
 * would cost too much memory, or if the checks of the next row need it (any later id may be that of a missing
 * parent). */
void appending_follow(struct lineage_store *store, const struct lineage_append_options *options);

/* Copies the written row for the caller. Its parameters are parsed from its notes, so they have the canonical names
 * that every reader of the store sees. */
enum lineage_status appending_give_row(struct lineage_trial *row, struct appending *a, struct lineage_error *err);

/* Formats a short text (at most 511 bytes) into the arena. */
enum lineage_status appending_format_text(struct appending *a, const char **out, struct lineage_error *err, const char *format,
                                          ...) __attribute__((format(printf, 4, 5)));

/* Decides everything under the claim, as an append does, and then gives the claim back without writing. */
enum lineage_status appending_check_locked(struct appending *a, struct lineage_error *err);
