/*
 * lease.h: renews the claim of a trial until it has its row.
 *
 * While the trial runs, the process that watches it renews the claim. While its files are copied, sent or fetched, a
 * server or a disk may block that process for longer than a lease, so a thread renews the claim then. The thread opens a
 * store of its own, but only after a third of a lease, so that a short copy costs nothing. No process is started
 * meanwhile.
 */
#ifndef CLI_LEASE_H
#define CLI_LEASE_H

#include "share/claims.h"
#include "trial/run_and_append.h"

struct lease_thread;

struct lease {
    struct claims *claims;
    size_t i;                    /* the trial */
    bool reported;               /* a message has said that another worker claimed the trial */
    struct lease_thread *thread; /* renews the claim now; NULL: none does */
};

/* The callbacks with which a trial that runs keeps its claim. The lease must outlive the trial. */
struct trial_alive lease_of_running(struct lease *lease);

/* Starts and stops the thread. Without a claim, or if no thread can be started, the lease just goes on. Stopping
 * waits for a renewal that is under way. */
void lease_hold(struct lease *lease);
void lease_let_go(struct lease *lease);

#endif
