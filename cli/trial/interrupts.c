/*
 * interrupts.c: a handler and a pipe. A signal mask would not do: threads of BLAS do not have it.
 *
 * The handler only writes a byte, which is all that is safe in one; poll() then wakes up as for
 * any other event, without the race between asking a flag and going to sleep. The byte is never
 * read: an interruption that has come stays for everybody who asks.
 */
#include "trial/interrupts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const int signals[N_INTERRUPTS] = {SIGINT, SIGTERM, SIGHUP};

static volatile sig_atomic_t write_end = -1; /* all that a handler can know */

/* errno belongs to whatever was interrupted. */
static void on_signal(int number)
{
    int before = errno;
    (void)number;
    ssize_t written = write(write_end, "", 1); /* or the pipe is full of signals */
    (void)written;
    errno = before;
}

/* What nohup ignores stays ignored. SA_RESTART: only poll is to notice, no read of a store is cut short. */
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

/* Non-blocking, or a person who leans on ^C could fill the pipe and hang in the handler. Closed
 * on exec, so that no trial holds an end. */
bool interrupts_hold(struct interrupts *interrupts)
{
    int ends[2];
    *interrupts = (struct interrupts){.fd = -1, .write_end = -1};
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        cli_error(CLI_SYSTEM, "cannot wait for signals: %s", strerror(errno));
        return false;
    }
    interrupts->fd = ends[0];
    interrupts->write_end = write_end = ends[1];
    handle(interrupts);
    return true;
}

bool interrupts_came(const struct interrupts *interrupts)
{
    struct pollfd fd = {interrupts->fd, POLLIN, 0};
    return poll(&fd, 1, 0) > 0;
}

/* Handlers go before the descriptors: a signal in between would be written to whatever file
 * gets the number next. It may be called after a failed hold. */
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
