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
    int64_t provisional;
};

struct mirror {
    struct lineage_store *store;
    sqlite3 *db;
    bool on_disk;
    bool building; /* a new file, its only transaction open and not journalled */
    struct {
        const char *sql;
        sqlite3_stmt *stmt;
    } statements[MIRROR_STATEMENTS];
    size_t n_statements;
    struct mirror_meta meta;
    struct buf header;        /* the header record as in the file */
    struct row_layout layout; /* of the header */
    bool has_layout;
    struct tsv_reader *reader;
    struct lineage_error fallback; /* why memory is used, status LINEAGE_OK if it is not */
};

/* connection.c: opening, schema, falling back to memory. */
enum lineage_status mirror_connect(struct mirror *mirror, bool on_disk, struct lineage_error *err);
void mirror_disconnect(struct mirror *mirror);
void mirror_remove_files(struct mirror *mirror);
enum lineage_status mirror_end_build(struct mirror *mirror, struct lineage_error *err);
enum lineage_status mirror_exec(struct mirror *mirror, const char *sql, struct lineage_error *err);
enum lineage_status mirror_make_indexes(struct mirror *mirror, struct lineage_error *err);

/* meta.c: how far the mirror has read. */
enum lineage_status mirror_load_meta(struct mirror *mirror, char metric[LINEAGE_NAME_MAX],
                                     struct lineage_error *err);
enum lineage_status mirror_save_meta(struct mirror *mirror, struct lineage_error *err);
enum lineage_status mirror_set_header(struct mirror *mirror, const char *bytes, size_t length,
                                      struct lineage_error *err);

/* ingest.c: bytes of the log into rows. */
enum lineage_status mirror_ingest(struct mirror *mirror, const struct log_stat *stat, struct lineage_error *err);

/* insert.c: one trial, or one finding, into the tables. */
enum lineage_status mirror_insert(struct mirror *mirror, const struct lineage_trial *trial,
                                  const struct tsv_record *record, struct lineage_error *err);
enum lineage_status mirror_insert_finding(struct mirror *mirror, const struct tsv_record *record,
                                          enum row_fault fault, const char *exp_id, const char *text,
                                          struct lineage_error *err);

/* telemetry.c: telemetry/<exp_id>.json into step_metrics. */
enum lineage_status mirror_insert_telemetry(struct mirror *mirror, const struct lineage_trial *trial,
                                            struct lineage_error *err);

/* changes.c: whether the mirrored bytes are still what they were. *line is 0 if they are. */
enum lineage_status mirror_check_ends(struct mirror *mirror, const struct log_stat *stat, bool *same,
                                      struct lineage_error *err);
enum lineage_status mirror_first_change(struct mirror *mirror, uint64_t *line, struct lineage_error *err);

/* LINEAGE_EINVAL with the known names unless some trial has the parameter, or it is alpha, beta or gamma. */
enum lineage_status mirror_check_param(struct mirror *mirror, const char *name, struct lineage_error *err);

#endif
