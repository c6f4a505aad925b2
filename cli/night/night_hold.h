/*
 * night_hold.h: the claim of a trial while nobody watches it: its files are kept, copied, sent, or brought.
 *
 * A thread renews the claim then, with a store of its own, because a server or a disk may keep the caller's busy for longer
 * than a lease. It opens that only when a third of a lease is over, so that what is soon done costs nothing. No process is
 * started meanwhile.
 */
#ifndef CLI_NIGHT_HOLD_H
#define CLI_NIGHT_HOLD_H

#include "night/night_claims.h"

struct night_hold;

/* NULL if nothing is claimed, or a thread is not to be had: then the lease goes on as it is. */
struct night_hold *night_hold_begin(struct night_keeper *keeper);

/* NULL is allowed. Waits for a renewal that is under way. */
void night_hold_end(struct night_hold *hold);

#endif
