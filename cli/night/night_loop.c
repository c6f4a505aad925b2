/*
 * A turn finds what its trial starts from, runs the trial, keeps the checkpoint for child trials, appends the row and
 * rewrites KNOWLEDGE.md. The row is appended only after the checkpoint is kept, because a trial with a row is not run
 * again.
 */
#include "night/night_loop.h"

#include <math.h>
#include <poll.h>

#include "night/after_trial.h"
#include "night/next_trial.h"
#include "night/night_jobs.h"
#include "night/night_stop.h"
#include "night/night_summary.h"
#include "night/night_turn.h"
#include "night/rerun.h"
#include "share/sweep_version.h"
#include "sweep/forecast.h"
#include "sweep/trial_rows.h"
#include "trial/run_and_append.h"

/* Whether a trial of this many seconds would end within the night's hours. */
static bool has_time(struct night *night, double seconds)
{
    double left = night->hours.limit * 3600 - (cli_now() - night->hours.began);
    if (seconds <= left)
        return true;
    fprintf(stderr, "lineage: the next trial takes about %.0f s%s, %.0f s are left\n", ceil(seconds),
            night->list.pace > 0 ? "" : " (assumed until a trial has been measured)", fmax(0, floor(left)));
    night->hours.used_up = true;
    return false;
}

static int run_here(struct night *night, size_t i, bool warms_up)
{
    struct night_ending ending = {0};
    double start = cli_now();
    night->list.trials[i].at_work = true;
    night->slots.at_work++;
    int status = night_take_turn(night, i, night_slot_environment(night, 0), &ending);
    night->list.trials[i].at_work = false;
    night->slots.at_work--;
    return night_after_trial(night, i, status, &ending, warms_up, cli_now() - start);
}

/*
 * Waits until a running trial, of this process or of another worker, has ended or has become free. Returns CLI_OK if
 * there is nothing to wait for; next is the value that next_trial returned.
 */
static int wait_for_a_trial(struct night *night, struct night_jobs *jobs, int next)
{
    int status = CLI_GO_ON;
    if (night->slots.at_work > 0) {
        status = night_jobs_wait(jobs, night->claims.shared && night->slots.at_work < night->slots.n);
    } else if (next != CLAIM_WAIT) {
        status = CLI_OK;
    } else {
        struct pollfd interrupts = {night->interrupts.fd, POLLIN, 0};
        other_workers_wait(&night->claims, night_hours_left(&night->hours), &interrupts, 1);
        night->hours.used_up = night_hours_left(&night->hours) <= 0;
        status = night->hours.used_up ? CLI_OK : CLI_GO_ON;
    }
    return status == CLI_GO_ON ? trial_rows_read(&night->list) : status;
}

/* Starts a trial, or waits for a running trial to end. Returns CLI_OK when nothing is left to do. */
static int step(struct night *night, struct night_jobs *jobs)
{
    size_t i = 0;
    bool warms_up;
    if (interrupts_came(&night->interrupts))
        return CLI_INTERRUPTED;
    int next = night_stop_decide(night);
    if (next == CLI_GO_ON)
        next = night->stop.why[0] ? CLI_OK : night->slots.at_work < night->slots.n ? next_trial(night, &i) : CLAIM_WAIT;
    if (next == CLI_GO_ON && !has_time(night, forecast_seconds(&night->list, i, &warms_up))) {
        claims_end(&night->claims, i, LINEAGE_CLAIM_DONE);
        trial_list_forget(&night->list, i);
        next = CLI_OK;
    }
    if (next == CLI_OK || next == CLAIM_WAIT)
        return wait_for_a_trial(night, jobs, next);
    night->claims.pause = 0;
    if (next == CLI_GO_ON)
        next = sweep_version_claimed(&night->claims, i);
    if (next != CLI_GO_ON)
        return next;
    return night->slots.n > 1 ? night_jobs_begin(jobs, i, warms_up) : run_here(night, i, warms_up);
}

/* What the night will cost at most, before it begins. */
static void say_plan(const struct night *night)
{
    const size_t trials = night->list.sweep.n + night->list.sweep.plan.trials, runs = rerun_budget(night);
    if (night->quiet || !night->reruns.confirm || runs == SIZE_MAX)
        return;
    fprintf(stderr, "lineage: %zu runs at most: one of each of %zu trial%s, and %zu again where they decide which is the best\n",
            runs, trials < runs ? trials : runs, trials == 1 ? "" : "s", trials < runs ? runs - trials : 0);
}

/*
 * The loop notices an interruption between two trials; the process that watches a trial notices an interruption during
 * it. Both end the night in the same way: the night waits for the running trials, which end by themselves. KNOWLEDGE.md
 * is also written before the first trial, for users who read it while that trial runs.
 */
int night_run(struct night *night)
{
    struct night_jobs jobs = {.night = night};
    night->hours.began = cli_now();
    int status = sweep_version_check(&night->claims);
    if (status == CLI_GO_ON)
        status = night_write_knowledge(night);
    say_plan(night);
    while (status == CLI_GO_ON)
        status = step(night, &jobs);
    while (night->slots.at_work > 0) {
        int last = night_jobs_wait(&jobs, false);
        status = status == CLI_OK ? last : status;
    }
    if (status == CLI_OK)
        status = claims_clear(&night->claims);
    night_stop_record(night);
    night_summarize(night, status);
    night_tell_end(night, status);
    return status == CLI_GO_ON ? CLI_OK : status;
}
