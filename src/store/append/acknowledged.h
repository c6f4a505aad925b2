/*
 * acknowledged.h: the rows of a log that is a file, repeated outside of the store. `git reset`, `git clean`, a checkout of another
 * branch or a mistyped `rm` may take results.tsv back or away. So this user's state directory has a copy of the rows and of the
 * settings of each store, under the path of the store: state/acknowledged/KEY/. With it the rows that are gone are named, their
 * ids are not given again, and lineage_restore puts them back.
 *
 * The copy is a help and not a second log: without a state directory, or for rows that another program wrote last, there is none.
 */
#pragma once

#include "../format/arena.h"
#include "../internal.h"
#include "../log/log.h"

/* The callback `acknowledged` of a log that is a file: copies the rows that the copy lacks. Call it under the claim; context is the
 * store. A failure only means that the copy has fewer rows. */
void acknowledged_note(void *context, const struct log_ack *ack);

/* Appends the records of the copy whose ids the log does not have to rows, and their ids to ids, as text for a person. Returns their
 * number, and raises log->next_id above their ids, at least to 1. Any buffer may be NULL. Costs two short reads if nothing is gone. */
size_t acknowledged_missing(struct lineage_store *store, struct buf *rows, struct buf *ids);

/* Whether a row with this id, in either spelling, was acknowledged and is gone. */
bool acknowledged_is_gone(struct lineage_store *store, const char *id);

/* Sends a notice if rows are gone. */
void acknowledged_tell(struct lineage_store *store);

/* Reads the copy of the settings of a store whose log the copy goes with. Returns false if there is none. */
bool acknowledged_settings(struct lineage_store *store, struct buf *text);

/* Copies the whole log again. Rows that are gone are forgotten. Call it under the claim. */
void acknowledged_renew(struct lineage_store *store);

/* Appends the path of runs.jsonl. Returns false unless a copy is in step with the log: another store may be at that path now. */
bool acknowledged_runs(struct buf *path, const struct lineage_store *store);

/* Calls each with the directory, and the bytes of rows, of every copy of a store that is not under its path any more if the log goes on
 * with its rows: the store was there before it was moved, or a copy of it was. */
typedef void acknowledged_moved_fn(void *context, int place, uint64_t size);
void acknowledged_each_moved(struct lineage_store *store, acknowledged_moved_fn *each, void *context);

/* Opens the directory of the copy and appends its path, with a slash; -1 if there is none. */
int acknowledged_open(struct lineage_store *store, struct buf *path);

/* The copy of a store whose directory has neither rows nor settings now. */
struct acknowledged_lost {
    size_t rows; /* 0: nothing */
    struct buf results, settings, place; /* its bytes, and the directory of the copy */
};
void acknowledged_find(struct acknowledged_lost *lost, const char *dir);
void acknowledged_lost_release(struct acknowledged_lost *lost);

/* Sets the copy aside, as results.tsv.before, because a new store begins in the directory. */
void acknowledged_set_aside(const char *dir);
