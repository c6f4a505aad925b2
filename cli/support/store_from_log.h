/* store_from_log.h: makes a store from a log that was kept by hand (lineage_import_log). */
#pragma once

#include "cli.h"

#include <lineage/verify.h>

struct store_from_log {
    const char *file; /* the log */
    const char *dir;  /* the new store; it may be the directory that holds the log as its results.tsv */
    struct lineage_config config;
    struct lineage_convert_options convert;
    lineage_finding_fn *report; /* of a row that is left out; the context is `file` */
};

/*
 * Makes the store. Its files are complete in a directory of their own before the first of them gets its final name, and
 * results.tsv gets its name last, so that a kill leaves either the old log or the store. If the log is results.tsv of
 * the store's directory itself, it stays there as results.tsv.original. Writes the numbers of rows to stats. Returns CLI_GO_ON, or an exit status after printing the error; then nothing was changed.
 */
int store_from_log(const struct store_from_log *from, struct lineage_import_stats *stats, bool *replaced);
