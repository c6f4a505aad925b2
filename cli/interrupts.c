/* interrupts.c: a handler and a pipe. A signal mask would not do: threads of BLAS do not have it.
 */
#include "interrupts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const int signals[N_INTERRUPTS] = {SIGINT, SIGTERM, SIGHUP};

static volatile sig_atomic_t write_end = -1; /* all that a handler can know */

static void on_signal(int number)
{
    int before = errno;
    (void)number;
    if (write(write_end, "", 1) < 0)
        errno = before; /* the pipe is full of signals */
    errno = before;
}

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

bool interrupts_hold(struct interrupts *interrupts)
{
    int ends[2];
    *interrupts = (struct interrupts){.fd = -1, .write_end = -1};
    if (pipe(ends) != 0) {
        cli_error(CLI_SYSTEM, "cannot wait for signals: %s", strerror(errno));
        return false;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        fcntl(ends[i], F_SETFL, O_NONBLOCK);
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
