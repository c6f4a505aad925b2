#include "night/night.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include <lineage/render.h>

#include "report/html_page.h"

/* Attempts to lock, 50 ms apart: the guardians of a killed night may need a moment to end its trials. */
enum { LOCK_TRIES = 60 };

void night_init(struct night *night)
{
    night->lock = -1;
    night->hours.limit = INFINITY;
    night->slots.n = 1;
    night->failures.stop_after = REPEATED_FAILURES;
    night->claims.list = &night->list;
    night->claims.lease = CLAIM_LEASE_SECONDS;
    night->planning.list = &night->list;
    night->planning.claims = &night->claims;
    night->planning.hours = &night->hours;
    night->planning.interrupts = &night->interrupts;
    night->planning.notify = &night->notify;
    night->planning.planner_seconds = PLANNER_SECONDS;
}

/* An open end has the store's number of trials. */
void night_plan_trials(struct night *night)
{
    const struct night_sweep *sweep = &night->list.sweep;
    bool open_end = night->planning.on && !sweep->plan.trials;
    lineage_store_plan_trials(night->list.store, open_end ? 0 : sweep->n + sweep->plan.trials);
}

int night_open(struct night *night, struct lineage_store *store)
{
    night->list.store = store;
    night_plan_trials(night);
    return checkpoint_files_find_directory(&night->list);
}

/*
 * The lock is taken on the directory itself instead of a file with a process id, because the kernel releases such a
 * lock however the process ends. The result of mkdir is ignored: the directory usually exists, and open reports any
 * other problem. A night that is refused here has not done anything yet, so a second night started by cron is harmless.
 */
int night_lock(struct night *night)
{
    const struct timespec moment = {.tv_nsec = 50000000};
    const char *dir = night->list.checkpoints;
    mkdir(dir, 0777);
    night->lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (night->lock < 0)
        return cli_error(CLI_SYSTEM, "cannot open %s: %s", dir, strerror(errno));
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(night->lock, (night->claims.shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0)
            return CLI_GO_ON;
        nanosleep(&moment, NULL);
    }
    return cli_error(CLI_SYSTEM, "another night runs in %s", lineage_store_dir(night->list.store));
}

void night_close(struct night *night)
{
    claims_close(&night->claims);
    trial_list_release(&night->list);
    planning_release(&night->planning);
    repeated_failures_release(&night->failures);
    cli_close(night->lock);
}

bool night_is_crowded(const struct night *night)
{
    return night->claims.shared || night->slots.n > 1;
}

const char *const *night_slot_environment(const struct night *night, size_t slot)
{
    return night->slots.environments ? night->slots.environments[slot] : NULL;
}

int night_write_knowledge(struct night *night)
{
    char *path;
    struct lineage_render_options options;
    struct lineage_error err;
    struct lineage_store *store = night->list.store;
    lineage_render_options_init(&options);
    options.specialist = night->list.sweep.name;
    /* `render`, the report and later trials have the threshold of this block. */
    if (lineage_store_keep_trials(store, &err) != LINEAGE_OK)
        cli_fail(&err);
    enum lineage_status status = lineage_store_path(&path, store, LINEAGE_PLACE_KNOWLEDGE, &err);
    if (status == LINEAGE_OK)
        status = lineage_render_file(store, path, &options, &err);
    lineage_free(path);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    return night->report ? page_file_beside(store) : CLI_GO_ON;
}

/* KNOWLEDGE.md is rewritten even after an interruption, because it names the aborted trial. */
int night_after_trial(struct night *night, size_t i, int status, const struct night_ending *ending, bool warmed_up,
                      double seconds)
{
    if (status != CLI_GO_ON && status != CLI_INTERRUPTED)
        return status;
    struct lineage_error err;
    night->ran++;
    if (night->list.trials[i].replicates && night->list.trials[i].recipe && status == CLI_GO_ON &&
        lineage_noise_measure(night->list.store, false, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int written = night_write_knowledge(night);
    if (written != CLI_GO_ON)
        return written;
    if (status != CLI_GO_ON)
        return status;
    if (night_ending_is_measured(ending) && ending->end != TRIAL_PRUNED)
        forecast_learn(&night->list, i, warmed_up, seconds);
    if (!ending->late && night->list.trials[i].exp_id)
        notify_trial(&night->notify, night->list.store, night->list.trials[i].exp_id, ending->label);
    night->list.n_proposed += night->list.trials[i].proposer != NULL;
    night->unscored += ending->label == LINEAGE_HARNESS_ABORT && ending->end == TRIAL_FINISHED && !ending->late;
    int counted = repeated_failures_count(&night->failures, ending, &night->list, i);
    if (counted != CLI_GO_ON) /* rows may have become void */
        night_write_knowledge(night);
    return counted;
}
