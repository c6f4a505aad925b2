/*
 * lease.h: renews the claim of a trial until it has its row.
 *
 * While the trial runs, the process that watches it renews the claim. While the trial's files are copied, sent or
 * fetched, a server or a disk may block that process for longer than a lease, so a thread renews the claim during that
 * time. The thread opens a store of its own, but only after a third of a lease, so that a short copy costs nothing. No
 * process may be started while the thread runs.
 */
#pragma once

#include "share/claims.h"
#include "trial/run_and_append.h"

struct lease_thread;

struct lease {
    struct claims *claims;
    size_t i;                    /* the trial */
    bool reported;               /* it was printed that another worker has claimed the trial */
    struct lease_thread *thread; /* the thread that renews the claim; NULL: none is running */
};

/* Returns the callbacks by which a running trial keeps its claim. The lease must outlive the trial. */
struct trial_alive lease_of_running(struct lease *lease);

/*
 * Starts and stops the thread. Without a claim, or if no thread can be started, nothing happens and the lease keeps
 * running. Stopping waits for a renewal in progress.
 */
void lease_hold(struct lease *lease);
void lease_let_go(struct lease *lease);
