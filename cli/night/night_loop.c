/*
 * A turn finds what its trial starts from, runs the trial, keeps the checkpoint for child trials, appends the row and
 * rewrites KNOWLEDGE.md. The row is appended only after the checkpoint is kept, because a trial with a row is not run
 * again.
 */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/text.h>

#include "night/night.h"
#include "output/show.h"
#include "support/program.h"

/* ---- several trials at once, each in a process of its own that opens the store for itself ---- */

/* Each trial has a process of its own, because the process that watches a trial uses signals and adopts orphans
 * (subreaper). A SQLite connection must not be used across a fork, so the store is closed before the fork and opened
 * again in both processes. A child reports the result of its trial by one write to a pipe, after its row is in the
 * store. If the night is killed, its children get SIGTERM, append the row of the interrupted trial and exit. Until then
 * they hold the night's lock, so no second night can begin. */

struct night_job {
    pid_t pid;     /* 0: the slot is free */
    int report;    /* pipe from which the result is read */
    size_t i;      /* the trial */
    bool warms_up; /* the trial's time includes a warm start */
    double began;
};

struct night_jobs {
    struct night *night;
    struct night_job slot[NIGHT_SLOTS_MAX];
};

struct report {
    int status;
    struct night_ending ending;
    char exp_id[256]; /* the row's id; "": the row does not count */
};

/* Opens the store and its queue again after the fork, with the same direction and metric. */
static int reopen(struct night *night, const char *dir, enum lineage_direction direction, const char *metric)
{
    const struct lineage_open_options open = {.direction = direction, .metric = metric};
    struct lineage_error err;
    if (lineage_store_open(&night->list.store, dir, &open, &err) != LINEAGE_OK)
        return cli_fail(&err);
    night_plan_trials(night);
    return claims_open(&night->claims);
}

/* Runs in the child, which must not touch the parent's files or release its memory. */
static _Noreturn void work(struct night *night, size_t i, size_t slot, int report_fd)
{
    struct report report = {.status = CLI_SYSTEM};
    night->quiet = true; /* the progress lines of several trials would overwrite each other */
    report.status = night_take_turn(night, i, night_slot_environment(night, slot), &report.ending);
    if (report.status == CLI_GO_ON)
        snprintf(report.exp_id, sizeof report.exp_id, "%s", night->list.trials[i].exp_id);
    claims_close(&night->claims);
    lineage_store_close(night->list.store);
    ssize_t n = write(report_fd, &report, sizeof report);
    _exit(n == (ssize_t)sizeof report ? 0 : CLI_SYSTEM);
}

static pid_t start(struct night *night, size_t i, size_t slot, const int pipe_fds[2], const char *dir,
                   enum lineage_direction direction, const char *metric)
{
    pid_t parent = getpid();
    fflush(stdout);
    interrupts_begin_passing();
    pid_t pid = fork();
    if (pid > 0)
        interrupts_pass_to(pid);
    if (pid != 0)
        return pid;
    interrupts_pass_no_more(0); /* the other jobs get the signal from the night */
    close(pipe_fds[0]);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || reopen(night, dir, direction, metric) != CLI_GO_ON)
        _exit(CLI_SYSTEM);
    work(night, i, slot, pipe_fds[1]);
}

static int begin(struct night_jobs *jobs, size_t slot, size_t i, bool warms_up, const int pipe_fds[2])
{
    struct night *night = jobs->night;
    char *dir = strdup(lineage_store_dir(night->list.store)), *metric = strdup(lineage_store_metric(night->list.store));
    enum lineage_direction direction = lineage_store_config(night->list.store)->direction;
    int status = dir && metric ? CLI_GO_ON : cli_no_memory();
    if (status == CLI_GO_ON) {
        claims_close(&night->claims);
        lineage_store_close(night->list.store);
        night->list.store = NULL;
        pid_t pid = start(night, i, slot, pipe_fds, dir, direction, metric);
        if (pid < 0)
            status = cli_error(CLI_SYSTEM, "cannot start a process: %s", strerror(errno));
        else
            jobs->slot[slot] = (struct night_job){pid, pipe_fds[0], i, warms_up, cli_now()};
        claims_leave(&night->claims, i);
        int opened = reopen(night, dir, direction, metric);
        status = status == CLI_GO_ON ? opened : status;
    }
    free(dir);
    free(metric);
    return status;
}

/* Starts trial i, which this process has claimed, in a free slot. Returns CLI_GO_ON or an exit status. */
static int night_jobs_begin(struct night_jobs *jobs, size_t i, bool warms_up)
{
    struct night *night = jobs->night;
    int pipe_fds[2];
    size_t slot = 0;
    while (jobs->slot[slot].pid)
        slot++;
    if (pipe(pipe_fds) != 0)
        return cli_error(CLI_SYSTEM, "cannot make a pipe: %s", strerror(errno));
    fcntl(pipe_fds[0], F_SETFD, FD_CLOEXEC);
    fcntl(pipe_fds[1], F_SETFD, FD_CLOEXEC);
    int status = begin(jobs, slot, i, warms_up, pipe_fds);
    close(pipe_fds[1]);
    if (!jobs->slot[slot].pid) {
        close(pipe_fds[0]);
        return status;
    }
    night->list.trials[i].at_work = true;
    night->slots.at_work++;
    return status;
}

/* If a child ended without a report, it was killed: its guardian ends the trial, which has no row. */
static int take_report(struct night_jobs *jobs, size_t slot)
{
    struct night *night = jobs->night;
    struct night_job job = jobs->slot[slot];
    struct night_trial *trial = &night->list.trials[job.i];
    struct report report = {.status = CLI_GO_ON, .ending = {.label = LINEAGE_CRASH, .signal = SIGKILL}};
    ssize_t n = read(job.report, &report, sizeof report);
    close(job.report);
    interrupts_pass_no_more(job.pid);
    while (waitpid(job.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    jobs->slot[slot] = (struct night_job){0};
    trial->at_work = false;
    night->slots.at_work--;
    trial->lost = n != (ssize_t)sizeof report;
    if (trial->lost) {
        cli_error(CLI_SYSTEM, "%s: the process that ran it is gone; the next night runs it again", trial->name);
        report.status = CLI_GO_ON;
    } else if (report.status == CLI_GO_ON) {
        trial->label = report.ending.label;
        free(trial->exp_id); /* set already if the row was read before this report */
        trial->exp_id = strdup(report.exp_id);
        if (!trial->exp_id)
            return cli_no_memory();
    }
    return night_after_trial(night, job.i, report.status, &report.ending, job.warms_up, cli_now() - job.began);
}

/*
 * Waits for a job to end and takes its result. Set others only if a slot is free: the wait then also ends when a trial
 * of another worker ends or becomes free. Returns CLI_GO_ON, CLI_INTERRUPTED or an exit status.
 * The children watch the same interrupt pipe, so a signal that only this process receives also ends the children. */
static int night_jobs_wait(struct night_jobs *jobs, bool others)
{
    struct pollfd fds[NIGHT_SLOTS_MAX];
    size_t slots[NIGHT_SLOTS_MAX];
    nfds_t n = 0;
    for (size_t slot = 0; slot < NIGHT_SLOTS_MAX; slot++)
        if (jobs->slot[slot].pid) {
            slots[n] = slot;
            fds[n++] = (struct pollfd){.fd = jobs->slot[slot].report, .events = POLLIN};
        }
    if (others)
        other_workers_wait(&jobs->night->claims, INFINITY, fds, n);
    else
        while (poll(fds, n, -1) < 0)
            if (errno != EINTR)
                return cli_error(CLI_SYSTEM, "poll: %s", strerror(errno));
    for (nfds_t k = 0; k < n; k++)
        if (fds[k].revents)
            return take_report(jobs, slots[k]);
    return CLI_GO_ON;
}

static size_t count_left(const struct night *night)
{
    size_t left = planning_left(&night->planning);
    for (size_t i = 0; i < night->list.sweep.n; i++)
        left += !night->list.trials[i].exp_id || night->list.trials[i].label == LINEAGE_HARNESS_ABORT;
    return left;
}

static bool runs_are_used_up(const struct night *night)
{
    return night->reruns.runs && !rerun_runs_left(night);
}

/* Why the night has ended. */
static const char *ending(const struct night *night, int status, size_t left)
{
    const struct planning *planning = &night->planning;
    if (status == CLI_INTERRUPTED)
        return "interrupted";
    if (*night_stop_text(night))
        return night_stop_text(night);
    if (night->hours.used_up)
        return "the hours are used up";
    if (planning->on && planning->idle && planning->nothing)
        return planning->nothing;
    if (left > 0 && runs_are_used_up(night))
        return "the runs that --runs allows are used up, those of earlier starts included";
    return left > 0 ? "the night has ended" : "the night is done";
}

static void print_command(const struct night *night)
{
    fputs("  lineage night", stderr);
    shell_word_write(stderr, night->list.sweep.file);
    fputs(" -C", stderr);
    shell_word_write(stderr, lineage_store_dir(night->list.store));
    for (const char *const *option = night->options; option && *option; option++)
        if ((*night_stop_text(night) && (strcmp(*option, "--until") == 0 || strcmp(*option, "--plateau") == 0)) ||
            (runs_are_used_up(night) && strcmp(*option, "--runs") == 0))
            option++; /* with its argument: the night would stop at once */
        else
            shell_word_write(stderr, *option);
    fputc('\n', stderr);
}

static void print_best(const struct night *night)
{
    struct lineage_trial best = {0};
    struct lineage_evidence evidence;
    struct lineage_error err;
    char score[LINEAGE_NUMBER_MAX], answer[CLI_ANSWER_TEXT_MAX];
    if (lineage_best_of(night->list.store, &best, &evidence, &err) == LINEAGE_OK && best.core_metric.present) {
        if (!*cli_answer_text(answer, &evidence, night->list.store))
            snprintf(answer, sizeof answer, "%s", lineage_mean_text(score, best.core_metric.value, (double)NAN));
        fprintf(stderr, "; the best of the store is %s, %s", best.exp_id, answer);
    }
    lineage_evidence_release(&evidence);
    lineage_trial_release(&best);
}

/*
 * Prints on standard error why the night ended, how many trials are left, and the command to type next; standard output
 * is reserved for rows. Prints nothing after an error, so that the error message stays the last line.
 */
static void night_summarize(const struct night *night, int status)
{
    size_t left = count_left(night);
    const struct night_sweep *sweep = &night->list.sweep;
    if ((status != CLI_GO_ON && status != CLI_INTERRUPTED) || (left == 0 && night->quiet))
        return;
    char prospect[NIGHT_PROSPECT_MAX] = "";
    if (night->stop.has_target || night->stop.plateau)
        night_stop_prospect(prospect, night);
    fprintf(stderr, "lineage: %s; %s%s", ending(night, status, left), prospect, *prospect ? "; " : "");
    if (night->unscored) {
        char told[2 * LINEAGE_NAME_MAX + 96], text[sizeof told + 1024];
        snprintf(told, sizeof told, "`lineage rescore --night '%s' -m NAME`", sweep->name);
        fprintf(stderr, "%zu finished without a score (%s reads it from their logs and files); ", night->unscored,
                cli_with_store(text, sizeof text, told));
    }
    if (left > 0) {
        fprintf(stderr, "%zu of %zu trials are left. To go on:\n", left, sweep->n + sweep->plan.trials);
        print_command(night);
        return;
    }
    if (sweep->n > 0)
        fprintf(stderr, "all %zu trials have their rows", sweep->n);
    if (night->planning.on)
        fprintf(stderr, "%s%zu proposed trials have theirs", sweep->n > 0 ? ", " : "", night->list.n_proposed);
    print_best(night);
    fputs(". What the next night should know:\n  lineage render -C", stderr);
    shell_word_write(stderr, lineage_store_dir(night->list.store));
    fputc('\n', stderr);
}

/* Tells the command of --notify that the night has ended, and why. */
static void night_tell_end(struct night *night, int status)
{
    char text[NIGHT_STOP_MAX + NIGHT_PROSPECT_MAX + 96], prospect[NIGHT_PROSPECT_MAX] = "";
    const size_t left = count_left(night);
    if (!night->notify.command || !night->list.store)
        return;
    if (*night_stop_text(night))
        night_stop_prospect(prospect, night);
    if (status != CLI_GO_ON && status != CLI_INTERRUPTED)
        snprintf(text, sizeof text, "night %s ended with exit status %d; its last message says why", night->list.sweep.name,
                 status);
    else
        snprintf(text, sizeof text, "night %s: %s; %zu trials are left%s%s", night->list.sweep.name, ending(night, status, left),
                 left, *prospect ? "; " : "", prospect);
    notify_send(&night->notify, night->list.store, "stop", NULL, text);
}

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
    const size_t budget = rerun_budget(night), runs = rerun_runs_left(night), spare = rerun_spare(night),
                 left = count_left(night), first = left < runs ? left : runs;
    if (night->quiet || !night->reruns.confirm || budget == SIZE_MAX || !budget || (!runs && (budget == 1 || left)))
        return;
    if (!runs)
        fprintf(stderr, "lineage: all runs have ended: %zu", rerun_runs_used(night));
    else if (runs < budget)
        fprintf(stderr, "lineage: %zu of %zu runs %s left", runs, budget, runs == 1 ? "is" : "are");
    else
        fprintf(stderr, "lineage: %zu runs at most", runs);
    if (spare)
        fprintf(stderr, "%s one more for each that diverges or fails, at most %zu", runs ? ", and" : "; there may be", spare);
    if (first)
        fprintf(stderr, ": one of each of %zu trial%s, and", first, first == 1 ? "" : "s");
    if (runs)
        fprintf(stderr, "%s %zu again where they decide which is the best", first ? "" : ":", runs - first);
    fputc('\n', stderr);
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
