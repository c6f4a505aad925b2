/*
 * policy_source.h: opens a trained policy and its recipe from the argument that the user gives: a recipe, a checkpoint,
 * a snapshot directory, or the id of a trial.
 */
#pragma once

#include <trainer/train.h>

#include "cli.h"

/* Zero it and put POLICY_OPTIONS(&source) into the table of a command. */
struct policy_source {
    char *store, *checkpoint, *recipe_file, *threads; /* options */
    char **sets;

    struct trainer_recipe recipe;
    float *params;
    uint64_t steps;      /* number of updates in the policy's training */
    char path[PATH_MAX]; /* path of the checkpoint; "": the warm start was just trained */
};

#define POLICY_OPTIONS(p)                                                                                                        \
    {"directory", 'C', POPT_ARG_STRING, &(p)->store, 0, "the store (default: .)", "DIR"},                                        \
        {"checkpoint", 0, POPT_ARG_STRING, &(p)->checkpoint, 0, "another policy", "FILE"},                                       \
        {"recipe", 0, POPT_ARG_STRING, &(p)->recipe_file, 0, "another recipe", "FILE"},                                          \
        {"set", 0, POPT_ARG_ARGV, &(p)->sets, 0, "change a setting; repeatable", "PATH=VALUE"},                                  \
        {"threads", 0, POPT_ARG_STRING, &(p)->threads, 0, "threads (0: all processors)", "N"}

/*
 * Opens a RECIPE (with its start.checkpoint; without one the warm start is trained first, with progress on stderr), a
 * CHECKPOINT (with recipe.json beside it, else the defaults with the checkpoint's sizes), a snapshot directory, or
 * the ID of a trial. Returns CLI_GO_ON or an exit status; call policy_source_release in either case.
 */
int policy_source_open(struct policy_source *source, const char *what);
void policy_source_release(struct policy_source *source);

/*
 * Runs a command on one policy: parses the command line, calls `work` with the argument, and releases the source.
 * `work` opens the source itself after it has checked its options. Returns the exit status.
 */
typedef int policy_work_fn(void *context, const char *what);
int policy_command_run(struct policy_source *source, const struct cli_command *command, struct poptOption *options, int argc,
                       const char **argv, policy_work_fn *work, void *context);

/* Prints a failure of the trainer and returns its exit status. */
int policy_fail(const struct trainer_error *err);
