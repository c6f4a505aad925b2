/*
 * internal.h: an open store. schema/ARCHITECTURE.md says which part of it does what, and tests/layering.sh which rooms a room uses.
 */
#pragma once

#include <lineage/store.h>

#include <sys/types.h>

#include "fail.h"

#define SCOPED_TRIAL RELEASED_BY(lineage_trial_release) struct lineage_trial

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
