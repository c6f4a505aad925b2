/* show.h: one trial in full, for `best`, `show` and `append`. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "cli.h"

/*
 * Print a trial: a line per filled column, a TSV row with header, or a JSON object. On a screen that is a terminal long
 * values go on in further lines; NULL: not known to be one.
 */
int cli_show_trial(const struct lineage_trial *trial, enum cli_format format, struct cli_screen *screen);

/* A line in the form of those; name and text are harmless. */
void cli_show_line(FILE *out, const struct cli_screen *screen, const char *name, const char *text, enum cli_style style);

#endif
