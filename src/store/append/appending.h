/*
 * appending.h: an append under way, of one row (append.c) or of each of many (append_many.c), into a file or into a log on a
 * server (outbox.c), in the order in which these take place.
 */
#ifndef APPEND_APPENDING_H
#define APPEND_APPENDING_H

#include "append_state.h"
#include "../files/snapshot.h"
#include "catch_up.h"
#include "outbox_request.h"

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

/* The snapshot that was asked for, into a->snapshot, which is to be released; nothing for a trial that cannot be kept. */
enum lineage_status appending_copy_snapshot(struct appending *a, struct snapshot *snapshot, struct lineage_error *err);

/*
 * Without the claim, where that will do (append_next.c). *done: it is known what became of the row; else nothing was added, and
 * the claim is to be taken.
 */
enum lineage_status appending_next(struct appending *a, bool *done, struct lineage_error *err);

/* Claim the log; add the row under the claim. */
enum lineage_status appending_claim(struct appending *a, struct lineage_error *err);
enum lineage_status appending_locked(struct appending *a, struct lineage_error *err);

/* What the row says of others, by what is known of them; its time, if it has none. */
enum lineage_status appending_fill_in(struct appending *a, struct lineage_error *err);
enum lineage_status appending_give_timestamp(struct appending *a, struct lineage_error *err);

/* Telemetry and snapshot to the row that is about to be written; away again, as it did not get in. */
enum lineage_status appending_put_beside(struct appending *a, struct lineage_error *err);
void appending_take_back(struct appending *a);

/*
 * The mirror follows at close and at the next read; here only where waiting would cost memory, or where the next
 * row's checks need it (a parent that was missing may be any id to come).
 */
void appending_follow(struct lineage_store *store, const struct lineage_append_options *options);

/*
 * The row as it stands in the file, as a copy for the caller: what notes say is parsed from them, so that settings have their
 * canonical names, as for every reader of the store.
 */
enum lineage_status appending_give_row(struct lineage_trial *row, struct appending *a, struct lineage_error *err);

/* A short text (512 bytes) in the arena. */
enum lineage_status appending_format_text(struct appending *a, const char **out, struct lineage_error *err,
                                          const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
