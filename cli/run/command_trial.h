/*
 * command_trial.h: a trial that runs a command, as `lineage run` and each trial of a sweep of commands do.
 *
 * The command finds its parameters as {NAME} in its arguments, as LINEAGE_PARAM_NAME, and in the JSON file
 * LINEAGE_PARAMS; its seed as {seed} and LINEAGE_SEED; a directory, which becomes the snapshot of a kept trial, as
 * {workdir} and LINEAGE_WORKDIR; the parent's snapshot, if there is one, as LINEAGE_PARENT_SNAPSHOT; and like every
 * trial the pipe for its events as LINEAGE_EVENTS (schema/events.schema.json).
 */
#pragma once

#include "cli.h"
#include "trial/one_trial.h"

/* Files that a finished trial must have written. */
struct command_artifact {
    const char *glob;
    double max_bytes; /* of each file, or of all files in a directory; 0: no limit */
};

/* `lineage run --dry-metrics` (run/dry_metrics.c). */
struct command_dry {
    const char *log; /* a saved log to read; NULL: run the command */
    enum cli_format format;
    size_t lines; /* end the command after this many lines; 0: not */
};

/* `lineage rescore`: a trial that finished is read again, and not run. */
struct command_rescore {
    const struct lineage_trial *was;
    const char *log;      /* what its command printed */
    const char *work;     /* its work directory, which becomes the snapshot; NULL: it was not kept */
    double began, ended;  /* in seconds since 1970: only files that were written in this time are its own */
};

/* Zero is the default of each member. Everything is borrowed, or owned by the trial (command_trial_own). */
struct command_trial {
    struct trial_identity identity;
    struct trial_settings settings;

    const char *const *argv; /* ended by NULL */
    const char *eval;        /* shell command that evaluates after the training; NULL: none */
    const char
        *sealed_eval; /* the same, but from a sealed copy of the protected files, and only its score counts (sealed_copy.c) */
    const char *preflight;   /* shell command that must succeed before the training; NULL: none */
    const struct lineage_param *params; /* [n_params] */
    size_t n_params;
    struct lineage_param *reseeded; /* params whose seeds follow that of the run; NULL: all keep their values */
    const struct lineage_param *in_force; /* [n_in_force] those of the row: params, and what it inherits; NULL: only params */
    size_t n_in_force;
    const char *const *environment;      /* NAME=VALUE, ended by NULL; NULL: none */
    const char *const *keep_environment; /* names of variables of this process to record, ended by NULL; NULL: none */
    const char *const *version_of;       /* shell commands whose output is recorded, ended by NULL; NULL: none */
    const char *const *protect;          /* files that must not change, ended by NULL; NULL: none */
    const struct command_artifact *artifacts; /* [n_artifacts] */
    size_t n_artifacts;
    const char *const *metric_regex; /* NAME=REGEX, ended by NULL; NULL: none (metrics/metric_lines.h) */
    const char *const *metric_take;  /* NAME=min, max, last or mean:N, ended by NULL; NULL: none */
    const char *const *metric_file;  /* NAME=PATH[#KEY], ended by NULL; NULL: none (metric_files.c) */
    const char *examples;  /* FILE[#NAME] of scores of single examples, in its work directory or where it works; NULL: none */
    const char *decide_by; /* "examples": their bar decides whether it is kept (run/examples.c); NULL: that of the store */
    const char *comparable;  /* names of conditions that the best trial must share (run/trial_conditions.c); NULL: none */
    const char *const *data; /* files and directories that are a condition of the trial, ended by NULL; NULL: none */
    size_t seeds;        /* number of runs, whose mean score counts; 0 is 1 */
    bool has_seed;       /* first_seed was set; it becomes a parameter of the row if there is only one run */
    uint64_t first_seed; /* the runs use consecutive seeds from this number; from 1 without has_seed */

    const char *sandbox;              /* "require" or "try" (command_sandbox.c); NULL: none */
    const char *const *sandbox_write; /* directories and files that it may write beside its own, ended by NULL; NULL: none */

    const char *const *sandbox_read;  /* places of keys that it may read nevertheless, ended by NULL; NULL: none */

    bool no_refs;        /* make no ref of its code in the repository */

    const char *parent_snapshot; /* directory of the parent's snapshot; NULL: none */
    const char *dir;             /* where the commands work; NULL: where this process works */
    const char *plan; /* the file of the night that runs it; NULL: none */
    const char *rerun_of;        /* exp_id of the trial that is run again, for which git is not queried; NULL: none */
    const char *refused;         /* why the trial cannot run, which becomes its row; NULL: it can */
    /* Puts files into the work directory (an absolute path). Returns false, with the reason in why, if that is
     * impossible; the trial then has a row (harness_abort). NULL: no files. */
    bool (*fill)(void *context, const char *workdir, char why[TRIAL_TEXT_MAX]);
    void *fill_context;
    struct trial_alive alive;
    const struct command_dry *dry; /* run nothing, or leave no row: only show what is read; NULL: a trial */
    const struct command_rescore *rescore; /* run nothing, and read the score of this trial again; NULL: a trial */
    bool quiet;
    const struct interrupts *interrupts;

    void **owned; /* [n_owned] memory that members point to */
    size_t n_owned;
};

/*
 * Checks settings that exclude or need each other. Returns false with a message in why [size] that names them as the options of
 * `run` or, if sweep is true, as the keys of a sweep file.
 */
bool command_trial_check(const struct command_trial *trial, bool sweep, char *why, size_t size);

/*
 * Takes ownership of memory, which is then freed with the trial. Returns it, or NULL if it is NULL or memory runs out.
 */
void *command_trial_own(struct command_trial *trial, void *memory);

/*
 * Sets in_force: the trial's own parameters, and those of its parent and further ancestors that no nearer trial has set. A trial of
 * `run` states only what it changed, and its row has all that is in force, so that every question about parameters finds them in the
 * row. The seed and the proposer belong to one trial and are not inherited. Returns false if memory runs out. A parent that is not
 * found has none.
 */
bool command_trial_inherit(struct command_trial *trial, struct lineage_store *store, const char *parent);

/* Frees what the trial owns; a zeroed trial is allowed. */
void command_trial_release(struct command_trial *trial);

/* ---- replaces {NAME} in the arguments of a command by values ---- */

/* What can be put in place of {NAME}: the parameters by their names, `seed` and `workdir`. */
struct command_values {
    const struct lineage_param *params;
    size_t n_params;
    uint64_t seed;
    const char *workdir;
};

/* Returns the text with its placeholders replaced (free); other braces are left unchanged. NULL: out of memory. */
char *placeholders_replace(const char *text, const struct command_values *values);

/*
 * Writes a parameter's value in the form used for arguments and environment variables: whole numbers without a point.
 * Returns out.
 */
#define COMMAND_VALUE_MAX 192
const char *command_value(char out[COMMAND_VALUE_MAX], const struct lineage_param *param);

/* ---- command_from_json.c: the settings of a command's trial ---- */

/*
 * Reads a trial of a sweep of commands, from which *trial borrows. environment: further NAME=VALUE, ended by NULL, or NULL.
 * Returns false when out of memory; call command_trial_release in either case.
 */
bool command_from_sweep(struct command_trial *trial, const json_t *spec, const char *const *environment);

/*
 * Reads run.json, from which the trial borrows, to run it again. dir, an absolute path, is the directory in which the trial's commands
 * will work; relative file names are relative to dir. A variable whose value was not recorded is taken from the
 * environment of this process, if set. Returns false after printing the error; call command_trial_release in either
 * case.
 */
bool command_from_provenance(struct command_trial *trial, const json_t *run, const char *dir);

/* ---- the files that a command has to leave (--artifact) ---- */

/*
 * Looks for the artifacts of a trial that has finished. If an artifact is missing, the trial failed. If an artifact is
 * too large, outcome->end is TRIAL_ARTIFACT_OVERRUN.
 */
void command_artifacts_judge(struct trial_outcome *outcome, const struct command_trial *trial,
                             const struct command_values *values);

/* ---- command_environment.c: makes the arguments and the environment of a command for one run ---- */

struct command_environment {
    const char **argv, **environment; /* ended by NULL */
    char **owned;                     /* [n_owned] all texts of the two lists */
    size_t n_owned;
};

/*
 * Replaces the placeholders in words, and makes the environment variables listed in command_trial.h, followed by `more`
 * (NULL: none). params is the path of the JSON file with the parameters, parent the parent's snapshot or NULL. Returns
 * false when out of memory; call command_environment_release in either case.
 */
bool command_environment_make(struct command_environment *made, const char *const *words, const char *const *more,
                              const struct command_values *values, const char *params, const char *parent);
void command_environment_release(struct command_environment *made);

/* ---- run_command.c: runs a command's trial and appends its row ---- */

/*
 * Runs the trial and appends its row; the caller releases *row. Returns CLI_GO_ON, or an exit status after printing why
 * there is no row. A command that cannot be started gets no row, because the caller has to correct the command.
 *
 * With trial->dry the store may be NULL: nothing is appended, and the exit status of the dry run is returned.
 *
 * A process can run only one trial at a time. To run several, fork first and open the store in each child.
 */
int command_trial_run(struct lineage_store *store, const struct command_trial *trial, struct trial_outcome *outcome,
                      struct lineage_trial *row);

/* ---- provenance.c: what a command was run from, in provenance/ID/ of each trial (schema/provenance.schema.json) ---- */

/* run.json         command, directory, commit, chosen environment, host, processors, GPUs, versions
 *     staged.diff      changes in the enclosing repository: the index against HEAD
 *     unstaged.diff    the files against the index
 *     parent.diff      the code of the parent, or of the best trial at the time, against this trial's
 *     untracked/       files that git neither tracks nor ignores, if they are few and small */

#define PROVENANCE_POOL ".files" /* in provenance/ of the store: untracked files, by their contents (git/work_tree_diff.c) */

/*
 * Makes the directory RUNNING_PROVENANCE in the work directory and fills it. Files of stores are not recorded as
 * untracked. The ref that keeps the code is named, but not made yet (code_ref.c). A directory outside of a repository, and a machine without
 * git, are not errors. *git is what was recorded of the repository (release it with json_decref), or NULL. sandbox is that of
 * the commands; its layers are recorded if the trial asked for one. conditions: see conditions_now. Returns false after printing the error.
 */
bool provenance_write(json_t **git, const char *workdir, struct lineage_store *store, const struct command_trial *trial,
                      const struct sandbox *sandbox, json_t *conditions);

/* ---- command_settings.c: the settings of a command's trial, one line each ---- */

/*
 * The options of `lineage run`, the keys of a sweep file, and the keys of run.json in provenance are read and written
 * by this table; tests/unit/cli_command_settings.c checks that the schemas and the environment variables agree with it.
 * A setting of a plain kind is added by a member of struct command_trial, a line in the table and a line in the
 * schemas.
 */

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

/* The option of a setting, for a command that takes it: a char ** gets the texts of a list, an int a flag, a char * any
 * other. */
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

/* Sets the member from JSON, from which it borrows. A value of a wrong type counts as missing. Returns false when out of
 * memory. */
bool command_setting_from_json(struct command_trial *trial, const struct command_setting *setting, json_t *value,
                               const struct command_source *source);

/* Checks a text, or one text of a list of texts. Returns false with a message in why[size] that says what is wrong with it. */
bool command_setting_check(const struct command_setting *setting, const char *text, char *why, size_t size);

/* Defaults: seconds between TERM and KILL, and minutes after which a trial without a score is warned about. */
enum { COMMAND_GRACE_SECONDS = 10, COMMAND_SCORE_MINUTES = 10 };

/* ---- command_options.c: reads the settings of a command's trial from the options of `lineage run` ---- */

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
