/*
 * night_run.c: the trials of a night, one after another or several at once.
 *
 * The order within a turn: find what to start from, run, keep the checkpoint for children, write
 * the row, rewrite KNOWLEDGE.md. A row is written last of what matters, because it is what says
 * that the trial need not be run again.
 *
 * Exit statuses: 0 when all is done and when the hours are over (a script that calls every night
 * must not take an evening that was too short for a failure), 130 after an interruption, 3 when
 * the system failed, which a machine on which every trial ends alike has done, too. A trial that
 * fails is no failure of the night.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include <lineage/render.h>

#include "night/night_jobs.h"
#include "night/night_planner.h"
#include "night/night_turn.h"
#include "report/page_file.h"

/* Not the time of day: a clock that is set during the night would end it early or never. */
double night_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* After every trial, and before the first: whoever looks during the night finds what is known by then. */
static int write_knowledge(const struct night *night)
{
    char *path;
    struct lineage_render_options options;
    struct lineage_error err;
    lineage_render_options_init(&options);
    options.specialist = night->sweep.name;
    enum lineage_status status =
        lineage_store_path(&path, night->store, LINEAGE_PLACE_KNOWLEDGE, &err);
    if (status == LINEAGE_OK)
        status = lineage_render_file(night->store, path, &options, &err);
    lineage_free(path);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    return night->report ? page_file_beside(night->store) : CLI_GO_ON;
}

/* A trial that fails at once says nothing of how long one takes. Crashes and overruns have
 * their length from something else. */
static bool is_measured(enum lineage_label label)
{
    return label == LINEAGE_KEEP || label == LINEAGE_DISCARD || label == LINEAGE_BASELINE;
}

/* ---- what is run next ---- */

/* A trial waits for its parent, and for the trial that the others will be compared with. */
static bool must_wait(const struct night *night, const struct night_trial *trial)
{
    if (trial->parent == TRAINER_PARENT_TRIAL && !night->trials[trial->parent_trial].exp_id)
        return true;
    return night->at_work > 0 && night_needs_baseline(night);
}

/* The first of the list that is still to be run. A parent that was lost leaves its children unrun, too. */
static int next_of_list(const struct night *night, size_t *next)
{
    int waits = CLI_OK;
    for (size_t i = 0; i < night->n; i++) {
        const struct night_trial *trial = &night->trials[i];
        if (trial->exp_id || trial->at_work || trial->lost)
            continue;
        if (must_wait(night, trial)) {
            waits = NIGHT_WAIT;
            continue;
        }
        *next = i;
        return CLI_GO_ON;
    }
    return night->at_work > 0 ? waits : CLI_OK;
}

/* The fallback takes the turn of a planner that has nothing worth it: no night idles. */
static int propose(struct night *night, size_t *i)
{
    int status = night->planner ? night_plan(night, i) : CLI_NO;
    return status == CLI_NO ? night_propose(night, i) : status;
}

/* Proposals come once the list is at work: they are made from what came of it. */
static int next_trial(struct night *night, size_t *i)
{
    int next = next_of_list(night, i);
    if (next != CLI_OK || !night->planning || night->out_of_time || !night_has_room(night))
        return next;
    if (night->at_work > 0 && night_needs_baseline(night))
        return NIGHT_WAIT;
    return propose(night, i);
}

/* No trial is begun that would run into the morning. */
static bool has_time(struct night *night, double forecast)
{
    double left = night->hours * 3600 - (night_now() - night->began);
    if (forecast <= left)
        return true;
    fprintf(stderr, "lineage: the next trial takes about %.0f s%s, %.0f s are left\n",
            ceil(forecast), night->pace > 0 ? "" : " (taken for granted while none is measured)",
            fmax(0, floor(left)));
    night->out_of_time = true;
    return false;
}


double night_seconds_left(const struct night *night)
{
    return fmax(0, night->hours * 3600 - (night_now() - night->began));
}

/* ---- what became of it ---- */

static bool is_alike(const struct night_ending *a, const struct night_ending *b)
{
    return a->label == b->label && a->end == b->end && a->exit_status == b->exit_status && a->signal == b->signal;
}

/* A full disk or a driver that is gone fails all there is to run, and hundreds of rows would say so. By evidence and
 * not by words: these may hold a time or an address. */
static int count_failure(struct night *night, const struct night_ending *ending)
{
    bool failed = !is_measured(ending->label) && ending->label != LINEAGE_HARNESS_ABORT;
    night->alike = !failed ? 0 : night->alike > 0 && is_alike(ending, &night->last_failure) ? night->alike + 1 : 1;
    night->last_failure = *ending;
    if (!night->stop_after || night->alike < night->stop_after)
        return CLI_GO_ON;
    return cli_error(CLI_SYSTEM, "the night stops: %zu trials in a row ended as %s with the same evidence (--stop-after)",
                     night->alike, lineage_label_name(ending->label));
}

/* KNOWLEDGE.md after an interruption as well: the aborted trial is in it. */
int night_after_trial(struct night *night, size_t i, int status, const struct night_ending *ending, bool warmed_up,
                      double seconds)
{
    if (status != CLI_GO_ON && status != CLI_INTERRUPTED)
        return status;
    int written = write_knowledge(night);
    if (written != CLI_GO_ON || status != CLI_GO_ON)
        return written == CLI_GO_ON ? status : written;
    if (is_measured(ending->label))
        night_learn_turn(night, i, warmed_up, seconds);
    night->n_proposed += night->trials[i].proposer != NULL;
    return count_failure(night, ending);
}

static int run_here(struct night *night, size_t i, bool warms_up)
{
    struct night_ending ending = {0};
    double start = night_now();
    night->trials[i].at_work = true;
    night->at_work++;
    int status = night_take_turn(night, i, night_slot_environment(night, 0), &ending);
    night->trials[i].at_work = false;
    night->at_work--;
    return night_after_trial(night, i, status, &ending, warms_up, night_now() - start);
}

/* One step: begin a trial, or wait for one. CLI_OK when there is nothing more to do. */
static int step(struct night *night, struct night_jobs *jobs)
{
    size_t i = 0;
    bool warms_up;
    if (interrupts_came(&night->interrupts))
        return CLI_INTERRUPTED;
    int next = night->at_work < night->n_slots ? next_trial(night, &i) : NIGHT_WAIT;
    if (next == CLI_GO_ON && !has_time(night, night_forecast(night, i, &warms_up)))
        next = night_forget(night, i);
    if (next == CLI_GO_ON)
        return night->n_slots > 1 ? night_jobs_begin(jobs, i, warms_up) : run_here(night, i, warms_up);
    return night->at_work > 0 && (next == CLI_OK || next == NIGHT_WAIT) ? night_jobs_wait(jobs) : next;
}

/* An interruption between two trials is seen here, one within a trial by its watcher, and both end the night the same
 * way: what is at work is waited for, since it ends by itself then. */
int night_run(struct night *night)
{
    struct night_jobs jobs = {.night = night};
    night->began = night_now();
    int status = write_knowledge(night);
    while (status == CLI_GO_ON)
        status = step(night, &jobs);
    while (night->at_work > 0) {
        int last = night_jobs_wait(&jobs);
        status = status == CLI_OK ? last : status;
    }
    if (status == CLI_OK)
        status = CLI_GO_ON;
    night_say_how_to_go_on(night, status);
    return status == CLI_GO_ON ? CLI_OK : status;
}
