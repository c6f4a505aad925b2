/* other_workers.h: what the other workers of a night have at work, and waiting for them. */
#ifndef CLI_OTHER_WORKERS_H
#define CLI_OTHER_WORKERS_H

#include <poll.h>

#include "propose/propose_past.h"
#include "share/claims.h"

/* Trials of this night that other workers hold. */
struct other_workers {
    size_t held;
    size_t proposed; /* how many of those are not in this process's list */
};

/*
 * Counts them. If past is not NULL, adds the proposed trials of other machines to it, as running; those of this
 * machine are found by their work directories (propose_past.h). Returns CLI_GO_ON, CLAIM_WAIT if the queue does not
 * answer now, or an exit status.
 */
int other_workers_count(struct other_workers *others, const struct claims *claims, struct propose_past *past);

/*
 * Waits until a trial of another worker may have ended or become free, or one of n descriptors is ready, at most this
 * many seconds (INFINITY: no limit). After looks in vain the wait begins with a pause, so that a thousand workers at
 * the end of a list do not all look after each row.
 */
void other_workers_wait(struct claims *claims, double seconds, struct pollfd *fds, size_t n);

#endif
