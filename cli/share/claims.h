/*
 * claims.h: decides which trials this process runs, among the workers that share the night (lineage/queue.h).
 *
 * A night that runs alone claims its trials as well, as the only worker, so that there is only one way to start a
 * trial.
 */
#pragma once

#include <poll.h>

#include "propose/propose_past.h"
#include "sweep/trial_list.h"

/* Default seconds of a lease; it is renewed after a third of that time. */
enum { CLAIM_LEASE_SECONDS = 60 };

/*
 * Returned beside CLI_GO_ON and exit statuses. CLAIM_WAIT: other workers hold all the candidates, or the queue does not
 * answer; ask again later. CLAIM_AGAIN: the claimed trial turned out to have a row; choose from the list again.
 */
enum { CLAIM_WAIT = -2, CLAIM_AGAIN = -3 };

struct claims {
    struct trial_list *list;
    struct lineage_queue *queue; /* NULL: closed */
    bool shared;     /* other workers share the list (--worker) */
    double lease;    /* seconds */
    bool unanswered; /* the latest claim failed because the queue did not answer */
    double pause;    /* seconds to wait before the next look if the last found nothing */
};

/* Opens the queue of the list's store. Returns CLI_GO_ON or an exit status. */
int claims_open(struct claims *claims);
void claims_close(struct claims *claims);

/*
 * Claims the first trial that no worker runs among n candidates, which are indices of trials. Claims nothing if workers
 * already hold at_most trials of the night (0: no limit). Returns CLI_GO_ON with *i, after reading the rows again;
 * CLAIM_WAIT; CLAIM_AGAIN; or an exit status.
 */
int claims_take(struct claims *claims, const size_t *candidates, size_t n, size_t at_most, size_t *i);

/*
 * Ends the claim of trial i, which has its row or is to be run again. Does nothing if this process holds no claim of
 * it.
 */
void claims_end(struct claims *claims, size_t i, enum lineage_release why);

/* Forgets the claim of trial i without ending it: the process that was just forked has it now. */
void claims_leave(struct claims *claims, size_t i);

/*
 * Removes claims that killed workers have left and that no worker will take again: claims of trials that have a row,
 * and claims of proposed trials, which other proposals replace. Returns CLI_GO_ON or an exit status.
 */
int claims_clear(struct claims *claims);

/* ---- sweep version ---- */

/*
 * Tells workers that run another version of the sweep. Workers share a night by the sweep's name. If one of them has an
 * edited sweep, the trials of both versions are run as one night, and nobody notices. So each claim carries the digest of
 * its worker's sweep (night_sweep.digest), and a worker stops if a claim of the same night has another one.
 */

enum { SWEEP_VERSION_NOTES_MAX = 160 };

/*
 * Returns the text about a running trial, a JSON object ("" before it runs), with the sweep's digest; the caller frees it. NULL
 * when out of memory or if about is not a JSON object.
 */
char *sweep_version_mark(const struct night_sweep *sweep, const char *about);

/*
 * Refuses the night, with a message and CLI_USAGE, if another worker runs another version of the sweep. Returns CLI_GO_ON, also if
 * the queue does not answer, or an exit status.
 */
int sweep_version_check(const struct claims *claims);

/*
 * Marks the claim of trial i, which was just made, and looks for other versions again, because two workers may have begun in the
 * same moment. Then only the one with the larger digest is refused, and its claim is given up. Returns the same values.
 */
int sweep_version_claimed(struct claims *claims, size_t i);

/* Writes the piece of notes by which a row of a shared night names its worker's program and sweep; "" for a night that runs
 * alone. Returns out. */
const char *sweep_version_notes(char out[SWEEP_VERSION_NOTES_MAX], const struct claims *claims);

/* ---- other workers ---- */

/* counts the trials that other workers of a night are running, and waits for them. */

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
