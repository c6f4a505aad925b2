/* trial.c: a trial at work in a directory of the store, and its row. */
#include "trial.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"
#include "workdir.h"

struct work {
    const struct trial_request *request;
    struct workdir dir;
    char recipe[PATH_MAX], policy[PATH_MAX];
    struct trial_record record;
    struct progress progress;
};

static bool write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    bool written = out && fputs(text, out) >= 0;
    if (out && fclose(out) != 0)
        written = false;
    if (!written)
        cli_error(CLI_SYSTEM, "cannot write %s: %s", path, strerror(errno));
    return written;
}

static bool write_recipe(const struct work *work)
{
    char *text = trainer_recipe_text(work->request->recipe);
    bool written = text && write_text(work->recipe, text);
    if (!text)
        cli_error(CLI_SYSTEM, "out of memory");
    free(text);
    return written;
}

static void on_event(void *context, const struct trainer_event *event)
{
    struct work *work = context;
    trial_record_event(&work->record, event);
    progress_event(&work->progress, event);
}

static bool make_work(struct work *work, const char *dir)
{
    return workdir_make(&work->dir, dir) && workdir_file(work->recipe, &work->dir, TRIAL_RECIPE) &&
           workdir_file(work->policy, &work->dir, TRIAL_POLICY) && write_recipe(work);
}

static bool train(struct work *work, const char *dir, struct trial_outcome *outcome)
{
    const struct trainer_budget *budget = &work->request->recipe->budget;
    struct trial_job job = {work->recipe,
                            work->policy,
                            budget->train_seconds,
                            budget->eval_seconds,
                            work->request->interrupts,
                            on_event,
                            work};
    if (!make_work(work, dir))
        return false;
    progress_begin(&work->progress, work->request->name, work->request->quiet);
    bool watched = trial_watch(outcome, &job);
    progress_end(&work->progress);
    return watched;
}

/* Keep the policy under a second name; the first one goes with the work directory. */
static bool keep_policy(const struct work *work, const char *keep)
{
    unlink(keep);
    if (link(work->policy, keep) == 0)
        return true;
    cli_error(CLI_SYSTEM, "cannot keep the policy as %s: %s", keep, strerror(errno));
    return false;
}

static void refuse(const struct work *work, struct trial_outcome *outcome)
{
    *outcome = (struct trial_outcome){.end = TRIAL_FAILED, .error.status = TRAINER_EINVAL};
    snprintf(outcome->error.text, sizeof outcome->error.text, "%s", work->request->refused);
}

static int append(struct work *work, struct lineage_store *store, struct trial_outcome *outcome,
                  struct lineage_trial *row)
{
    struct lineage_append_options options;
    struct lineage_trial trial;
    struct lineage_error err;
    if (!trial_record_finish(&work->record, outcome, &work->request->context, &trial, &options))
        return cli_error(CLI_SYSTEM, "out of memory");
    if (outcome->end == TRIAL_FINISHED)
        options.snapshot_dir = work->dir.path;
    if (lineage_store_append(store, &trial, &options, row, &err) != LINEAGE_OK)
        return cli_fail(&err);
    return CLI_GO_ON;
}

/* NULL after printing that memory ran out. */
static struct work *work_new(const struct trial_request *request)
{
    struct work *work = calloc(1, sizeof *work);
    if (!work) {
        cli_error(CLI_SYSTEM, "out of memory");
        return NULL;
    }
    work->request = request;
    work->dir.fd = -1;
    trial_record_init(&work->record, request->recipe);
    return work;
}

static void work_free(struct work *work)
{
    trial_record_release(&work->record);
    workdir_remove(&work->dir);
    free(work);
}

int trial_run(struct lineage_store *store, const struct trial_request *request,
              struct trial_outcome *outcome, struct lineage_trial *row)
{
    struct work *work = work_new(request);
    int status = CLI_SYSTEM;
    if (!work)
        return status;
    if (request->refused)
        refuse(work, outcome);
    if ((request->refused || train(work, lineage_store_dir(store), outcome)) &&
        (outcome->end != TRIAL_FINISHED || !request->keep || keep_policy(work, request->keep)))
        status = append(work, store, outcome, row);
    work_free(work);
    return status;
}

bool trial_train_only(const struct trial_request *request, const char *dir, const char *checkpoint,
                      struct trial_outcome *outcome)
{
    struct work *work = work_new(request);
    if (!work)
        return false;
    bool kept = train(work, dir, outcome) && outcome->end == TRIAL_FINISHED &&
                keep_policy(work, checkpoint);
    work_free(work);
    return kept;
}
