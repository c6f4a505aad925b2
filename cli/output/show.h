/* show.h: prints one trial in full, for `best`, `show` and `append`. */
#pragma once

#include "cli.h"

/*
 * Prints a trial: one line per filled column, a TSV row with a header, or a JSON object. If screen is a terminal, long
 * values are wrapped; NULL means not a terminal. With config, line and object have the margin of the score, if the noise is
 * known. Returns an exit status.
 */
int cli_show_trial(const struct lineage_trial *trial, const struct lineage_config *config, enum cli_format format,
                   struct cli_screen *screen);

/* Says what the verdict of a kept trial is worth while the noise is unknown (lineage_claim_text): as a line of the trial, as the key
 * "claim" of its object, or as a message to a person at a terminal. Nothing if there is nothing to say. */
void cli_show_claim(const struct cli_screen *screen, const struct lineage_store *store, const struct lineage_trial *trial);
void cli_json_set_claim(json_t *object, const struct lineage_store *store, const struct lineage_trial *trial);
void cli_say_claim(const struct lineage_store *store, const struct lineage_trial *trial);

/* Prints one more line in the same form; name and text must be escaped already. */
void cli_show_line(FILE *out, const struct cli_screen *screen, const char *name, const char *text, enum cli_style style);
