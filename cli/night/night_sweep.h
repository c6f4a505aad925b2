/*
 * night_sweep.h: the file of a sweep as a night reads it: a list of trials, and what a proposed one is made of.
 *
 * schema/sweep.schema.json. Trials are recipes of the built-in trainer, whose part of the file (trainer/sweep.h) the
 * trainer reads; or, where there is a `command`, runs of it (night_command.c). `ranges` and `propose` are the night's.
 * With ranges and without `trials` and `grid` the list is empty.
 */
#ifndef CLI_NIGHT_SWEEP_H
#define CLI_NIGHT_SWEEP_H

#include <trainer/sweep.h>

#include "cli.h"
#include "propose/propose_ranges.h"

enum { NIGHT_WHY_MAX = TRAINER_ERROR_TEXT_MAX + 256 };

/* One trial of a night: of the sweep's list, or proposed. */
struct night_trial {
    const char *name;
    uint64_t key; /* a digest of all that decides its result, its parent included */
    enum trainer_parent parent;
    size_t parent_trial;     /* TRAINER_PARENT_TRIAL */
    const char *parent_name; /* TRAINER_PARENT_OTHER: an exp_id, best or draw */
    const struct trainer_recipe *recipe; /* NULL: a command */
    json_t *command;                     /* what its run is made of */

    char *proposer; /* who proposed it; NULL: the list */
    double *x;      /* of a proposed trial: its place in the ranges, NULL if it has none */
    char *exp_id;   /* of its row, NULL if it is still to be run */
    enum lineage_label label; /* of that row */
    bool at_work;   /* right now */
    struct lineage_claim *claim; /* while it is this process's; NULL: it is not */
    bool lost;      /* whoever ran it was killed: without a row, and not to be tried again tonight */

    struct trainer_sweep *own; /* of a proposed recipe: the sweep of one that the texts above are in; else NULL */
    char *own_name;            /* of a command */
};

struct night_sweep {
    const char *file;
    char *directory;
    json_t *root;
    char name[TRAINER_NAME_MAX];
    bool of_commands;
    struct trainer_sweep *recipes; /* the list of recipes; NULL: there is none */
    struct night_trial *list;      /* [n]; it lives as long as the sweep's night */
    size_t n;
    size_t baseline_seeds; /* of commands: of the first trial of a store; 0: as of the others */
    struct propose_space space; /* n 0: no ranges */
    struct propose_plan plan;
};

/* Read it; CLI_GO_ON or an exit status. Release in any case. */
int night_sweep_read(struct night_sweep *sweep, const char *file);
void night_sweep_release(struct night_sweep *sweep);

/*
 * The trial that a proposal asks for, {"params": {NAME: VALUE}, "parent", "hypothesis", "expected_delta"}, of which all
 * but params may be missing. False with why if the sweep allows no such trial. night_trial_release.
 */
bool night_sweep_make(struct night_trial *trial, const struct night_sweep *sweep, const json_t *proposal,
                      char why[NIGHT_WHY_MAX]);
void night_trial_release(struct night_trial *trial);

/* Of the trainer's trial; the sweep that it is in must outlive it. */
struct night_trial night_trial_of(const struct trainer_trial *spec);

/* What a trial has that is not proposed, for the ranges; fallback [space.n]. */
void night_sweep_defaults(struct lineage_number *fallback, const struct night_sweep *sweep);

#endif
