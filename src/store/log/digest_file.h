/*
 * digest_file.h: .results.tsv.digests, which stores the digests of a log that is a file (digest.h).
 *
 * Each append adds a line: how many records the log has, where the last of them ends, and its digest.
 */
#ifndef LOG_DIGEST_FILE_H
#define LOG_DIGEST_FILE_H

#include "log.h"

/* Zero it except for dir_fd. */
struct digest_file {
    int dir_fd;
    struct digest_chain last;   /* its last line, */
    uint64_t identity[2], size; /* valid while it is this file of this size */
    bool noted;                 /* the attribute of the log says that there are digests */
    bool told;                  /* a notice said that it cannot be continued */
};

/* Call it with the log claimed and its bytes up to `end` on disk: adds a line for the records since the last one.
 * After a failure only that line is missing; the user is notified if he can do something about it. */
void digest_file_follow(struct digest_file *file, struct log *log, uint64_t end);

/* log_check_digests. whole, if not NULL, receives the lines before the first mismatch. */
enum lineage_status digest_file_check(struct digest_file *file, struct log *log, struct log_digests *digests, struct buf *whole,
                                      struct lineage_error *err);

/* Like digest_file_follow, but replaces the lines that do not match. */
enum lineage_status digest_file_rebuild(struct digest_file *file, struct log *log, struct log_digests *digests,
                                        struct lineage_error *err);

#endif
