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

#include "../internal.h"
#include "../format/arena.h"

struct log;

/* Open for reading; a missing file is an empty log. */
enum lineage_status log_open(struct log **log, int dir_fd, const char *dir, struct lineage_error *err);
void log_close(struct log *log);

/* Identity and size of the file now. exists is false when there is none. */
struct log_stat {
    bool exists;
    uint64_t device, inode, size;
    int64_t mtime_ns;
};
enum lineage_status log_stat(struct log *log, struct log_stat *stat, struct lineage_error *err);

/* Append bytes [offset, offset+length) to out; shorter if the file ends. */
enum lineage_status log_read(struct log *log, uint64_t offset, size_t length, struct buf *out,
                             struct lineage_error *err);

/*
 * Writers. log_lock opens for writing (creating the file), takes the lock and makes sure that the name still
 * means this file. log_append writes the record (header first if the file is empty) at the end, syncs if
 * asked, and undoes everything on failure. log_unlock releases.
 */
enum lineage_status log_lock(struct log *log, struct lineage_error *err);
enum lineage_status log_append(struct log *log, const char *header, size_t header_length,
                               const char *record, size_t length, bool sync, uint64_t *offset,
                               struct lineage_error *err);
void log_unlock(struct log *log);

/*
 * With the lock held: bytes from `start` (end of the last terminated record) to the end of the file are torn.
 * Save them to results.tsv.torn-<n>, synced, then cut the file there. name receives the file's name.
 */
enum lineage_status log_move_torn(struct log *log, uint64_t start, char name[64], struct lineage_error *err);

#endif
