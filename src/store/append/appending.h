/* appending.h: one append under way: what append.c does with it, for a log on a server as well (outbox.c). */
#ifndef APPEND_APPENDING_H
#define APPEND_APPENDING_H

#include "append_state.h"
#include "../files/snapshot.h"
#include "outbox.h"

struct appending {
    struct lineage_store *store;
    const struct lineage_append_options *options;
    const struct lineage_trial *given;
    struct lineage_trial checked; /* with the notes that its parameters become */
    struct lineage_trial trial;   /* and filled in: members are the caller's, or in arena */
    struct arena *arena;
    time_t clock; /* of the time that a row was given last */
    const char *timestamp;
    struct log_state end;
    struct snapshot *snapshot; /* NULL: none was asked for */
    bool wrote_telemetry;
    struct id_set *missing; /* of a batch: parents that are not there, without prefix; NULL: a row by itself */
    struct outbox_request *request; /* NULL: a log that is a file */
    bool kept;                      /* in the outbox, for the server is away */
};

static inline bool is_empty(const char *text)
{
    return !text || !*text;
}

/* Make ready: the state of the handle, an arena. */
enum lineage_status appending_begin(struct appending *a, struct lineage_error *err);

/* The row's own texts, and the notes that its parameters and statistics become. */
enum lineage_status appending_check(struct appending *a, const struct lineage_trial *trial, struct lineage_error *err);

/* Claim the log; add the row under the claim. */
enum lineage_status appending_claim(struct appending *a, struct lineage_error *err);
enum lineage_status appending_locked(struct appending *a, struct lineage_error *err);

/* What the row says of others, by what is known of them. */
enum lineage_status appending_fill_in(struct appending *a, struct lineage_error *err);

/*
 * Without the claim, where that will do (append_next.c). *done: it is known what became of the row; else nothing was added, and
 * the claim is to be taken.
 */
enum lineage_status appending_next(struct appending *a, bool *done, struct lineage_error *err);

/* Give it a time, if it has none. */
enum lineage_status appending_give_timestamp(struct appending *a, struct lineage_error *err);

#endif
