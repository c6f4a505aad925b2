/*
 * internal.h: an open store, and which part of it does what. A room uses only those above it in this list.
 *
 *   fail.h      filling an error
 *   clock.h     the clock of timeouts
 *   format/     bytes to trials and back: text, numbers, TSV, header mapping, notes, configuration; opens no files
 *   files/      system calls on files (fs.h), where a store's files are (places.h), telemetry, snapshots
 *   log/        the rows as an append-only log of bytes: log.h the interface, log_file.c results.tsv
 *   postgres/   the same log on a server: log_postgres.c; pg.h a connection, server_name.h the name of such a store
 *   mirror/     lineage.db, the SQLite database built from the log, or one in memory: how it follows the log
 *   questions/  what can be asked about the trials, answered by the mirror; public functions that ask
 *   settings/   questions whose names may be settings in words: it joins questions/ and ideas/
 *   statistics/ how sure a verdict is: noise, thresholds, odds, computed from numbers alone
 *   evidence/   the trials that say so: repeated runs; it asks the questions of include/lineage only
 *   append/     the rules of an append (ids, parents, keep or discard, deltas), import, the outbox
 *   blobs/      files that trials start from, on a server
 *   code/       files and diffs that trials ran, named by their digests
 *   queue/      claims of the trials of a night
 *   move/       the log as bytes: export, exact import
 *   verify/     everything that can be wrong with a store, lineage.db included
 *   ideas/      what trials changed and what their texts say: changes, citations, similar trials, claims of novelty
 *   measured/   what trials changed in their programs, found by comparing files
 *   compare/    variants over seeds
 *   report/     what a store tells the planner of the next trial, as one struct
 *   facts/      what a log in words shows about its search
 *   render/     printers of a report: the session-start block in its styles
 *   store.c     opens a directory as a store and ties the parts together; status.c, paths.c
 *
 * mirror/, questions/ and verify/ are the only rooms that see sqlite3.h.
 */
#pragma once

#include <lineage/store.h>

#include <sys/types.h>

#include "fail.h"

struct mirror;
struct log;
struct append_state;
struct settings_state;
struct config_more;

struct lineage_store {
    char *dir;
    int dir_fd;
    pid_t owner; /* the process that opened it */
    struct lineage_config config; /* direction resolved, metric as configured or overridden */
    struct config_more *more;     /* the other settings, see format/config.h */
    unsigned configured_trials; /* newest_night as configured, while config has that of a night */
    struct lineage_open_options options;
    struct log *log;
    struct mirror *mirror;
    struct append_state *append; /* what this handle knows about the end of the log; created by the first append */
    struct settings_state *settings; /* settings in words that a question named; created by the first such question */
    bool settings_on; /* the question that is being asked finds their values in the mirror (questions/setting_rows.c) */
};

/* Returns LINEAGE_EINVAL in a forked child of the process that opened the store. Parent and child would share the
 * lock of the log, so both could take the same next id; SQLite forbids it as well. */
enum lineage_status store_check_owner(const struct lineage_store *store, struct lineage_error *err);

/* Sends a notice to the notice callback of the store; without a callback the notice is dropped. */
void store_notice(const struct lineage_store *store, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
