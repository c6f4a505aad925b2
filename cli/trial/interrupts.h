/*
 * interrupts.h: SIGINT, SIGTERM and SIGHUP as a readable descriptor, so that a command can finish its row before it
 * exits. One at a time in a process.
 */
#ifndef CLI_INTERRUPTS_H
#define CLI_INTERRUPTS_H

#include <signal.h>
#include <stdbool.h>

enum { N_INTERRUPTS = 3 };

/* Exit status of a command that the user interrupted, as shells give it for SIGINT. */
#define CLI_INTERRUPTED 130

struct interrupts {
    int fd; /* readable once a signal has come */
    int write_end;
    struct sigaction before[N_INTERRUPTS];
};

/* Begins to catch them; signals that are ignored stay ignored. Returns false after printing the error. */
bool interrupts_hold(struct interrupts *interrupts);

/* Whether a signal has come. */
bool interrupts_came(const struct interrupts *interrupts);

/* Forgets the signals that have come, and restores the handlers. */
void interrupts_release(struct interrupts *interrupts);

#endif
