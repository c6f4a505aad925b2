/*
 * internal.h: an open store, and where its parts are. A room uses those above it in this list, never
 * those below.
 *
 *   fail.h     how everything says that it failed
 *   clock.h    what waits go by
 *   format/    bytes <-> trials: text, numbers, TSV, header mapping, notes, configuration; knows no files
 *   files/     system calls on files (fs.h), where a store's files are (places.h), telemetry, snapshots
 *   log/       the rows as an append-only log of bytes: log.h the interface, log_file.c results.tsv
 *   postgres/  the same in a database: log_postgres.c; pg.h a connection, server_name.h what such a store is called
 *   index/     index.h: what can be asked about the trials of a log; read.c, cursor.c, tree.c: the
 *              public questions on top of it
 *   mirror/    implements index.h: the SQLite mirror, on disk or in memory; alone sees sqlite3.h
 *   append/    the rules of an append (ids, parents, keep or discard, deltas), import
 *   blobs/     files that trials start from, on a server
 *   queue/     claims of the trials of a night
 *   move/      the log as bytes: export, exact import
 *   verify/    everything that can be wrong with a store
 *   compare/   variants over seeds
 *   report/    what a store has to say to whoever plans the next trial, as one struct
 *   render/    printers of a report: the session-start block in its styles
 *   store.c    opens a directory as a store and ties the parts together; status.c, paths.c
 */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <lineage/store.h>

#include <sys/types.h>

#include "fail.h"

struct index;
struct log;
struct append_state;

struct lineage_store {
    char *dir;
    int dir_fd;
    pid_t owner; /* the process that opened it */
    struct lineage_config config; /* direction resolved, metric as configured or overridden */
    struct lineage_open_options options;
    struct log *log;
    struct index *index;
    struct append_state *append; /* what this handle knows of the end of the file; made by the first append */
};

/*
 * LINEAGE_EINVAL in a child of the process that opened the store. Parent and child would share the lock of the log,
 * which is then none, and each believe that nobody else took the next id; SQLite forbids it as well.
 */
enum lineage_status store_check_owner(const struct lineage_store *store, struct lineage_error *err);

/* Tell the store's owner something; dropped when no notice callback was given. */
void store_notice(const struct lineage_store *store, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
