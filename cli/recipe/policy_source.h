/*
 * policy_source.h: a trained policy and the recipe that belongs to it, from what a person has at
 * hand: a recipe, a checkpoint, a snapshot directory, or the id of a trial.
 */
#ifndef CLI_POLICY_SOURCE_H
#define CLI_POLICY_SOURCE_H

#include <limits.h>

#include <trainer/train.h>

#include "cli.h"

/* Zero it and put POLICY_OPTIONS(&source) into the table of a command. */
struct policy_source {
    char *store, *checkpoint, *recipe_file, *threads; /* options */
    char **sets;

    struct trainer_recipe recipe;
    float *params;
    uint64_t steps;      /* updates that made it */
    char path[PATH_MAX]; /* of the checkpoint; "" if the warm start was trained here and now */
};

#define POLICY_OPTIONS(p)                                                                          \
    {"directory", 'C', POPT_ARG_STRING, &(p)->store, 0, "the store (default: .)", "DIR"},          \
        {"checkpoint", 0, POPT_ARG_STRING, &(p)->checkpoint, 0, "another policy", "FILE"},         \
        {"recipe", 0, POPT_ARG_STRING, &(p)->recipe_file, 0, "another recipe", "FILE"},            \
        {"set", 0, POPT_ARG_ARGV, &(p)->sets, 0, "change a setting; repeatable", "PATH=VALUE"},    \
    {                                                                                              \
        "threads", 0, POPT_ARG_STRING, &(p)->threads, 0, "threads (0: all processors)", "N"        \
    }

/*
 * RECIPE (its start.checkpoint, else its warm start is trained first, with progress on stderr),
 * CHECKPOINT (recipe.json beside it, else the defaults with the checkpoint's sizes), snapshot
 * directory or ID. CLI_GO_ON or an exit status. Release in any case.
 */
int policy_source_open(struct policy_source *source, const char *what);
void policy_source_release(struct policy_source *source);

/*
 * A command on one policy: parse the command line, work on its one argument, release the source.
 * `work` opens the source itself, once it has checked its options. Returns the exit status.
 */
typedef int policy_work_fn(void *context, const char *what);
int policy_command_run(struct policy_source *source, const struct cli_command *command,
                       struct poptOption *options, int argc, const char **argv,
                       policy_work_fn *work, void *context);

/* The same for a command on one policy or several, `most` at most; `work` opens and releases them. */
typedef int policies_work_fn(void *context, const char *const *what, size_t n);
int policies_command_run(struct policy_source *source, const struct cli_command *command,
                         struct poptOption *options, size_t most, int argc, const char **argv,
                         policies_work_fn *work, void *context);

/* Status of a trainer's failure as an exit status, after printing it. */
int policy_fail(const struct trainer_error *err);

#endif
