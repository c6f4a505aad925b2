/* mirror_internal.h: the members of struct mirror, for the files of this folder. */
#ifndef MIRROR_MIRROR_INTERNAL_H
#define MIRROR_MIRROR_INTERNAL_H

#include <sqlite3.h>

#include "mirror.h"

/* Statements are cached by the address of their text: at least as many as there are texts in all rooms that use SQL. */
#define MIRROR_STATEMENTS 80

#define MIRROR_APPLICATION_ID 0x6c6e6765 /* "lnge", in the head of the file */

/* lineage.db as a file at some moment; zeroed: there is none. */
struct mirror_file_state {
    uint64_t device, inode, size;
    int64_t changed_ns;
};

struct mirror_meta {
    struct mirror_position at;
    uint64_t last_offset;
    int64_t last_digest;
    uint64_t next_id; /* not counting the provisional row, which is in at.next_id */
    size_t id_width;
    int64_t provisional;
};

struct mirror {
    struct lineage_store *store;
    sqlite3 *db;
    bool on_disk;
    bool set_back;     /* the server of the log has lost rows that were read here */
    bool other_metric; /* the file was made before the store's settings named this score column */
    bool shared;       /* the file is in write-ahead mode */
    bool frozen;       /* the file may not be written: it is read without locks */
    bool damaged;      /* some page was found damaged */
    bool said_away;    /* the user was notified that answers are old, because the server cannot be reached */
    struct mirror_file_state file; /* when it was opened */
    unsigned mended;               /* how often the file was damaged */
    struct {
        const char *sql;
        sqlite3_stmt *stmt;
    } statements[MIRROR_STATEMENTS];
    size_t n_statements;
    bool loaded; /* meta was read from the file */
    struct mirror_meta meta;
    struct buf header;        /* the header record as in the log */
    struct row_layout layout; /* of the header */
    bool has_layout;
    struct tsv_reader *reader;
    struct arena notes_arena;      /* of the SQL function param() */
    struct lineage_error fallback; /* why memory is used, status LINEAGE_OK if it is not */
};

#endif
