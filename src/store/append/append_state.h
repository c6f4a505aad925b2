/* append_state.h: what a handle remembers from one appended row to the next. */
#pragma once

#include <time.h>

#include <lineage/notes.h>
#include <lineage/time.h>

#include "../internal.h"
#include "../format/arena.h"
#include "../log/log.h"
#include "id_set.h"
#include "outbox_file.h"
#include "verdict.h"

/* Maximum number of appended rows that the mirror has not read. It bounds the memory of a handle that only appends. */
#define APPEND_LAG 65536

/* The end of the log as this handle left it. While the claimed log still ends there, nothing has to be read before the
 * next row. `ids` are the ids of the rows that the mirror has not read. */
struct append_state {
    bool valid;
    struct log_state end;
    uint64_t next_id;
    size_t id_width;
    bool has_best;
    double best;
    char *best_id;
    struct verdict_setting best_setting;
    struct lineage_scatter scatter; /* of the scores that the mirror had when the best was loaded */
    struct two_scores scores; /* of a store with a second score */
    struct id_set ids;
    struct id_set rooted; /* trials whose ancestors are all known to be in the log */
    struct id_set nights; /* trials of nights that these rows record, as night_text writes them */
    bool finish_line; /* the log ends in its header, without a line end */
    bool voids_behind; /* a row that the mirror has not read voids a trial, so the best trial is unknown */
    bool parents_behind; /* some row that the mirror has not read names a missing parent */
    bool follow_at_close;
    size_t score_column; /* which of the 17 columns holds the score */
    bool takes_core_metric; /* the log has another score column and no core_metric, so a given core_metric is the score */
    struct outbox_file outbox; /* requests to a log on a server */
    bool outbox_waits;         /* this handle has left a request in the outbox */
    /* Reused from row to row. */
    struct arena arena;
    struct buf bytes;
    time_t clock; /* second of the last timestamp */
    char timestamp[LINEAGE_TIME_MAX];
};

/* Creates store->append if it does not exist. */
enum lineage_status append_state_make(struct lineage_store *store, struct lineage_error *err);

/* Whether exactly this id is in the store. */
enum lineage_status append_has_id(struct lineage_store *store, const char *id, bool *found, struct lineage_error *err);

/* Whether some row, except harness_abort, records that trial of a night. */
enum lineage_status append_has_night(struct lineage_store *store, const struct lineage_night_link *night, bool *found,
                                     struct lineage_error *err);

/* Notes a row that the mirror has not read; false if out of memory. */
bool append_note_row(struct lineage_store *store, const struct lineage_trial *trial);

/* Notes a row that was just written; `end` is the state of the log after it. */
void append_note(struct lineage_store *store, const struct lineage_trial *trial, const struct log_state *end);

/* Like append_note, for a row that was written after rows which this handle has not read. */
void append_note_apart(struct lineage_store *store, const struct lineage_trial *trial);

/* Whether the best trial may be another one after this row: it is kept, or it voids a trial. */
bool append_may_change_best(const struct lineage_trial *trial);

/* Call it before a row is added. It tells the log what the log's state will be after the row (log_after). */
void append_tell(struct lineage_store *store, const struct lineage_trial *trial);

/* Forgets everything, because the log is not as remembered. NULL is allowed. */
void append_forget(struct append_state *state);

/* Brings the mirror up to date and frees the state. */
void append_close(struct lineage_store *store);
