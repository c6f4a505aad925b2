/* internal.h: the mirror's own parts. */
#ifndef MIRROR_INTERNAL_H
#define MIRROR_INTERNAL_H

#include "mirror.h"

#define MIRROR_STATEMENTS 64

struct mirror_meta {
    struct mirror_position at;
    int64_t mtime_ns;
    uint64_t last_offset;
    int64_t last_digest;
    uint64_t next_id; /* without the provisional row, which is in at.next_id */
    size_t id_width;
    int64_t provisional;
};

struct mirror {
    struct lineage_store *store;
    sqlite3 *db;
    bool on_disk;
    bool other_metric; /* the file was made before the store's settings named this score column */
    bool shared;       /* the file is in write-ahead mode */
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
enum lineage_status mirror_connect(struct mirror *mirror, bool on_disk, struct lineage_error *err);
enum lineage_status mirror_connect_anew(struct mirror *mirror, struct lineage_error *err);
/* Inside a transaction: everything out, and empty tables in. Others go on reading what was there.
 */
enum lineage_status mirror_start_anew(struct mirror *mirror, struct lineage_error *err);
void mirror_disconnect(struct mirror *mirror);
void mirror_share(struct mirror *mirror);
enum lineage_status mirror_exec(struct mirror *mirror, const char *sql, struct lineage_error *err);
enum lineage_status mirror_make_indexes(struct mirror *mirror, struct lineage_error *err);
enum lineage_status mirror_drop_indexes(struct mirror *mirror, struct lineage_error *err);

/* Run a bound statement that gives no rows, and reset it. */
enum lineage_status mirror_run(struct mirror *mirror, sqlite3_stmt *stmt,
                               struct lineage_error *err);

/* A last record without line end, whose row is taken out again at the next sync. */
enum lineage_status provisional_keep_sums(struct mirror *mirror, int64_t seq,
                                          struct lineage_error *err);
enum lineage_status provisional_undo(struct mirror *mirror, int64_t seq, struct lineage_error *err);

/* param_function.c: param(notes, key) in SQL: the value of one parameter, NULL if the trial has
 * none. */
enum lineage_status param_function_register(struct mirror *mirror, struct lineage_error *err);

/* meta.c: how far the mirror has read. */
struct mirror_meta mirror_meta_start(void);
enum lineage_status mirror_load_meta(struct mirror *mirror, char metric[LINEAGE_NAME_MAX],
                                     struct lineage_error *err);
enum lineage_status mirror_save_meta(struct mirror *mirror, struct lineage_error *err);
enum lineage_status mirror_set_header(struct mirror *mirror, const char *bytes, size_t length,
                                      struct lineage_error *err);

/* ingest.c: bytes of the log into rows. */
enum lineage_status mirror_ingest(struct mirror *mirror, const struct log_stat *stat,
                                  struct lineage_error *err);

/* Let the position know of an exp_id: numeric ones, with or without exp_, decide the next id and
 * its width. */
void mirror_note_id(struct mirror_position *at, const char *id);

/* insert.c: one trial, or one finding, into the tables. Parameters are collected and go in by
 * param_batch_flush. */
struct param_batch;
enum lineage_status mirror_insert(struct mirror *mirror, const struct lineage_trial *trial,
                                  const struct tsv_record *record, struct param_batch *params,
                                  struct lineage_error *err);
enum lineage_status mirror_insert_finding(struct mirror *mirror, const struct tsv_record *record,
                                          enum row_fault fault, bool is_row, const char *exp_id,
                                          const char *text, struct lineage_error *err);

/* param_batch.c: rows of param_rows, put in sorted. */
struct param_batch *param_batch_new(void);
void param_batch_free(struct param_batch *batch);
enum lineage_status param_batch_add(struct param_batch *batch, struct mirror *mirror,
                                    const struct lineage_trial *trial, struct lineage_error *err);
enum lineage_status param_batch_flush(struct param_batch *batch, struct mirror *mirror,
                                      struct lineage_error *err);

/* telemetry.c: telemetry/<exp_id>.json into step_metrics. */
enum lineage_status mirror_insert_telemetry(struct mirror *mirror,
                                            const struct lineage_trial *trial,
                                            struct lineage_error *err);

/* changes.c: whether the mirrored bytes are still what they were. *line is 0 if they are. */
enum lineage_status mirror_check_ends(struct mirror *mirror, const struct log_stat *stat,
                                      bool *same, struct lineage_error *err);
enum lineage_status mirror_first_change(struct mirror *mirror, uint64_t *line,
                                        struct lineage_error *err);

/* LINEAGE_EINVAL with the known names unless some trial has the parameter, or it is alpha, beta or
 * gamma. */
enum lineage_status mirror_check_param(struct mirror *mirror, const char *name,
                                       struct lineage_error *err);

#endif
