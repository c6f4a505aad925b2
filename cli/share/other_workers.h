/* other_workers.h: counts the trials that other workers of a night are running, and waits for them. */
#pragma once

#include <poll.h>

#include "propose/propose_past.h"
#include "share/claims.h"

/* Trials of this night that other workers hold. */
struct other_workers {
    size_t held;
    size_t proposed; /* how many of `held` are proposed trials that are not in this process's list */
};

/* Whether the worker that holds a claim runs on this machine. */
bool other_workers_is_here(const struct lineage_claim *claim);

/*
 * Counts the trials of other workers. If past is not NULL, adds the proposed trials of other machines to it, as running
 * trials; proposed trials of this machine are found by their work directories (propose_past.h). Returns CLI_GO_ON,
 * CLAIM_WAIT if the queue does not answer, or an exit status.
 */
int other_workers_count(struct other_workers *others, const struct claims *claims, struct propose_past *past);

/*
 * Waits until a trial of another worker may have ended or become free, or one of n descriptors is ready, but for at
 * most `seconds` (INFINITY: no limit). If the previous looks found nothing to do, the wait begins with a pause, so that
 * at the end of a list a thousand workers do not all look again after each row.
 */
void other_workers_wait(struct claims *claims, double seconds, struct pollfd *fds, size_t n);
