/* tail_reader.h: the records at the end of a claimed log, as trials. */
#pragma once

#include "../format/arena.h"
#include "../format/row.h"
#include "../format/tsv.h"
#include "../internal.h"
#include "../log/log.h"

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
