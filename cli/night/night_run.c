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
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/render.h>

#include "night/night_claims.h"
#include "night/night_jobs.h"
#include "night/night_planner.h"
#include "night/night_turn.h"
#include "report/page_file.h"

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

/* Of a parent that was lost the children stay unrun, and theirs. */
static bool waits_in_vain(const struct night *night, const struct night_trial *trial)
{
    while (trial->parent == TRAINER_PARENT_TRIAL && !night->trials[trial->parent_trial].exp_id) {
        trial = &night->trials[trial->parent_trial];
        if (trial->lost)
            return true;
    }
    return false;
}

/* What a look at the list finds. */
struct prospects {
    size_t *candidates; /* [n] can be run now */
    size_t n;
    bool waiting; /* a trial waits for its parent */
    bool busy;    /* a trial has no row yet that is not given up */
};

static void find_candidates(struct prospects *list, const struct night *night)
{
    list->n = 0;
    list->waiting = list->busy = false;
    for (size_t i = 0; i < night->sweep.n; i++) {
        const struct night_trial *trial = &night->trials[i];
        if (trial->exp_id || trial->lost || waits_in_vain(night, trial))
            continue;
        list->busy = true;
        if (trial->parent == TRAINER_PARENT_TRIAL && !night->trials[trial->parent_trial].exp_id)
            list->waiting = true;
        else if (!trial->at_work)
            list->candidates[list->n++] = i;
    }
}

/* All wait for the trial that the others will be compared with. */
static size_t most_at_once(const struct night *night, size_t otherwise)
{
    return night_needs_baseline(night) ? 1 : otherwise;
}

/* The first of the list that is still to be run and that no other worker runs. CLI_OK: all is at work, here or elsewhere,
 * or done. */
static int next_of_list(struct night *night, size_t *next, bool *busy)
{
    struct prospects list = {.candidates = calloc(night->sweep.n + 1, sizeof *list.candidates)};
    if (!list.candidates)
        return cli_no_memory();
    int status;
    do {
        find_candidates(&list, night);
        status = list.n > 0 ? night_claim(night, list.candidates, list.n, most_at_once(night, 0), next) : NIGHT_WAIT;
    } while (status == NIGHT_AGAIN);
    free(list.candidates);
    *busy = list.busy;
    return status == NIGHT_WAIT && !list.waiting ? CLI_OK : status;
}

/* The fallback takes the turn of a planner that has nothing worth it: no night idles. Where nothing came of it the same
 * rows are not asked again. */
static int propose(struct night *night, size_t *i)
{
    int status = night->planner ? night_plan(night, i) : CLI_NO;
    if (status == CLI_NO)
        status = night_propose(night, i);
    night->idle = status == CLI_OK;
    night->idle_at = night->seen;
    return status;
}

/*
 * As many may be held as there are trials to be run in all: two workers that see the last one propose it together. What was
 * known of the rows then may be old: with the claim it is counted again, claims before rows. A claim ends behind its row, so
 * that a trial that is just being finished counts twice then and is waited for; the other way round it would not count at all.
 */
static int claim_proposed(struct night *night, size_t *i)
{
    struct night_others others;
    size_t left = night_proposals_left(night);
    for (size_t k = 0; k < night->sweep.n; k++)
        left += !night->trials[k].exp_id;
    int status = night_claim(night, i, 1, most_at_once(night, night->sweep.plan.trials ? left : 0), i);
    if (status == CLI_GO_ON)
        status = night_claims_others(&others, night, NULL);
    if (status == CLI_GO_ON)
        status = night_read_rows(night);
    if (status == CLI_GO_ON && night_has_room(night, &others))
        return status;
    night_claim_end(night, *i, LINEAGE_CLAIM_DONE);
    night_forget(night, *i);
    return status == CLI_GO_ON || status == NIGHT_AGAIN ? NIGHT_WAIT : status;
}

static bool may_propose(const struct night *night, const struct night_others *others)
{
    bool idle = night->idle && night->idle_at == night->seen;
    bool alone = night->at_work == 0 && others->held == 0;
    return !night->out_of_time && !idle && night_has_room(night, others) && (alone || !night_needs_baseline(night));
}

/* Proposals come once the list is at work: they are made from what came of it. */
static int next_trial(struct night *night, size_t *i)
{
    bool busy = false;
    struct night_others others = {0};
    int status = next_of_list(night, i, &busy);
    if (status == CLI_OK && night->planning) {
        status = night_claims_others(&others, night, NULL);
        if (status == CLI_GO_ON)
            status = may_propose(night, &others) ? propose(night, i) : CLI_OK;
        if (status == CLI_GO_ON)
            status = claim_proposed(night, i);
    }
    return status == CLI_OK && (busy || others.held > 0) ? NIGHT_WAIT : status;
}

/* No trial is begun that would run into the morning. */
static bool has_time(struct night *night, double forecast)
{
    double left = night->hours * 3600 - (cli_now() - night->began);
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
    return fmax(0, night->hours * 3600 - (cli_now() - night->began));
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
    bool failed = !ending->late && !is_measured(ending->label) && ending->label != LINEAGE_HARNESS_ABORT;
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
    if (!ending->late && is_measured(ending->label))
        night_learn_turn(night, i, warmed_up, seconds);
    night->n_proposed += night->trials[i].proposer != NULL;
    return count_failure(night, ending);
}

static int run_here(struct night *night, size_t i, bool warms_up)
{
    struct night_ending ending = {0};
    double start = cli_now();
    night->trials[i].at_work = true;
    night->at_work++;
    int status = night_take_turn(night, i, night_slot_environment(night, 0), &ending);
    night->trials[i].at_work = false;
    night->at_work--;
    return night_after_trial(night, i, status, &ending, warms_up, cli_now() - start);
}

/* False once the hours are over. */
static bool wait_for_others(struct night *night)
{
    struct pollfd interrupts = {night->interrupts.fd, POLLIN, 0};
    night_claims_wait(night, night_seconds_left(night), &interrupts, 1);
    night->out_of_time = night_seconds_left(night) <= 0;
    return !night->out_of_time;
}

/* What others hold may come free, or be done. */
static int wait_for_any(struct night *night, struct night_jobs *jobs, int next)
{
    int status = CLI_GO_ON;
    if (night->at_work > 0)
        status = night_jobs_wait(jobs, night->worker && night->at_work < night->n_slots);
    else if (next != NIGHT_WAIT || !wait_for_others(night))
        status = CLI_OK;
    return status == CLI_GO_ON ? night_read_rows(night) : status;
}

/* One step: begin a trial, or wait for one. CLI_OK when there is nothing more to do. */
static int step(struct night *night, struct night_jobs *jobs)
{
    size_t i = 0;
    bool warms_up;
    if (interrupts_came(&night->interrupts))
        return CLI_INTERRUPTED;
    int next = night->at_work < night->n_slots ? next_trial(night, &i) : NIGHT_WAIT;
    if (next == CLI_GO_ON && !has_time(night, night_forecast(night, i, &warms_up))) {
        night_claim_end(night, i, LINEAGE_CLAIM_DONE);
        next = night_forget(night, i);
    }
    if (next == CLI_OK || next == NIGHT_WAIT)
        return wait_for_any(night, jobs, next);
    night->pause = 0;
    if (next == CLI_GO_ON)
        return night->n_slots > 1 ? night_jobs_begin(jobs, i, warms_up) : run_here(night, i, warms_up);
    return next;
}

/* An interruption between two trials is seen here, one within a trial by its watcher, and both end the night the same
 * way: what is at work is waited for, since it ends by itself then. */
int night_run(struct night *night)
{
    struct night_jobs jobs = {.night = night};
    night->began = cli_now();
    int status = write_knowledge(night);
    while (status == CLI_GO_ON)
        status = step(night, &jobs);
    while (night->at_work > 0) {
        int last = night_jobs_wait(&jobs, false);
        status = status == CLI_OK ? last : status;
    }
    if (status == CLI_OK)
        status = night_claims_clear(night);
    night_say_how_to_go_on(night, status);
    return status == CLI_GO_ON ? CLI_OK : status;
}
