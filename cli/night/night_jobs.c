/*
 * Each trial has a process of its own, because the process that watches a trial uses signals and adopts orphans
 * (subreaper). A SQLite connection must not be used across a fork, so the store is closed before the fork and opened
 * again in both processes. A child reports the result of its trial by one write to a pipe, after its row is in the
 * store. If the night is killed, its children get SIGTERM, append the row of the interrupted trial and exit. Until then
 * they hold the night's lock, so no second night can begin.
 */
#include "night/night_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "night/after_trial.h"
#include "night/night_turn.h"

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

int night_jobs_begin(struct night_jobs *jobs, size_t i, bool warms_up)
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

/* The children watch the same interrupt pipe, so a signal that only this process receives also ends the children. */
int night_jobs_wait(struct night_jobs *jobs, bool others)
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
