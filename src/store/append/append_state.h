/* append_state.h: what append keeps between two rows of one handle. */
#ifndef APPEND_APPEND_STATE_H
#define APPEND_APPEND_STATE_H

#include <time.h>

#include <lineage/notes.h>
#include <lineage/time.h>

#include "../internal.h"
#include "../format/arena.h"
#include "../log/log.h"
#include "id_set.h"
#include "outbox_file.h"

/* Rows that may wait for the mirror: what bounds the memory of a handle that only ever appends. */
#define APPEND_LAG 65536

/*
 * The end of the file as this handle left it. While the locked file is still exactly that, nothing of it has
 * to be read again before the next row. ids are those of rows the mirror has not seen yet.
 */
struct append_state {
    bool valid;
    struct log_state end;
    uint64_t next_id;
    size_t id_width;
    bool has_best;
    double best;
    char *best_id;
    struct id_set ids;
    struct id_set rooted; /* trials that are known to have all their ancestors in the log */
    struct id_set nights; /* trials of nights that the same rows are of, as append_has_night spells them */
    bool finish_line; /* the file ends in its header, without line end */
    bool parents_behind; /* rows behind the index name parents */
    bool follow_at_close;
    size_t score_column; /* which of the 17 holds the score */
    bool takes_core_metric; /* the file has another score column and no core_metric: one given is meant for it */
    struct outbox_file outbox; /* of a log on a server: what is on its way */
    bool outbox_waits;         /* this handle has left something in the outbox */
    /* Reused from row to row. */
    struct arena arena;
    struct buf bytes;
    time_t clock; /* of the last row that was given its time */
    char timestamp[LINEAGE_TIME_MAX];
};

/* store->append, made if there is none. */
enum lineage_status append_state_make(struct lineage_store *store, struct lineage_error *err);

/* Whether exactly this id is in the store. */
enum lineage_status append_has_id(struct lineage_store *store, const char *id, bool *found,
                                  struct lineage_error *err);

/* Whether some row, harness_abort apart, is of that trial of a night. */
enum lineage_status append_has_night(struct lineage_store *store, const struct lineage_night_link *night, bool *found,
                                     struct lineage_error *err);

/* Take note of a row behind the index; false without memory. */
bool append_note_row(struct lineage_store *store, const struct lineage_trial *trial);

/* Take note of a row just written; `end` is the state of the log now. */
void append_note(struct lineage_store *store, const struct lineage_trial *trial, const struct log_state *end);

/* The same for a row that was written behind rows which this handle has not read. */
void append_note_apart(struct lineage_store *store, const struct lineage_trial *trial);

/* Before a row is added: what the log will be behind it. */
void append_tell(struct lineage_store *store, const struct lineage_trial *trial);

/* Forget everything: the file is not what was thought. */
void append_forget(struct append_state *state);

/* Bring the mirror up to date and free the state. */
void append_close(struct lineage_store *store);

#endif
