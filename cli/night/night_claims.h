/*
 * night_claims.h: which trials this night runs, among the workers that share it (lineage/queue.h).
 *
 * A night by itself claims its trials too, so that there is one way to begin a trial: it is the only worker.
 */
#ifndef CLI_NIGHT_CLAIMS_H
#define CLI_NIGHT_CLAIMS_H

#include "night/night.h"
#include "trial/trial_run.h"

/* Seconds of a lease unless told otherwise; it is renewed three times as often. */
enum { NIGHT_LEASE_SECONDS = 60 };

/* Open the queue of the night's store. CLI_GO_ON or an exit status. */
int night_claims_open(struct night *night);
void night_claims_close(struct night *night);

/*
 * Claim the first of these trials, by their places, that nobody runs, at most so many of the night being held then (0: any
 * number). CLI_GO_ON with *i, its rows as new as the claim; NIGHT_WAIT if others are at all of them; NIGHT_AGAIN if another
 * had finished it before; or an exit status.
 */
int night_claim(struct night *night, const size_t *candidates, size_t n, size_t at_most, size_t *i);

/* Trial i is over: it has its row, or is to be run again. Nothing happens without a claim. */
void night_claim_end(struct night *night, size_t i, enum lineage_release why);

/* The process that was just forked has the claim. */
void night_claim_leave(struct night *night, size_t i);

/* Wait until others' trials may be over, or free again, or one of the descriptors is ready, for so many seconds at most
 * (INFINITY: without end). Who has looked in vain waits a little before the next look, so that a thousand workers at the end
 * of a list do not all look at each row. */
void night_claims_wait(struct night *night, double seconds, struct pollfd *fds, size_t n);

/* Clear away claims that nobody holds, of workers that were killed, and that nobody will ask for: of trials that have their
 * rows, and of proposed ones, in the place of which others are proposed. */
int night_claims_clear(struct night *night);

/* Count what others have at work; add the proposed ones of other machines to the past, if that is not NULL, as running.
 * CLI_GO_ON; NIGHT_WAIT if that cannot be known now; or an exit status. */
int night_claims_others(struct night_others *others, const struct night *night, struct propose_past *past);

/* What keeps the claim of trial i until there is its row. */
struct night_hold;
struct night_keeper {
    struct night *night;
    size_t i;
    bool told;               /* that another has it */
    struct night_hold *hold; /* while it is not watched (night_hold.h) */
};
struct trial_alive night_claim_alive(struct night_keeper *keeper);

/* By this queue; says it, once, if another has the trial. */
void night_claim_renew(struct night_keeper *keeper, struct lineage_queue *queue, const char *about);

#endif
