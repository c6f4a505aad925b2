/* provenance_read.h: reads and prints the provenance of a trial. */
#pragma once

#include "cli.h"

/* Writes the path of provenance/ID; returns false if the trial has none. */
bool provenance_path(char path[PATH_MAX], const struct lineage_store *store, const char *exp_id);

/* Whether this user may not read the provenance of the trial (NULL: of any), as in a store of several users. Says so. */
bool provenance_is_closed(const struct lineage_store *store, const char *exp_id);

/* Returns the trial's run.json (a new reference), or NULL if the file is missing or cannot be read. */
json_t *provenance_load(const struct lineage_store *store, const char *exp_id);

/* The deepest chain of reruns that is followed; provenance files can be edited, and two of them could name each other. */
enum { PROVENANCE_RERUNS_MAX = 64 };

/*
 * Follows a chain of reruns to the first trial, whose code all of them ran. *run (a reference that this function takes over)
 * becomes that trial's run.json, and id its exp_id. Returns false if one of them has no provenance; then *run is NULL and id
 * names the trial.
 */
bool provenance_origin(json_t **run, char id[LINEAGE_NAME_MAX], const struct lineage_store *store);

/* Prints the parts of run.json that users look for first, in the form of cli_show_trial. */
void provenance_print(const json_t *run, const struct cli_screen *screen);
