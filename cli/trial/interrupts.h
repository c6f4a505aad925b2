/*
 * interrupts.h: SIGINT, SIGTERM and SIGHUP made readable, so that whoever is at work can finish its
 * row. One at a time in a process.
 */
#ifndef CLI_INTERRUPTS_H
#define CLI_INTERRUPTS_H

#include <signal.h>
#include <stdbool.h>

enum { N_INTERRUPTS = 3 };

/* Exit status of a command that the user interrupted, as shells give it for SIGINT. */
#define CLI_INTERRUPTED 130

struct interrupts {
    int fd; /* readable once one has come */
    int write_end;
    struct sigaction before[N_INTERRUPTS];
};

/* False after printing why. Signals that were ignored stay so. */
bool interrupts_hold(struct interrupts *interrupts);

/* Whether one has come. */
bool interrupts_came(const struct interrupts *interrupts);

/* Forget those that came and let the next one act as before. */
void interrupts_release(struct interrupts *interrupts);

#endif
