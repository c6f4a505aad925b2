/* mirror_internal.h: the mirror's own parts. */
#ifndef MIRROR_INTERNAL_H
#define MIRROR_INTERNAL_H

#include "mirror.h"

/* Statements are cached by the address of their text: as many as there are texts in this directory. */
#define MIRROR_STATEMENTS 80

#define MIRROR_APPLICATION_ID 0x6c6e6765 /* "lnge", in the head of the file */

/* lineage.db as a file at some moment; zero: there is none. */
struct mirror_file_state {
    uint64_t device, inode, size;
    int64_t changed_ns;
};

struct mirror_meta {
    struct index_position at;
    uint64_t last_offset;
    int64_t last_digest;
    uint64_t next_id; /* without the provisional row, which is in at.next_id */
    size_t id_width;
    int64_t provisional;
};

struct index {
    struct lineage_store *store;
    sqlite3 *db;
    bool on_disk;
    bool set_back;     /* the log is on a server that has lost rows which were read here */
    bool other_metric; /* the file was made before the store's settings named this score column */
    bool shared;       /* the file is in write-ahead mode */
    bool frozen;       /* the file may not be written: it is read as it lies there */
    bool damaged;      /* a page is not what was written to it; seen while something else was wanted */
    bool said_away;    /* that answers are those of before, for the server of the log is away */
    struct mirror_file_state file; /* when it was opened */
    unsigned mended;               /* how often damage was met */
    struct {
        const char *sql;
        sqlite3_stmt *stmt;
    } statements[MIRROR_STATEMENTS];
    size_t n_statements;
    bool loaded; /* meta was read from the file */
    struct mirror_meta meta;
    struct buf header;        /* the header record as in the file */
    struct row_layout layout; /* of the header */
    bool has_layout;
    struct tsv_reader *reader;
    struct arena notes_arena;      /* of the SQL function param() */
    struct lineage_error fallback; /* why memory is used, status LINEAGE_OK if it is not */
};

/* connection.c: opening, schema, falling back to memory. */
enum lineage_status mirror_connect(struct index *mirror, bool on_disk, struct lineage_error *err);
enum lineage_status mirror_connect_anew(struct index *mirror, struct lineage_error *err);
/* A handle lives on after it ran out of memory: what could not be opened then, or ended, is now. */
enum lineage_status mirror_recover(struct index *mirror, struct lineage_error *err);
/* Inside a transaction: everything out, and empty tables in. Others go on reading what was there. */
enum lineage_status mirror_start_anew(struct index *mirror, struct lineage_error *err);
void mirror_disconnect(struct index *mirror);
void mirror_share(struct index *mirror);
void mirror_wait_no_more(struct index *mirror, bool no_more); /* for others who hold the file */
enum lineage_status mirror_exec(struct index *mirror, const char *sql, struct lineage_error *err);
enum lineage_status mirror_make_indexes(struct index *mirror, struct lineage_error *err);
enum lineage_status mirror_drop_indexes(struct index *mirror, struct lineage_error *err);

/* Run a bound statement that gives no rows, and reset it. */
enum lineage_status mirror_run(struct index *mirror, sqlite3_stmt *stmt,
                               struct lineage_error *err);

/*
 * A last record without line end may be half of what another tool is writing. Readers are shown it, because
 * editors leave sound rows without one; at the next sync it is taken out and read again. Its sums cannot be
 * subtracted (a smallest score has forgotten the second smallest, and floating sums do not undo), so those it
 * is going to change are kept aside first.
 */
enum lineage_status provisional_keep_sums(struct index *mirror, int64_t seq,
                                          struct lineage_error *err);
enum lineage_status provisional_undo(struct index *mirror, int64_t seq, struct lineage_error *err);

/* param_function.c: param(notes, key) in SQL: the value of one parameter, NULL if there is none. */
enum lineage_status param_function_register(struct index *mirror, struct lineage_error *err);

/* meta.c: how far the mirror has read. */
struct mirror_meta mirror_meta_start(void);
enum lineage_status mirror_load_meta(struct index *mirror, char metric[LINEAGE_NAME_MAX],
                                     struct lineage_error *err);
enum lineage_status mirror_save_meta(struct index *mirror, struct lineage_error *err);
void mirror_forget_header(struct index *mirror);
enum lineage_status mirror_set_header(struct index *mirror, const char *bytes, size_t length,
                                      struct lineage_error *err);

/* ingest.c: bytes of the log into rows. */
enum lineage_status mirror_ingest(struct index *mirror, const struct log_state *log,
                                  struct lineage_error *err);

/* Let the position know of an exp_id: numeric ones, with or without exp_, decide next id and width. */
void mirror_note_id(struct index_position *at, const char *id);

/* insert.c: one trial, or one finding, into the tables, with the digest of its record. Parameters go in by
 * param_batch_flush. */
struct param_batch;
enum lineage_status mirror_insert(struct index *mirror, const struct lineage_trial *trial,
                                  const struct tsv_record *record, int64_t digest, struct param_batch *params,
                                  struct lineage_error *err);
enum lineage_status mirror_insert_finding(struct index *mirror, const struct tsv_record *record,
                                          int64_t digest, enum row_fault fault, bool is_row, const char *exp_id,
                                          const char *text, struct lineage_error *err);

/*
 * param_batch.c: rows of param_rows and the sums of param_values over them, put in sorted. A flush writes both;
 * rows and sums, in this order and with nothing between that adds, are a flush in two steps.
 */
struct param_batch *param_batch_new(void);
void param_batch_free(struct param_batch *batch);
enum lineage_status param_batch_add(struct param_batch *batch, struct index *mirror,
                                    const struct lineage_trial *trial, struct lineage_error *err);
void param_batch_sort(struct param_batch *batch); /* ahead of a flush; nothing may be added meanwhile */
enum lineage_status param_batch_rows(struct param_batch *batch, struct index *mirror, struct lineage_error *err);
enum lineage_status param_batch_sums(struct param_batch *batch, struct index *mirror, struct lineage_error *err);
enum lineage_status param_batch_flush(struct param_batch *batch, struct index *mirror,
                                      struct lineage_error *err);

/* step_metrics.c: telemetry/<exp_id>.json into step_metrics. */
enum lineage_status mirror_insert_telemetry(struct index *mirror,
                                            const struct lineage_trial *trial,
                                            struct lineage_error *err);

/* changes.c: whether the mirrored bytes are still what they were. *line is 0 if they are. */
enum lineage_status mirror_check_ends(struct index *mirror, const struct log_state *log,
                                      bool *same, struct lineage_error *err);
enum lineage_status mirror_first_change(struct index *mirror, uint64_t *line,
                                        struct lineage_error *err);

/* names.c: LINEAGE_EINVAL with the known names unless some trial has the parameter, or it is alpha, beta
 * or gamma, which may be asked for before the first trial. */
enum lineage_status mirror_check_param(struct index *mirror, const char *name,
                                       struct lineage_error *err);

#endif
