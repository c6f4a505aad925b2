/* show.h: one trial in full, for `best`, `show` and `append`. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "cli.h"

/* Print a trial: a line per filled column, a TSV row with header, or a JSON object. */
int cli_show_trial(const struct lineage_trial *trial, enum cli_format format);

#endif
