/*
 * night_jobs.c: trials in processes of their own.
 *
 * A process for each because a trial's watcher owns its process (subreaper, signals), and because the mirror's
 * connections must not be shared: the store is closed before fork and opened anew on both sides. What came of a trial
 * comes back by a pipe, in one piece; the row itself is in the store by then. A child whose night is killed gets
 * SIGTERM, records that it was cut off, and goes; until then it holds the night's lock, so that no second night begins.
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

#include "night/night_claims.h"
#include "night/night_turn.h"

struct report {
    int status;
    struct night_ending ending;
    char exp_id[256]; /* "" without a row that counts */
};

const char *const *night_slot_environment(const struct night *night, size_t slot)
{
    return night->environments ? night->environments[slot] : NULL;
}

/* The settings that the session opened it with are in the store by now, or in force. */
static int reopen(struct night *night, const char *dir, enum lineage_direction direction, const char *metric)
{
    const struct lineage_open_options open = {.direction = direction, .metric = metric};
    struct lineage_error err;
    if (lineage_store_open(&night->store, dir, &open, &err) != LINEAGE_OK)
        return cli_fail(&err);
    return night_claims_open(night);
}

/* In the child. Nothing of the parent's is cleaned up here: its files and its memory are its own. */
static _Noreturn void work(struct night *night, size_t i, size_t slot, int report_fd)
{
    struct report report = {.status = CLI_SYSTEM};
    night->quiet = true; /* several lines that are written over each other tell nobody anything */
    report.status = night_take_turn(night, i, night_slot_environment(night, slot), &report.ending);
    if (report.status == CLI_GO_ON)
        snprintf(report.exp_id, sizeof report.exp_id, "%s", night->trials[i].exp_id);
    night_claims_close(night);
    lineage_store_close(night->store);
    ssize_t n = write(report_fd, &report, sizeof report);
    _exit(n == (ssize_t)sizeof report ? 0 : CLI_SYSTEM);
}

static pid_t start(struct night *night, size_t i, size_t slot, const int pipe_fds[2], const char *dir,
                   enum lineage_direction direction, const char *metric)
{
    pid_t parent = getpid();
    fflush(stdout);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    close(pipe_fds[0]);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || reopen(night, dir, direction, metric) != CLI_GO_ON)
        _exit(CLI_SYSTEM);
    work(night, i, slot, pipe_fds[1]);
}

static int begin(struct night_jobs *jobs, size_t slot, size_t i, bool warms_up, const int pipe_fds[2])
{
    struct night *night = jobs->night;
    char *dir = strdup(lineage_store_dir(night->store)), *metric = strdup(lineage_store_metric(night->store));
    enum lineage_direction direction = lineage_store_config(night->store)->direction;
    int status = dir && metric ? CLI_GO_ON : cli_no_memory();
    if (status == CLI_GO_ON) {
        night_claims_close(night);
        lineage_store_close(night->store);
        night->store = NULL;
        pid_t pid = start(night, i, slot, pipe_fds, dir, direction, metric);
        if (pid < 0)
            status = cli_error(CLI_SYSTEM, "cannot start a process: %s", strerror(errno));
        else
            jobs->slot[slot] = (struct night_job){pid, pipe_fds[0], i, warms_up, cli_now()};
        night_claim_leave(night, i);
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
    night->trials[i].at_work = true;
    night->at_work++;
    return status;
}

/* A child that left without a report was killed: what it ran is ended by its guardian, and has no row. */
static int take_report(struct night_jobs *jobs, size_t slot)
{
    struct night *night = jobs->night;
    struct night_job job = jobs->slot[slot];
    struct night_trial *trial = &night->trials[job.i];
    struct report report = {.status = CLI_GO_ON, .ending = {.label = LINEAGE_CRASH, .signal = SIGKILL}};
    ssize_t n = read(job.report, &report, sizeof report);
    close(job.report);
    while (waitpid(job.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    jobs->slot[slot] = (struct night_job){0};
    trial->at_work = false;
    night->at_work--;
    trial->lost = n != (ssize_t)sizeof report;
    if (trial->lost) {
        cli_error(CLI_SYSTEM, "%s: the process that ran it is gone; the next night runs it again", trial->name);
        report.status = CLI_GO_ON;
    } else if (report.status == CLI_GO_ON) {
        trial->label = report.ending.label;
        free(trial->exp_id); /* its row may have been read before its report */
        trial->exp_id = strdup(report.exp_id);
        if (!trial->exp_id)
            return cli_no_memory();
    }
    return night_after_trial(night, job.i, report.status, &report.ending, job.warms_up, cli_now() - job.began);
}

/* A signal to this process alone has its children end, too: they look at the same pipe. */
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
        night_claims_wait(jobs->night, INFINITY, fds, n);
    else
        while (poll(fds, n, -1) < 0)
            if (errno != EINTR)
                return cli_error(CLI_SYSTEM, "poll: %s", strerror(errno));
    for (nfds_t k = 0; k < n; k++)
        if (fds[k].revents)
            return take_report(jobs, slots[k]);
    return CLI_GO_ON;
}
