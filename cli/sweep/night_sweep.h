/*
 * night_sweep.h: a sweep and its trials.
 *
 * A sweep file (schema/sweep.schema.json) has a list of trials, a grid, or ranges from which trials are proposed; if it
 * has only ranges, the list is empty. A trial is a recipe of the built-in trainer or, if the file has a `command`, one
 * run of that command.
 */
#pragma once

#include <lineage/code.h>
#include <lineage/queue.h>

#include "propose/propose_ranges.h"
#include "run/command_trial.h"
#include "trial/one_trial.h"

struct recipe_trials;
struct trainer_recipe;
struct trainer_sweep;

/* The trainer has the same limits on the names and paths of its sweeps (cli/recipe_night checks it). */
enum { NIGHT_WHY_MAX = 768, NIGHT_PATH_MAX = 1024, NIGHT_NAME_MAX = 64, NIGHT_TRIAL_NAME_MAX = 256, NIGHT_TRIALS_MAX = 10000 };

/* What a trial starts from. */
enum night_parent {
    NIGHT_PARENT_BASE,  /* nothing but what its recipe or command says */
    NIGHT_PARENT_TRIAL, /* an earlier trial of the sweep */
    NIGHT_PARENT_OTHER  /* a trial of the store */
};

/* One trial of a night, either from the sweep's list or proposed. */
struct night_trial {
    const char *name;
    uint64_t key; /* digest of everything that decides the result, the parent included */
    enum night_parent parent;
    size_t parent_trial;     /* with NIGHT_PARENT_TRIAL: index of the parent in the list */
    const char *parent_name; /* with NIGHT_PARENT_OTHER: an exp_id, `best` or `draw` */
    const struct trainer_recipe *recipe; /* NULL: the trial is a command */
    const char *checkpoint;              /* what the recipe names to start from; NULL or "": nothing */
    uint64_t recipe_seed;
    uint64_t warm_start;   /* digest of the recipe's warm start, equal for trials that can share one; 0: it has none */
    double work, warm_work; /* of the trial and of its warm start, in units whose ratios count (trial_list.h) */
    json_t *command;                     /* the settings of a command; NULL: the trial is a recipe */

    char *proposer; /* NULL: the trial is in the sweep's list */
    char *replicates;    /* exp_id of the trial that this one runs again (trial_list.h); NULL: none */
    char *own_parent;    /* memory of its parent_name */
    uint64_t fresh_seed; /* with replicates: its seed */
    json_t *cost;   /* what its planner reported as the cost of the proposal; NULL: nothing */
    char *again;    /* why a proposed trial repeats an earlier one; NULL: no reason was given */
    double *x;      /* [ranges] setting of a proposed trial; NULL: it has none */
    char *exp_id;   /* id of the trial's row; NULL: the trial is still to be run */
    enum lineage_label label; /* of that row */
    bool is_settled;          /* it did not diverge or has run again, so a rerun need not ask for its row again */
    bool failed_before;       /* it has a row that does not count, and was not interrupted */
    bool at_work;             /* the trial runs in this process or in a child */
    struct lineage_claim *claim; /* NULL: this process holds no claim of the trial */
    bool lost; /* its process was killed without a row, or an agent has leased its setting: this night does not run it (again) */

    struct trainer_sweep *own; /* for a proposed recipe: a sweep of this trial only, which owns its texts; else NULL */
    void (*release_own)(struct trainer_sweep *own);
    char *own_name; /* of a command */
};

struct night_sweep {
    const char *file;
    char *directory;
    json_t *root; /* the file's JSON */
    char name[NIGHT_NAME_MAX];
    const struct recipe_trials *trainer; /* NULL: this program runs no recipes */
    bool of_commands;
    struct trainer_sweep *recipes; /* NULL: the file lists no recipes */
    void (*release_recipes)(struct trainer_sweep *recipes);
    struct night_trial *list; /* [n] */
    size_t n;
    uint64_t digest; /* of the whole sweep: its JSON, its recipe, and the bytes of its files */
    uint64_t files_digest; /* for commands: of the bytes of the files */
    uint64_t protected_digest; /* for commands: of the protected files at the start of the night (night_sweep.c) */
    size_t baseline_seeds; /* for commands: seeds of the first trial of a store; 0: as many as the others */
    const char **require; /* for recipes: requirements, ended by NULL; NULL: none. For commands they are settings of a trial */
    const char *prune; /* for recipes: trial/pruning.h; NULL: none */
    struct propose_space space; /* n is 0 without ranges */
    struct propose_plan plan;
};

/* Frees what the sweep owns. Trials that a trial list has taken over belong to that list. */
void night_sweep_release(struct night_sweep *sweep);

void night_trial_release(struct night_trial *trial);

/* Gives a trial that repeats another one a key of its own. Called again, it gives the next such key. */
void night_trial_rekey(struct night_trial *trial);

/* ---- command program ---- */

/* What a trial of a sweep runs, without its parameters: a digest of the command and the other settings
 * that decide the result, and of the bytes of the sweep's files.
 *
 * The row of each such trial names it in a piece of its notes, `program KEY`. A failure says nothing about a setting once
 * the command, a flag or a file was changed, and a score of another program cannot be compared. */

enum { COMMAND_PROGRAM_MAX = 17 }; /* 16 hexadecimal digits and NUL */

/* The digest of the bytes of all files that the sweep names; a missing file counts as empty. */
uint64_t command_files_digest(const struct night_sweep *sweep);

/* Writes the key for the settings of a trial (NULL: for the sweep's own), and returns out. */
const char *command_program(char out[COMMAND_PROGRAM_MAX], const struct night_sweep *sweep, const json_t *spec);

/* ---- night_sweep.c: the files that a sweep of commands protects (`protect`) ---- */

/* A name means a file where the commands work, a file that the sweep puts into each work directory (`files`), or both. */

/*
 * Adds to each `protect` of the sweep the names that its files have in a work directory: the name without "./" and the
 * like, and each of the sweep's `files` that is the same file under another name. Returns false if memory runs out.
 */
bool protected_names_add(struct night_sweep *sweep);

/* Whether the list protects the file of this name in a work directory. The list may be NULL. */
bool protected_names_has(const json_t *protect, const char *name);

/*
 * Reads the protected files of all trials, and remembers their digest. Returns CLI_GO_ON, or an exit status after printing
 * which of them is missing or not a regular file.
 */
int protected_names_check(struct night_sweep *sweep);

/* Returns false, with the reason in why, if the protected files are not those that protected_names_check has read. */
bool protected_names_same(const struct night_sweep *sweep, char why[NIGHT_WHY_MAX]);

/* ---- sweep_file.c: reads a sweep file, and turns proposals into trials ---- */

/*
 * Reads the file. Set sweep->trainer before. Returns CLI_GO_ON, CLI_NO if the file lists recipes without a trainer, or an exit status.
 * Call night_sweep_release in any case.
 */
int night_sweep_read(struct night_sweep *sweep, const char *file);

/*
 * Makes the trial of a proposal, {"params": {NAME: VALUE}, "parent", "hypothesis", "expected_delta"}, in which every
 * key except params is optional. Returns false, with the reason in why, if the sweep does not allow this trial. The
 * caller calls night_trial_release.
 */
bool night_sweep_make(struct night_trial *trial, const struct night_sweep *sweep, const json_t *proposal,
                      char why[NIGHT_WHY_MAX]);

/* Writes the value that a trial has in each range if its proposal does not set it; fallback [space.n]. */
void night_sweep_defaults(struct lineage_number *fallback, const struct night_sweep *sweep);

/* ---- sweep_of_commands.c ---- */

/* Sweeps whose trials are runs of a command (schema/sweep.schema.json, `command`): both listed
 * trials and proposed trials.
 *
 * A trial is one JSON object with all its settings: those of the file, overridden by the trial's own, and its parameters.
 * Its key is a digest of that object without the settings that do not change the result (name, hypothesis, expectation,
 * time limits), so a trial is recognized even if other parts of the file change. */

/* Settings that are true or false become the texts "true" and "false", as rows and imports have them. */
void night_spell_booleans(json_t *root);

/* Checks sweep->root and fills sweep->list. Returns CLI_GO_ON or an exit status. */
int night_command_read(struct night_sweep *sweep);

/* night_sweep_make for a sweep of commands. */
bool night_command_make(struct night_trial *trial, const struct night_sweep *sweep, const json_t *proposal,
                        char why[NIGHT_WHY_MAX]);

/* ---- sweep_words.c ---- */

/* Compares the placeholders in the words of a sweep's commands with its parameters, before a night starts. */

/*
 * Refuses a placeholder such as `{lrr}` that is nearly the name of a parameter which no word uses. Prints a notice for each
 * range that no word uses, unless the command can read it otherwise: from LINEAGE_PARAMS or LINEAGE_PARAM_NAME, which a
 * word or a file that a word names mentions. Returns CLI_GO_ON or an exit status. Does nothing for a sweep of recipes.
 */
int sweep_words_check(const struct night_sweep *sweep);

/* ---- finds the files from which a trial of a sweep of commands starts: those of its parent ---- */

struct trial_parent {
    char *snapshot; /* the parent's snapshot; NULL: not kept, or no parent */
    struct lineage_code code; /* the parent's stored code, if has_code */
    bool has_code;
};

/*
 * Finds snapshot and code of the trial exp_id; finds nothing for NULL, a trial without a parent. Returns CLI_GO_ON, CLI_NO with the
 * reason in why if the sweep names files and those of the parent are gone, or an exit status. Call trial_parent_release in any case.
 */
int trial_parent_find(struct trial_parent *parent, const struct night_sweep *sweep, struct lineage_store *store,
                      const char *exp_id, char why[NIGHT_WHY_MAX]);
void trial_parent_release(struct trial_parent *parent);

/* ---- trial_files.c ---- */

/*
 * Puts the files of a trial of a sweep of commands into its work directory: those that the sweep names (`files`), and those
 * that earlier diffs have added. Then applies the diff of a proposal to them.
 *
 * A file comes from the parent's snapshot if it is there, else from the parent's stored code, else from the directory of
 * the sweep. git applies the diff (`git apply`), without any configuration and outside of any repository.
 */

struct trial_files {
    const struct night_sweep *sweep;
    struct lineage_store *store;
    const struct trial_parent *parent;
    const json_t *spec; /* settings of the trial: `diff` and `protect` are read; NULL: those of the sweep */
};

/* Puts the files into dir. Returns false, with the reason in why, if a file is missing or the diff is refused. */
bool trial_files_put(const struct trial_files *files, const char *dir, char why[NIGHT_WHY_MAX]);

/* Like trial_files_put, but only as a test, in a temporary directory inside `place`. */
bool trial_files_try(const struct trial_files *files, const char *place, char why[NIGHT_WHY_MAX]);

/* Stores the code that trial_files_put has put into dir, and writes the piece of notes that names it; "" if the sweep
 * names no files. Returns false, with the reason in why. */
bool trial_files_keep(char note[LINEAGE_CODE_NOTE_MAX], const struct trial_files *files, const char *dir,
                      char why[NIGHT_WHY_MAX]);

/* Returns {NAME: TEXT} of the files before any diff is applied, as a new reference. */
json_t *trial_files_texts(const struct trial_files *files);

/* ---- what a night asks of the built-in trainer if its sweep lists recipes ---- */

/*
 * Nights of commands must work where the trainer is not installed, so the rooms of a night know recipes only by this table.
 * `lineage-train` has one (night_with_trainer.c in cli/recipe_night); `lineage` has none and becomes lineage-train for a sweep of recipes.
 */

/* A recipe as a night starts it. */
struct recipe_start {
    const struct trainer_recipe *recipe;
    const char *checkpoint; /* what it starts from; "": nothing, so that it runs its own warm start */
    const uint64_t *fresh_seed; /* a seed other than the recipe's; NULL: the recipe's */
    const char *notes; /* what the row says before the trial's own notes; "": nothing */
    const char *proposer; /* NULL: the trial is in the sweep's list */
    bool crowded; /* other trials may run on this machine at the same time */
};

struct recipe_trials {
    /*
     * Reads a sweep of recipes: the text, or the whole file if text is NULL. The caller releases *list. Returns false, with the
     * reason in why, if the trainer refuses the sweep.
     */
    bool (*read)(struct trainer_sweep **list, const struct night_sweep *sweep, const char *text, char why[NIGHT_WHY_MAX]);
    void (*release)(struct trainer_sweep *list);
    const char *(*name)(const struct trainer_sweep *list);
    size_t (*count)(const struct trainer_sweep *list);

    /* Trial i, which borrows from the list. */
    struct night_trial (*trial)(const struct trainer_sweep *list, size_t i);

    /* Passes every setting of a recipe to take. */
    void (*settings)(const struct trainer_recipe *recipe, void (*take)(void *context, const struct lineage_param *param),
                     void *context);

    /* Makes a directory (NULL: the current one) a store for recipes, or refuses a store that is not for them. Both return
     * CLI_GO_ON or an exit status. */
    int (*make_store)(const char *dir);
    int (*check_store)(struct lineage_store *store);

    /* Runs the recipe and appends its row, as trial_run_and_append does with the request. */
    int (*run)(struct lineage_store *store, struct trial_request *request, const struct recipe_start *start,
               struct trial_outcome *outcome, struct lineage_trial *row);

    /* Runs only the warm start of the recipe and keeps its checkpoint as the request says, as trial_run_unrecorded does. */
    bool (*run_warm_start)(const char *store_dir, struct trial_request *request, const struct recipe_start *start,
                           struct trial_outcome *outcome);
};
