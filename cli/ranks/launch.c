/* launch.c: the launcher's environment, and the process that writes the row. */
#include "ranks/launch.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "ranks/team.h"

#define STAND_IN "LINEAGE_STAND_IN"

static int number_of(const char *name, int otherwise)
{
    const char *text = getenv(name);
    char *end;
    long n = text ? strtol(text, &end, 10) : -1;
    return text && *text && !*end && n >= 0 && n <= INT_MAX ? (int)n : otherwise;
}

/*
 * Open MPI's mpirun says both; under srun with PMIx the rank is PMIx's and the size Slurm's. MPICH and
 * others speak of PMI: their processes cannot find each other by our module, but they are several.
 */
struct launch launch_read(void)
{
    struct launch launch = {number_of("OMPI_COMM_WORLD_RANK", -1), number_of("OMPI_COMM_WORLD_SIZE", -1), true};
    if (launch.size < 1 && getenv("PMIX_RANK"))
        launch = (struct launch){number_of("PMIX_RANK", 0), number_of("SLURM_STEP_NUM_TASKS", -1), true};
    if (launch.size < 1)
        launch = (struct launch){number_of("PMI_RANK", -1), number_of("PMI_SIZE", -1), false};
    if (launch.rank < 0 || launch.size < 1)
        launch = (struct launch){0, 1, false};
    return launch;
}

/* Said once and not by every rank. */
static int refused(const struct launch *launch, enum cli_exit status, const char *why)
{
    if (launch->rank == 0)
        cli_error(status, "started as %d processes, which cannot train one trial together: %s", launch->size, why);
    return status;
}

int launch_check(const struct launch *launch)
{
    char why[512];
    if (launch->size == 1)
        return CLI_GO_ON;
    if (!launch->is_open_mpi)
        return refused(launch, CLI_SYSTEM, "their launcher is not Open MPI's mpirun");
    return team_is_there(why, sizeof why) ? CLI_GO_ON : refused(launch, CLI_SYSTEM, why);
}

int launch_refuse(const struct launch *launch)
{
    if (launch->size == 1)
        return CLI_GO_ON;
    return refused(launch, CLI_USAGE, "under mpirun there is `lineage train`; a night is run by one process");
}

/* ---- standing in ---- */

static volatile sig_atomic_t worker; /* all that a handler can know */

static void pass_on(int number)
{
    int before = errno;
    kill((pid_t)worker, number);
    errno = before;
}

static void handle(bool own)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = own ? pass_on : SIG_DFL};
    sigset_t set;
    sigemptyset(&set);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        sigaddset(&set, signals[i]);
        if (own)
            sigaction(signals[i], &action, NULL);
    }
    sigprocmask(own ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

static int stand_in(void)
{
    int state = 0;
    handle(true);
    while (waitpid((pid_t)worker, &state, 0) < 0)
        if (errno != EINTR)
            return cli_error(CLI_SYSTEM, "cannot wait for the process that watches: %s", strerror(errno));
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

/* Signals wait across the fork: one that comes in between is passed on, too. */
int launch_apart(void)
{
    char self[32];
    sigset_t before;
    snprintf(self, sizeof self, "%ld", (long)getpid());
    fflush(NULL);
    sigprocmask(SIG_BLOCK, NULL, &before);
    handle(false);
    worker = fork();
    if (worker > 0)
        return stand_in();
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (worker < 0)
        return cli_error(CLI_SYSTEM, "cannot fork: %s", strerror(errno));
    setsid();
    setenv(STAND_IN, self, 1);
    return CLI_GO_ON;
}

long launch_stand_in(void)
{
    return number_of(STAND_IN, 0);
}
