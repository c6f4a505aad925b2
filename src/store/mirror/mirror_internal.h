/* mirror_internal.h: defines struct mirror for the files of this directory. */
#pragma once

#include <sqlite3.h>
#include <stddef.h>
#include <xxhash.h>

#include "mirror.h"
#include "seqs.h"

/* Size of the statement cache. Statements are cached by the address of their text, so this must be at least the number
 * of such texts in all modules that use SQL. */
#define MIRROR_STATEMENTS 160

#define MIRROR_APPLICATION_ID 0x6c6e6765 /* "lnge", in the header of the file */

/* The state of the file lineage.db at some moment. Zeroed: there is no file. */
struct mirror_file_state {
    uint64_t device, inode, size;
    int64_t changed_ns, touched_ns; /* of the contents, and of contents or inode; in the clock of the file system */
};

/* Where lineage.db is: beside the log, or in this user's state directory (mirror_place.h). */
struct mirror_place {
    int fd; /* of the directory */
    struct buf path;
    bool is_private;
    struct buf records; /* path of the records about this store; empty if they are not needed */
};

struct mirror_meta {
    struct mirror_position at;
    uint64_t last_offset;
    int64_t last_digest;
    uint64_t next_id; /* without the provisional row, which at.next_id counts */
    size_t id_width;
    int64_t provisional;
    int64_t judged; /* digest of the settings that verdicts were judged again with; 0: none was */
};

struct mirror {
    struct lineage_store *store;
    mirror_judge_fn *judge;
    sqlite3 *db;
    bool on_disk;
    bool in_file;      /* not on_disk: of a large log in a temporary file instead of memory */
    bool set_back;     /* the server of the log has lost rows that were read here */
    bool other_settings; /* the file was made for another score column or other seeds than the store's */
    bool shared;       /* the file is in write-ahead mode */
    bool writable;     /* the file could be opened for writing */
    bool thawed;       /* this handle has opened it for writing */
    bool in_a_hurry;   /* no statement waits for other processes */
    unsigned asking;   /* calls of mirror_ask that run, which ask again if the file changes meanwhile */
    bool frozen;       /* it is read without locks, while nothing writes it (mirror_file_is_settled) */
    bool damaged;      /* some page was found damaged */
    bool unusable;     /* the file, or a file beside it, could not be opened, read or written */
    bool said_away;    /* the user was notified that answers are old (server unreachable) */
    struct mirror_place place;
    int hold; /* the store's directory under a shared lock, while the file is open for writing: nobody replaces it; -1: none */
    struct mirror_file_state file; /* state of the file when it was opened */
    unsigned mended;               /* how often damage was found and mended */
    struct {
        const char *sql;
        sqlite3_stmt *stmt;
    } statements[MIRROR_STATEMENTS];
    size_t n_statements;
    bool loaded; /* meta was read from the file */
    struct mirror_meta meta;
    struct buf header;        /* the header record as in the log */
    struct row_layout layout; /* layout of the header */
    bool has_layout;
    struct tsv_reader *reader;
    struct arena notes_arena;      /* used by the SQL function param() */
    bool looked_for_conflict;      /* of a merge; a handle looks once */
    struct lineage_error fallback; /* why memory is used; status LINEAGE_OK if the disk is used */
};

/* ---- insert.c: collects parameters and inserts them in sorted order ---- */

/* A batch holds rows of param_rows, and the sums of param_values over these rows. A flush writes both. */
struct param_batch;

struct param_batch *param_batch_new(void); /* NULL if memory runs out */
void param_batch_free(struct param_batch *batch);

/* Sorts the batch before a flush, possibly in another thread. Nothing may be added to the batch meanwhile. */
void param_batch_sort(struct param_batch *batch);

enum lineage_status param_batch_flush(struct param_batch *batch, struct mirror *mirror, struct lineage_error *err);

/* ---- log_changes.c: checks whether the mirrored bytes of the log have changed since they were read ---- */

/* *same is true if the header and the last record are unchanged. If the file looks edited in place, every record must
 * be unchanged. */
enum lineage_status mirror_check_ends(struct mirror *mirror, const struct log_state *log, bool *same, struct lineage_error *err);

/* *line is the line of the first changed record, or 0 if no record has changed. The mirror must have read something
 * before. */
enum lineage_status mirror_first_change(struct mirror *mirror, uint64_t *line, struct lineage_error *err);

/* ---- record_digest.c: the digest that the mirror keeps of each record of the log ---- */

/* XXH3 of the bytes. The type is signed because SQLite's integers are; only the bits are compared. */
static inline int64_t record_digest(const char *bytes, size_t length)
{
    return (int64_t)XXH3_64bits(bytes, length);
}

/* ---- log_changes.c: loads and saves the record in lineage.db of how far the mirror has read ---- */

/* The meta of a mirror that has read nothing. */
struct mirror_meta mirror_meta_start(void);

/* Reads mirror->meta and the header from the database. *same: whether it was made for the store's score column and seeds. */
enum lineage_status mirror_load_meta(struct mirror *mirror, bool *same, struct lineage_error *err);
enum lineage_status mirror_save_meta(struct mirror *mirror, struct lineage_error *err);

/* mirror_set_header copies and parses the header record of the log; mirror_forget_header forgets it. */
enum lineage_status mirror_set_header(struct mirror *mirror, const char *bytes, size_t length, struct lineage_error *err);
void mirror_forget_header(struct mirror *mirror);

/* ---- ingest.c: turns new bytes of the log into rows of the mirror ---- */

/* Reads the log from the watermark to the size in `log`. The caller holds the transaction. */
enum lineage_status mirror_ingest(struct mirror *mirror, const struct log_state *log, struct lineage_error *err);

/* ---- insert.c: inserts one trial or one finding into the tables of the mirror ---- */

/* Inserts a trial with the digest of its record. Its parameters are added to `params`, and a flush of `params` writes
 * them to the tables. */
enum lineage_status mirror_insert(struct mirror *mirror, const struct lineage_trial *trial, const struct tsv_record *record,
                                  int64_t digest, struct param_batch *params, struct lineage_error *err);

/* Records the trial as the one of its night, if its notes name one and it was not aborted. */
enum lineage_status mirror_insert_night(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err);

/* Inserts a finding about a record. is_row tells that the record is still a valid trial. */
enum lineage_status mirror_insert_finding(struct mirror *mirror, const struct tsv_record *record, int64_t digest,
                                          enum row_fault fault, bool is_row, const char *exp_id, const char *text,
                                          struct lineage_error *err);

/* ---- apply_voids.c: makes void trials read as harness_abort ---- */

/* The rows of a sync that void a trial or take it back, in the order of the log. Zeroed: none. */
struct void_rows {
    struct mirror_seqs seqs;
};

/* Notes the row if it voids a trial. Returns false if memory runs out. */
bool void_rows_note(struct void_rows *rows, const struct lineage_trial *trial);
void void_rows_release(struct void_rows *rows);

/*
 * Changes the trials that the noted rows name, judges the trials again that were compared with them, computes the sums that
 * these trials are part of again, and forgets the rows. Everything before must be written: rows, parameters and sums. Adds the
 * trials that became kept or are not kept any more to `moved`. Without noted rows it judges again if the settings have changed.
 */
enum lineage_status void_rows_apply(struct void_rows *rows, struct mirror *mirror, struct mirror_seqs *moved,
                                    struct lineage_error *err);

/* The digest of the settings that verdicts depend on; never 0. */
int64_t void_rows_settings(const struct mirror *mirror);

/* Makes the sums again to which the trials of void_changes belong, without the row left_out (0: none), and empties void_changes. */
enum lineage_status mirror_recount(struct mirror *mirror, int64_t left_out, struct lineage_error *err);
