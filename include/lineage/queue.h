/*
 * lineage/queue.h: the trials of a night shared out among workers.
 *
 * A claim says who runs a trial of a night, named by its key (struct lineage_night_link), and until when: its lease. Who
 * holds one renews it while the trial runs. A lease that ended, or whose holder is known to be gone, says nothing of the
 * trial: it is free again, for the next attempt. Claims are no rows and decide nothing about rows: a worker that was
 * stopped for longer than its lease may still come first, and lineage_append_options.once_per_night sees to it that one
 * row counts.
 *
 * In a directory claims are files beside the checkpoints of the night, for the processes of one machine: a holder that
 * was killed is known to be gone at once. Times are those of one clock that nobody sets. Of a store on a server they are
 * on the server, for workers on any machine, and all times are the server's; while it cannot be reached every call is
 * LINEAGE_EAWAY.
 *
 * Calling sequence of a worker
 *     lineage_queue_open; then, while there are trials without a row,
 *     lineage_queue_claim      LINEAGE_ENOTFOUND: others are at all of them; lineage_queue_wait and ask again
 *     look at the rows again   another may have finished it between the last look and the claim
 *     run it, lineage_queue_renew every third of a lease, append its row with once_per_night
 *     lineage_queue_release    after the row, never before it
 */
#ifndef LINEAGE_QUEUE_H
#define LINEAGE_QUEUE_H

#include <poll.h>

#include <lineage/notes.h>
#include <lineage/store.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lineage_queue;

#define LINEAGE_WORKER_MAX 96       /* bytes of a worker's name, with the end */
#define LINEAGE_CLAIM_ABOUT_MAX 4096 /* of what a holder says of its trial, with the end */

/* Who runs a trial. */
struct lineage_claim {
    char worker[LINEAGE_WORKER_MAX]; /* HOST:PID */
    char night[LINEAGE_NIGHT_SWEEP_MAX];
    uint64_t key;
    uint64_t attempt; /* from 1: how often it was claimed since it was last given up */
    double left;      /* seconds of its lease, below 0 if that has ended */
    bool free;        /* the lease has ended, or the worker is gone: it can be claimed by another */
    char about[LINEAGE_CLAIM_ABOUT_MAX]; /* what the holder said last, "" if nothing */
    int hold;         /* the library's own */
};

/* What is asked for. Everything is borrowed. */
struct lineage_claim_request {
    const char *night;    /* name of the sweep */
    const uint64_t *keys; /* [n] trials that may be run now, the most wanted first */
    size_t n;
    double lease;         /* seconds, above 0 */
    size_t at_most;       /* claims of this night that may be held then, this one counted; 0: any number */
};

/*
 * Open the queue of a store, which must outlive it. Nothing is written before the first claim. A queue belongs to the
 * process that opened it, as its store does.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_queue_open(struct lineage_queue **queue, struct lineage_store *store, struct lineage_error *err);

/* NULL is allowed. Claims that are still held stay so until their leases end, or until this process does. */
LINEAGE_API void lineage_queue_close(struct lineage_queue *queue);

/*
 * Claim the first trial that is free: *which is its place among the keys. LINEAGE_ENOTFOUND, without a message, if all
 * are held by others, or as many of the night as at_most allows; LINEAGE_ELOCKED if others are at the queue for so long
 * that asking again later is better than to wait.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_queue_claim(struct lineage_queue *queue, const struct lineage_claim_request *request, size_t *which,
                    struct lineage_claim *claim, struct lineage_error *err);

/*
 * Let the lease begin anew, under this process's name, and say something about the trial (a text, by custom a JSON object
 * with its `name` and `params`; NULL: as before). The claim may be another process's of a fork, which has left it
 * (lineage_queue_leave). LINEAGE_ENOTFOUND, without a message, if the trial was claimed by another meanwhile.
 * Waits a second at most, so that who watches a trial can call it: LINEAGE_ELOCKED then.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_queue_renew(struct lineage_queue *queue, struct lineage_claim *claim, double lease, const char *about,
                    struct lineage_error *err);

/* After a fork: the other process has the claim now. */
LINEAGE_API void lineage_queue_leave(struct lineage_claim *claim);

/* Why a claim ends: its trial has a row, or was not begun after all; or it is to be run again. */
enum lineage_release { LINEAGE_CLAIM_DONE, LINEAGE_CLAIM_GIVEN_UP };

/* End a claim; nothing happens if another has the trial by now. Of a claim that is `free` it clears away what is left. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_queue_release(struct lineage_queue *queue, struct lineage_claim *claim, enum lineage_release why,
                      struct lineage_error *err);

/*
 * Wait until it may be worth asking again: *news says that a row came into the log, that a claim was released, that its lease
 * ended, or, in a directory, that its holder is gone. Else until one of n descriptors is ready, which is then in their revents
 * as poll(2) has it (fds may be NULL where n is 0), or for so many seconds (INFINITY: without end). The first call begins to
 * listen and answers at once, with news: so whoever asks behind each call that has news misses nothing. A claim that is had
 * ends listening. Rows of this process are told like others'. LINEAGE_EAWAY while a server is away: wait a while, and call
 * again.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_queue_wait(struct lineage_queue *queue, double seconds, struct pollfd *fds, size_t n, bool *news,
                   struct lineage_error *err);

/* Call visit for each claim there is, by key, free ones too; false stops. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_queue_each(struct lineage_queue *queue, bool (*visit)(void *context, const struct lineage_claim *claim),
                   void *context, struct lineage_error *err);

#ifdef __cplusplus
}
#endif

#endif
