/* append.h: what append keeps between two rows of one handle. */
#ifndef LOG_APPEND_H
#define LOG_APPEND_H

#include "../format/arena.h"
#include "../internal.h"
#include "log.h"

/* Rows that may wait for the mirror: what bounds the memory of a handle that only ever appends. */
#define APPEND_LAG 65536

struct tail_id;

/*
 * The end of the file as this handle left it. While the locked file is still exactly that, nothing of it has
 * to be read again before the next row. ids are those of rows the mirror has not seen yet.
 */
struct append_state {
    bool valid;
    struct log_stat end;
    uint64_t next_id;
    size_t id_width;
    bool has_best;
    double best;
    char *best_id;
    struct tail_id *ids; /* uthash table, in arena */
    size_t n_ids;
    struct arena arena;
    bool finish_line; /* the file ends in a sound row without line end */
    bool follow_at_close;
};

/* With the log locked and `end` its state then: make the state valid, mending a torn end on the way. */
enum lineage_status append_catch_up(struct lineage_store *store, const struct log_stat *end,
                                    struct lineage_error *err);

/* Whether exactly this id is in the store. */
enum lineage_status append_has_id(struct lineage_store *store, const char *id, bool *found,
                                  struct lineage_error *err);

/* Take note of a row just written; the file is `size` bytes long now. */
void append_note(struct lineage_store *store, const struct lineage_trial *trial, struct lineage_number score,
                 uint64_t size);

/* Forget everything: the file is not what was thought. */
void append_forget(struct append_state *state);

/* Bring the mirror up to date and free the state. */
void append_close(struct lineage_store *store);

#endif
