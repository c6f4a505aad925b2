/* code_offer.h: sends the code of a trial to the server that holds the log. */
#pragma once

#include <lineage/verify.h>

#include "../internal.h"

/* Sends what the notes of a row name: the list, its files, and the trial's own diff; the diffs before it were sent with
 * their rows. Does nothing for a log that is a file. A failure is a notice, because the row must not wait for it. */
void code_offer(struct lineage_store *store, const char *notes);

/* ---- code_check.c: checks the stored code of all trials (lineage verify) ---- */

/*
 * Checks that each row's list, files and diffs exist and are sound, and that lineage_code/ contains nothing else than
 * sound objects. Objects that no row names are not reported, because a trial may be running. Writes nothing and fetches
 * nothing. Returns an error only if the check could not be done.
 */
enum lineage_status code_check(struct lineage_store *store, lineage_finding_fn *report, void *context, struct lineage_error *err);
