/* trial.h: one trial from recipe to row, for `train` and `night`. */
#ifndef CLI_TRIAL_H
#define CLI_TRIAL_H

#include "cli.h"
#include "trial_events.h"

#define TRIAL_POLICY "policy.ckpt" /* in a snapshot */
#define TRIAL_RECIPE "recipe.json"

/* Exit status of a command that the user interrupted, as shells give it for SIGINT. */
#define CLI_INTERRUPTED 130

struct trial_request {
    const struct trainer_recipe *recipe; /* NULL: refused names why */
    const char *refused;                 /* why there is nothing to run, NULL: run it */
    struct trial_context context;
    const char *keep; /* file that shall also hold the policy of a finished trial; NULL: none */
    const char *name; /* for progress */
    bool quiet;
    const struct interrupts *interrupts;
};

/*
 * Run the trial in a child and append its row; *row is the caller's to release. CLI_GO_ON, or the
 * exit status after printing why there is no row.
 */
int trial_run(struct lineage_store *store, const struct trial_request *request,
              struct trial_outcome *outcome, struct lineage_trial *row);

/* Train and keep the policy in a file, without a row. False if that did not work out. */
bool trial_train_only(const struct trial_request *request, const char *dir, const char *checkpoint,
                      struct trial_outcome *outcome);

#endif
