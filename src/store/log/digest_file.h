/*
 * digest_file.h: .results.tsv.digests, where the digests of a log are kept that is a file (digest.h).
 *
 * A line for each time that rows came in: how many records the log had, where the last of them ends, and its digest.
 */
#ifndef LOG_DIGEST_FILE_H
#define LOG_DIGEST_FILE_H

#include "log.h"

/* Zeroed but for dir_fd. */
struct digest_file {
    int dir_fd;
    struct digest_chain last;   /* of its last line, */
    uint64_t identity[2], size; /* while it is still this file of this size */
    bool noted;                 /* on the log, that there are digests */
    bool told;                  /* that it cannot be gone on with */
};

/* With the log claimed and its bytes up to `end` on disk: add what the log has got since the last line. A failure costs
 * nothing but a line, and is told where a person can do something about it. */
void digest_file_follow(struct digest_file *file, struct log *log, uint64_t end);

/* log_check_digests. whole, or NULL, receives the lines before the first that does not hold. */
enum lineage_status digest_file_check(struct digest_file *file, struct log *log, struct log_digests *digests, struct buf *whole,
                                      struct lineage_error *err);

/* As digest_file_follow, but in the place of what does not hold. */
enum lineage_status digest_file_rebuild(struct digest_file *file, struct log *log, struct log_digests *digests,
                                        struct lineage_error *err);

#endif
