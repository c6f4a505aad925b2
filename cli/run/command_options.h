/* command_options.h: reads the settings of a command's trial from the options of `lineage run`. */
#pragma once

#include "run/command_settings.h"

/* The values that popt has read, one for each setting of the table. */
struct command_options {
    union {
        char *text;
        char **list;
        int flag;
    } given[COMMAND_SETTINGS_MAX];
    struct cli_texts texts; /* of parameters */
};

/* Writes the options to table, which has room for COMMAND_SETTINGS_MAX. Returns how many there are. */
size_t command_options_list(struct poptOption *table, struct command_options *options);

/* Reads the options into the trial, which borrows from them. Returns false after printing which option is wrong. */
bool command_options_read(struct command_trial *trial, struct command_options *options);
