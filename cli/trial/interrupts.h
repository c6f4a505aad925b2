/*
 * interrupts.h: turns SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGXCPU into a readable descriptor, so that a command can append
 * its row before it exits. SIGUSR1 and SIGUSR2, by which schedulers warn a program, are passed on. A process can have only one
 * struct interrupts at a time.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

enum { N_INTERRUPTS = 7 };

/* Exit status of a command that the user interrupted, as shells give it for SIGINT. */
#define CLI_INTERRUPTED 130

struct interrupts {
    int fd; /* readable once a signal has arrived */
    int write_end;
    struct sigaction before[N_INTERRUPTS];
};

/* Starts to catch these signals. Signals that are ignored stay ignored. Returns false after printing the error. */
bool interrupts_hold(struct interrupts *interrupts);

/* Whether this signal interrupts. */
bool interrupts_include(int number);

/* Whether a signal has arrived. */
bool interrupts_came(const struct interrupts *interrupts);

/* Call it before a process is started that signals are passed to: one that comes before interrupts_pass_to is passed on then, and
 * an earlier one, which was for nobody, is not. */
void interrupts_begin_passing(void);

/* Passes SIGUSR1 and SIGUSR2 on to this process from now on (at most 64 processes; each further one gets none), or no longer (0: to none of them). */
void interrupts_pass_to(pid_t pid);
void interrupts_pass_no_more(pid_t pid);

/* Forgets the signals that have arrived, and restores the handlers. */
void interrupts_release(struct interrupts *interrupts);
