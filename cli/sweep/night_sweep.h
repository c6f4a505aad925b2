/*
 * night_sweep.h: a sweep and its trials.
 *
 * A sweep file (schema/sweep.schema.json) has a list of trials, a grid, or ranges from which trials are proposed; if it
 * has only ranges, the list is empty. A trial is a recipe of the built-in trainer or, if the file has a `command`, one
 * run of that command.
 *
 *   sweep_file          reads the file, and turns a proposal into a trial
 *   sweep_of_commands   the same for files with a `command`
 *   trial_files         the files that a sweep of commands puts into a trial's work directory
 *   protected_names     the files that a sweep protects from diffs and trials
 *   trial_list          the trials of a night: the sweep's list, then the proposed ones
 *   trial_rows          finds out which trials have a row
 *   checkpoint_files    the checkpoints that trials leave for later ones
 *   recipe_trials       what a night asks of the trainer if the sweep lists recipes
 *   shared_warm_start   the warm start that several recipes have in common
 *   replicate_trial     a trial that runs another one again
 *   forecast            how many seconds a trial will take
 */
#pragma once

#include <lineage/queue.h>

#include "cli.h"
#include "propose/propose_ranges.h"

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
    double work, warm_work; /* of the trial and of its warm start, in units whose ratios count (forecast.h) */
    json_t *command;                     /* the settings of a command; NULL: the trial is a recipe */

    char *proposer; /* NULL: the trial is in the sweep's list */
    char *replicates;    /* exp_id of the trial that this one runs again (replicate_trial.h); NULL: none */
    char *own_parent;    /* memory of its parent_name */
    uint64_t fresh_seed; /* with replicates: its seed */
    json_t *cost;   /* what its planner reported as the cost of the proposal; NULL: nothing */
    char *again;    /* why a proposed trial repeats an earlier one; NULL: no reason was given */
    double *x;      /* [ranges] setting of a proposed trial; NULL: it has none */
    char *exp_id;   /* id of the trial's row; NULL: the trial is still to be run */
    enum lineage_label label; /* of that row */
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
    uint64_t files_digest; /* for commands: of the bytes of the files (command_program.h) */
    uint64_t protected_digest; /* for commands: of the protected files at the start of the night (protected_names.h) */
    size_t baseline_seeds; /* for commands: seeds of the first trial of a store; 0: as many as the others */
    const char **require; /* for recipes: requirements, ended by NULL; NULL: none. For commands they are settings of a trial */
    const char *prune; /* for recipes: trial/prune_rule.h; NULL: none */
    struct propose_space space; /* n is 0 without ranges */
    struct propose_plan plan;
};

/* Frees what the sweep owns. Trials that a trial list has taken over belong to that list. */
void night_sweep_release(struct night_sweep *sweep);

void night_trial_release(struct night_trial *trial);

/* Gives a trial that repeats another one a key of its own. Called again, it gives the next such key. */
void night_trial_rekey(struct night_trial *trial);
