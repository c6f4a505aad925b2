/* nearest_tried.h: what is known about a setting that no trial has as a whole: the trials that have most of it. */
#pragma once

#include <lineage/query.h>

#include "cli.h"

/*
 * Returns at most `limit` trials that meet some of the conditions on parameters, as [{"exp_id", "has", "lacks", "outcome"}]
 * (json_decref); NULL when out of memory. Trials that meet more conditions come first, among equals failures, then newer
 * trials. harness_abort does not count. A failure's outcome is its reason.
 */
json_t *cli_nearest_tried(struct lineage_store *store, const struct lineage_condition *conditions, size_t n, size_t limit);

/* Returns the text as a literal of SQL, because the store's SQL has no bound parameters; free it. NULL: out of memory. */
char *cli_sql_quote(const char *text);

/* Returns the tried values of a parameter or a setting in words that are next to a number (one below, or equal, and one above),
 * or, with wanted NULL, the texts that were tried, eight at most. Values of harness_abort trials alone are left out. */
json_t *cli_nearest_values(struct lineage_store *store, const char *name, const double *wanted);
