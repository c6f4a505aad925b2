#include "ranks/stand_in.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

#define STAND_IN "LINEAGE_STAND_IN"

static volatile sig_atomic_t worker; /* global, because a signal handler gets no context */

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

static int wait_for_worker(void)
{
    int state = 0;
    handle(true);
    while (waitpid((pid_t)worker, &state, 0) < 0)
        if (errno != EINTR)
            return cli_error(CLI_SYSTEM, "cannot wait for the process that watches: %s", strerror(errno));
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

/* Signals are blocked across the fork, so that a signal that arrives during the fork is also passed on to the child. */
int stand_in_fork(void)
{
    char self[32];
    sigset_t before;
    snprintf(self, sizeof self, "%ld", (long)getpid());
    fflush(NULL);
    sigprocmask(SIG_BLOCK, NULL, &before);
    handle(false);
    worker = fork();
    if (worker > 0)
        return wait_for_worker();
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (worker < 0)
        return cli_error(CLI_SYSTEM, "cannot fork: %s", strerror(errno));
    setsid();
    setenv(STAND_IN, self, 1);
    return CLI_GO_ON;
}

long stand_in_pid(void)
{
    const char *text = getenv(STAND_IN);
    char *end;
    long pid = text ? strtol(text, &end, 10) : 0;
    return text && *text && !*end && pid > 0 && pid <= INT_MAX ? pid : 0;
}
