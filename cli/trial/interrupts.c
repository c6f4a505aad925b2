/*
 * interrupts.c: see one_trial.h. It uses a signal handler and a pipe.
 *
 * The handler only writes a byte, which is safe in a handler. poll() wakes up as for any other event, without the race
 * between testing a flag and going to sleep. The byte is never read, so every later poll() sees the interrupt. Blocking
 * signals by a mask would not work, because the threads of BLAS do not have the mask.
 */
#include "trial/one_trial.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "cli.h"

static const int signals[N_INTERRUPTS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2};

/* Global, because a signal handler gets no context. A receiver of 0 is a free place. */
enum { RECEIVERS = 64 };
static volatile sig_atomic_t write_end = -1, receivers[RECEIVERS], missed; /* the last signal that found no receiver */

static bool is_passed_on(int number)
{
    return number == SIGUSR1 || number == SIGUSR2;
}

/* Restores errno, which belongs to the code that was interrupted. */
static void on_signal(int number)
{
    int before = errno;
    bool passed = false;
    for (int i = 0; i < RECEIVERS && is_passed_on(number); i++)
        if (receivers[i] > 0)
            passed |= kill(receivers[i], number) == 0;
    if (is_passed_on(number) && !passed)
        missed = number;
    ssize_t written =
        is_passed_on(number) ? 0 : write(write_end, "", 1); /* fails only if the pipe is full, and then it is readable anyway */
    (void)written;
    errno = before;
}

/*
 * Signals that nohup has set to be ignored stay ignored. With SA_RESTART, signals interrupt only poll and not a store's
 * reads.
 */
static void handle(struct interrupts *interrupts)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N_INTERRUPTS; i++) {
        sigaction(signals[i], NULL, &interrupts->before[i]);
        if (interrupts->before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

/*
 * The pipe does not block, because holding down ^C could otherwise fill it and block the handler. The pipe is closed on
 * exec, so no trial inherits it.
 */
bool interrupts_hold(struct interrupts *interrupts)
{
    int ends[2];
    *interrupts = (struct interrupts){.fd = -1, .write_end = -1};
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return cli_refuse("cannot wait for signals: %s", strerror(errno));
    interrupts->fd = ends[0];
    interrupts->write_end = write_end = ends[1];
    handle(interrupts);
    return true;
}

bool interrupts_include(int number)
{
    for (int i = 0; i < N_INTERRUPTS; i++)
        if (signals[i] == number)
            return !is_passed_on(number);
    return false;
}

void interrupts_begin_passing(void)
{
    missed = 0;
}

void interrupts_pass_to(pid_t pid)
{
    int i = 0;
    while (i < RECEIVERS && receivers[i])
        i++;
    if (i < RECEIVERS)
        receivers[i] = pid;
    if (missed)
        kill(pid, missed);
    missed = 0;
}

void interrupts_pass_no_more(pid_t pid)
{
    for (int i = 0; i < RECEIVERS; i++)
        receivers[i] = pid && receivers[i] != pid ? receivers[i] : 0;
}

bool interrupts_came(const struct interrupts *interrupts)
{
    struct pollfd fd = {interrupts->fd, POLLIN, 0};
    return poll(&fd, 1, 0) > 0;
}

/*
 * Handlers are restored before the descriptors are closed: a signal in between could otherwise write to the next file
 * that gets the same descriptor. May be called after interrupts_hold has failed.
 */
void interrupts_release(struct interrupts *interrupts)
{
    if (interrupts->fd < 0)
        return;
    for (int i = 0; i < N_INTERRUPTS; i++)
        sigaction(signals[i], &interrupts->before[i], NULL);
    write_end = -1;
    close(interrupts->fd);
    close(interrupts->write_end);
}
