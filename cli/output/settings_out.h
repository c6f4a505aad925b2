/* settings_out.h: settings in words (lineage/settings.h) beside the trials of an answer, with their sources. */
#pragma once

#include <lineage/settings.h>

#include "cli.h"

/* In all functions, settings is NULL if the question named only columns and parameters. */

/* {NAME: [{"value", "text", "source", "set_by"}]} of one trial; NULL without settings. "set_by" is another trial for an
 * inherited value, "" for the value with which the log begins. */
json_t *cli_settings_json(const struct lineage_settings *settings, uint64_t seq);

/* {NAME: {SOURCE: TRIALS}} of the settings that were found; NULL if there are none. */
json_t *cli_settings_sources_json(const struct lineage_settings *settings);

/* Adds "muon_wd_mlp=0.115 (stated)" for each value of one trial, after a blank if `blank`. An inherited value names the
 * trial that set it: "(stated by 014)". */
void cli_settings_add(FILE *out, const struct lineage_settings *settings, uint64_t seq, bool blank);

/* Prints a line for each name: "muon_wd_mlp: 1 trial declares it, 5 trials state it", or a similar name if the log does
 * not have it. `before` begins each line. */
void cli_settings_explain(FILE *out, const struct lineage_settings *settings, const char *before);
