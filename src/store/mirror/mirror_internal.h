/* mirror_internal.h: defines struct mirror for the files of this directory. */
#pragma once

#include <sqlite3.h>

#include "mirror.h"

/* Size of the statement cache. Statements are cached by the address of their text, so this must be at least the number
 * of such texts in all modules that use SQL. */
#define MIRROR_STATEMENTS 120

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

/* What the mirror of a night is about. */
struct mirror_part {
    uint64_t *keys; /* [n] of the trials of the night, ascending */
    size_t n;
    unsigned asking; /* callers between mirror_part_begin and mirror_part_end */
};

struct mirror {
    struct lineage_store *store;
    mirror_judge_fn *judge;
    sqlite3 *db;
    bool on_disk;
    bool in_file;      /* not on_disk: of a large log in a temporary file instead of memory */
    bool set_back;     /* the server of the log has lost rows that were read here */
    bool other_metric; /* the file was made for another score column than the store's */
    bool shared;       /* the file is in write-ahead mode */
    bool writable;     /* the file could be opened for writing */
    bool thawed;       /* this handle has opened it for writing */
    unsigned asking;   /* calls of mirror_ask that run, which ask again if the file changes meanwhile */
    bool frozen;       /* it is read without locks, while nothing writes it (mirror_file_is_settled) */
    bool damaged;      /* some page was found damaged */
    bool unusable;     /* the file, or a file beside it, could not be opened, read or written */
    bool may_cancel;   /* the caller's function may cancel the statement that runs */
    bool endless;      /* a statement ran for longer than the log can explain */
    uint64_t log_size; /* when a sync last looked at the log */
    uint64_t looks;    /* how often the progress of the statement was looked at */
    bool said_away;    /* the user was notified that answers are old (server unreachable) */
    struct mirror_part *part; /* NULL: all rows of the log are mirrored */
    unsigned generation;      /* how often a part was completed */
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
    struct lineage_error fallback; /* why memory is used; status LINEAGE_OK if the disk is used */
};
