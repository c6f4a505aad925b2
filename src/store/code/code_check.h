/* code_check.h: checks the stored code of all trials (lineage verify). */
#pragma once

#include <lineage/verify.h>

#include "../internal.h"

/*
 * Checks that each row's list, files and diffs exist and are sound, and that lineage_code/ contains nothing else than
 * sound objects. Objects that no row names are not reported, because a trial may be running. Writes nothing and fetches
 * nothing. Returns an error only if the check could not be done.
 */
enum lineage_status code_check(struct lineage_store *store, lineage_finding_fn *report, void *context, struct lineage_error *err);
