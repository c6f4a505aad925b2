/*
 * recipe_trials.h: what a night asks of the built-in trainer if its sweep lists recipes.
 *
 * Nights of commands must work where the trainer is not installed, so the rooms of a night know recipes only by this table.
 * `lineage-train` has one (night_with_trainer.c in cli/recipe_night); `lineage` has none and becomes lineage-train for a sweep of recipes.
 */
#pragma once

#include "sweep/night_sweep.h"
#include "trial/run_and_append.h"

/* A recipe as a night starts it. */
struct recipe_start {
    const struct trainer_recipe *recipe;
    const char *checkpoint;     /* what it starts from; "": nothing, so that it runs its own warm start */
    const uint64_t *fresh_seed; /* a seed other than the recipe's; NULL: the recipe's */
    const char *notes;          /* what the row says before the trial's own notes; "": nothing */
    const char *proposer;       /* NULL: the trial is in the sweep's list */
    bool crowded;               /* other trials may run on this machine at the same time */
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
