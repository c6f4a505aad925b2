/*
 * command_settings.h: the settings of a command's trial, one line each.
 *
 * The options of `lineage run`, the keys of a sweep file, and the keys of run.json in provenance are read and written
 * by this table; tests/unit/cli_command_settings.c checks that the schemas and the environment variables agree with it.
 * A setting of a plain kind is added by a member of struct command_trial, a line in the table and a line in the
 * schemas.
 */
#pragma once

#include "run/command_trial.h"

/* The plain kinds come first: their member is read and written by its offset. */
enum command_setting_kind {
    SETTING_TEXT,        /* const char * */
    SETTING_TEXTS,       /* const char *const *, ended by NULL */
    SETTING_FILES,       /* like SETTING_TEXTS; names of files, relative to the directory in which the command works */
    SETTING_AMOUNT,      /* double, from 0 */
    SETTING_COUNT,       /* size_t */
    SETTING_FLAG,        /* bool */
    SETTING_WORDS,       /* argv */
    SETTING_SEED,        /* first_seed and has_seed */
    SETTING_PARAMS,      /* params */
    SETTING_ENVIRONMENT, /* environment */
    SETTING_ARTIFACTS,   /* artifacts */
    SETTING_RECORDED     /* const char *const *; provenance records something about each (provenance.c) */
};

struct command_setting {
    const char *key;      /* key in a sweep file; NULL: a sweep cannot set it */
    const char *option;   /* option of `lineage run`; NULL: not an option */
    char letter;          /* short form of the option; 0: none */
    const char *recorded; /* key in run.json; NULL: not recorded */
    enum command_setting_kind kind;
    size_t offset;        /* offset of the member in struct command_trial */
    bool decides_result;  /* a different value makes a different trial of a sweep */
    const char *variable; /* environment variable that passes the value to the command; NULL: none */
    const char *argument, *help; /* of the option */
};

/* Returns the i-th setting, or NULL after the last setting. COMMAND_SETTINGS_MAX bounds their number. */
const struct command_setting *command_setting_at(size_t i);
enum { COMMAND_SETTINGS_MAX = 48 };

/* Returns the setting with this key in a sweep file, or NULL if there is none. */
const struct command_setting *command_setting_by_key(const char *key);

/* The option of a setting, for a command that takes it: a char ** gets the texts of a list, an int a flag, a char * any other. */
struct poptOption command_setting_option(const struct command_setting *setting, void *value);
bool command_setting_is_list(const struct command_setting *setting);

/* Return the address of the trial's member that holds the setting. */
void *command_setting_member(struct command_trial *trial, const struct command_setting *setting);
const void *command_setting_value(const struct command_trial *trial, const struct command_setting *setting);

/* Where the JSON of a setting comes from. */
struct command_source {
    const char *dir; /* of run.json: files are named relative to it; NULL: of a sweep */
    const char *const *environment; /* variables behind those of the object; NULL: none */
};

/* Sets the member from JSON, from which it borrows. A value of a wrong type counts as missing. Returns false when out of memory. */
bool command_setting_from_json(struct command_trial *trial, const struct command_setting *setting, json_t *value,
                               const struct command_source *source);

/* Checks a text, or one text of a list of texts. Returns false with a message in why[size] that says what is wrong with it. */
bool command_setting_check(const struct command_setting *setting, const char *text, char *why, size_t size);

/* Default seconds between TERM and KILL, and minutes until the warning that there is no score yet. */
enum { COMMAND_GRACE_SECONDS = 10, COMMAND_SCORE_MINUTES = 10 };
