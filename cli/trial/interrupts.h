/*
 * interrupts.h: turns SIGINT, SIGTERM and SIGHUP into a readable descriptor, so that a command can append its row
 * before it exits. A process can have only one struct interrupts at a time.
 */
#ifndef CLI_INTERRUPTS_H
#define CLI_INTERRUPTS_H

#include <signal.h>
#include <stdbool.h>

enum { N_INTERRUPTS = 3 };

/* Exit status of a command that the user interrupted, as shells give it for SIGINT. */
#define CLI_INTERRUPTED 130

struct interrupts {
    int fd; /* readable once a signal has arrived */
    int write_end;
    struct sigaction before[N_INTERRUPTS];
};

/* Starts to catch these signals. Signals that are ignored stay ignored. Returns false after printing the error. */
bool interrupts_hold(struct interrupts *interrupts);

/* Whether this signal is one of the three. */
bool interrupts_include(int number);

/* Whether a signal has arrived. */
bool interrupts_came(const struct interrupts *interrupts);

/* Forgets the signals that have arrived, and restores the handlers. */
void interrupts_release(struct interrupts *interrupts);

#endif
