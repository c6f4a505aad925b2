/*
 * digest_file.h: .results.tsv.digests, which stores the digests of a log that is a file (log.h).
 *
 * Each append adds a line that states how many records the log has, where the last record ends, and its digest.
 */
#pragma once

#include "log.h"

/* Zero it except for dir_fd. */
struct digest_file {
    int dir_fd;
    struct digest_chain last;   /* last line of the file */
    uint64_t identity[2], size; /* file and size for which `last` is valid */
    bool renewed;               /* the digests of earlier rows are computed anew */
    bool cannot_note;           /* the file system has no extended attributes */
    bool told;                  /* the user was notified that the file cannot be continued */
};

/* Call it with the log claimed and its bytes up to `end` on disk: adds a line for the records since the last one. A
 * failure only means that this line is missing. The user is notified if the user can repair the cause. */
void digest_file_follow(struct digest_file *file, struct log *log, uint64_t end);

/* Implements log_is_whole. */
bool digest_file_is_whole(const struct digest_file *file, struct log *log, const struct tsv_record *record);

/* Implements log_knows. */
bool digest_file_knows(const struct digest_file *file, const char *bytes, size_t length);

/* Implements log_rows_beyond. */
uint64_t digest_file_rows_beyond(const struct digest_file *file, uint64_t rows);

/* Implements log_check_digests. whole, if not NULL, receives the lines before the first mismatch. */
enum lineage_status digest_file_check(struct digest_file *file, struct log *log, struct log_digests *digests, struct buf *whole,
                                      struct lineage_error *err);

/* Like digest_file_follow, but replaces the lines that do not match. */
enum lineage_status digest_file_rebuild(struct digest_file *file, struct log *log, struct log_digests *digests,
                                        struct lineage_error *err);
