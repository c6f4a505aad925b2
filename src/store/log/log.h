/*
 * log.h: results.tsv as an append-only log of bytes.
 *
 * Invariants
 *   1. Bytes before the end of the last terminated record are never changed.
 *   2. A record is added by one write under an exclusive flock on the file itself; the header by the same
 *      write when the file is empty.
 *   3. After a failed append the file has the length it had before (truncated under the same lock); if even
 *      that fails the tail is torn and the next writer moves it aside.
 */
#ifndef LOG_LOG_H
#define LOG_LOG_H

#include "../format/arena.h"
#include "../internal.h"

struct log;

/* Open for reading; a missing file is an empty log. dir is for messages. */
enum lineage_status log_open(struct log **log, int dir_fd, const char *dir, struct lineage_error *err);
void log_close(struct log *log);

/* Identity and size of the file now. exists is false, and all else 0, when there is none. */
struct log_stat {
    bool exists;
    uint64_t device, inode, size;
    int64_t mtime_ns;
};
enum lineage_status log_stat(struct log *log, struct log_stat *stat, struct lineage_error *err);

/* Append bytes [offset, offset+length) to out; fewer if the file ends. */
enum lineage_status log_read(struct log *log, uint64_t offset, size_t length, struct buf *out,
                             struct lineage_error *err);

/*
 * Writers. log_lock opens for writing (creating the file), takes the lock, and makes sure that the name still
 * means this file; stat is the file's then. log_unlock releases; a file that was created and is still empty
 * is removed again, so that no other tool takes it for one that has a header.
 */
enum lineage_status log_lock(struct log *log, struct log_stat *stat, struct lineage_error *err);
void log_unlock(struct log *log);

/*
 * With the lock held: add bytes (whole records, the header first if the file is empty) with one write and
 * sync them if asked. On failure the file is as it was.
 */
enum lineage_status log_append(struct log *log, const char *bytes, size_t length, bool sync,
                               struct lineage_error *err);

/* Size of the locked file. */
uint64_t log_size(const struct log *log);

/*
 * With the lock held: bytes from `start` (end of the last good record) to the end of the file are torn.
 * Save them to results.tsv.torn-N, synced, then cut the file there. name receives that file's name.
 */
enum lineage_status log_move_torn(struct log *log, uint64_t start, char name[64], struct lineage_error *err);

#endif
