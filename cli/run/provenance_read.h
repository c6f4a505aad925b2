/* provenance_read.h: what is recorded of where a trial came from. */
#ifndef CLI_PROVENANCE_READ_H
#define CLI_PROVENANCE_READ_H

#include <limits.h>

#include "cli.h"

/* The directory provenance/ID of the trial; false if it has none. */
bool provenance_path(char path[PATH_MAX], const struct lineage_store *store, const char *exp_id);

/* Its run.json (a new reference); NULL if it has none or it cannot be read. */
json_t *provenance_load(const struct lineage_store *store, const char *exp_id);

/* The lines of it that a person asks for first, in the form of cli_show_trial. */
void provenance_print(const json_t *run, const struct cli_screen *screen);

#endif
