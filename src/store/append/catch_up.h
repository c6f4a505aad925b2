/* catch_up.h: bringing a writing handle up to date with the log. */
#pragma once

#include "../internal.h"

#include "../log/log.h"
#include "../format/arena.h"
#include "../format/row.h"
#include "../format/tsv.h"

/* Call it before the log is claimed. The mirror reads the new rows, which may take seconds; if it may lag, a few are left to the
 * caller, which then calls append_catch_up_and. */
enum lineage_status append_get_ready(struct lineage_store *store, bool may_lag, struct lineage_error *err);

/* Call it under the claim, with `end` the state of the log: makes store->append valid, and mends a torn record at the
 * end of the log, which changes *end. */
enum lineage_status append_catch_up(struct lineage_store *store, struct log_state *end, struct lineage_error *err);

/*
 * Calls append_catch_up, and after it then(context), which completes the new rows; `then` may be NULL. If lineage.db
 * turns out to be damaged, the mirror is rebuilt and both calls are repeated, because the best trial and the ids may
 * have been wrong.
 */
typedef enum lineage_status append_decide_fn(void *context, struct lineage_error *err);
enum lineage_status append_catch_up_and(struct lineage_store *store, struct log_state *end, append_decide_fn *then, void *context,
                                        struct lineage_error *err);

/* ---- the records at the end of a claimed log, as trials ---- */

/* Before the first tail_open, set the first two members and zero the others. */
struct tail {
    struct lineage_store *store;
    struct log_state *end; /* state of the log */
    struct tsv_reader *reader;
    struct buf bytes;   /* bytes of the log, from `from` to its end */
    struct arena arena; /* of one row */
    uint64_t from;
};

/* Reads the log from `from` to its end into bytes. */
enum lineage_status tail_open(struct tail *tail, uint64_t from, struct lineage_error *err);
void tail_close(struct tail *tail);

/* tsv_scan, except that a last record that ends in CR is not terminated: the CR may be half of CR LF. */
bool tail_next(struct tsv_scanner *scanner, struct tsv_record *record);

/* A record as a trial, valid until the next record is read. */
struct tail_row {
    struct lineage_trial trial;
    bool is_row;
    enum row_fault fault;
    const char *id; /* first cell, even if the record is not a row; NULL if it cannot be read */
};
enum lineage_status tail_read(struct tail *tail, const struct tsv_record *record, struct tail_row *row,
                              struct lineage_error *err);
