/*
 * internal.h: what the parts of the store share.
 *
 *   format/   bytes <-> trials: text, numbers, TSV, header mapping, notes, configuration   (knows no files)
 *   log/      results.tsv: every system call, the lock, append, torn records, snapshots    (uses format)
 *   mirror/   SQLite: schema, incremental sync, queries, verify; alone sees sqlite3.h      (uses log, format)
 *   render/   the session-start block                                                      (uses mirror's queries)
 */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <lineage/store.h>

struct mirror;
struct log;
struct append_state;

struct lineage_store {
    char *dir;
    int dir_fd;
    struct lineage_config config; /* direction resolved, metric as configured or overridden */
    struct lineage_open_options options;
    struct log *log;
    struct mirror *mirror;
    struct append_state *append; /* what this handle knows of the end of the file; made by the first append */
};

/* Fill *err (if not NULL) and return status. store_fail_errno appends ": strerror(errno)" and keeps errno. */
enum lineage_status store_fail(struct lineage_error *err, enum lineage_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum lineage_status store_fail_errno(struct lineage_error *err, enum lineage_status status,
                                     const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Tell the store's owner something; dropped when no notice callback was given. */
void store_notice(const struct lineage_store *store, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
