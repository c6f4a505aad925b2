/*
 * lineage/queue.h: sharing the trials of a night among workers.
 *
 * A claim says which worker runs a trial of a night, identified by its key (struct lineage_night_link), and until
 * when: its lease. The worker renews the lease while the trial runs. When a lease has ended, or its worker is known
 * to be gone, the trial is free for the next attempt. Claims are not rows and decide nothing about rows: a worker
 * that was suspended for longer than its lease may still finish first, and lineage_append_options.once_per_night
 * makes sure that only one row counts.
 *
 * For a store in a directory, claims are files beside the checkpoints of the night, shared by the processes of one
 * machine: a worker that was killed is recognised at once. Times are those of a clock that nobody can set. For a
 * store on a server, claims are on the server, shared by workers on any machine, and all times are the server's;
 * while it cannot be reached every call returns LINEAGE_EAWAY.
 *
 * Calling sequence of a worker
 *     lineage_queue_open; then, while there are trials without a row,
 *     lineage_queue_claim      LINEAGE_ENOTFOUND: other workers run all of them; lineage_queue_wait and ask again
 *     look at the rows again   another worker may have finished it between the last look and the claim
 *     run it, lineage_queue_renew every third of a lease, append its row with once_per_night
 *     lineage_queue_release    after the row, never before it
 */
#ifndef LINEAGE_QUEUE_H
#define LINEAGE_QUEUE_H

#include <poll.h>

#include <lineage/notes.h>
#include <lineage/store.h>

struct lineage_queue;

#define LINEAGE_WORKER_MAX 96       /* bytes of a worker's name, with the terminating NUL */
#define LINEAGE_CLAIM_ABOUT_MAX 4096 /* bytes of a worker's text about its trial, with the terminating NUL */

/* Which worker runs a trial. */
struct lineage_claim {
    char worker[LINEAGE_WORKER_MAX]; /* HOST:PID */
    char night[LINEAGE_NIGHT_SWEEP_MAX];
    uint64_t key;
    uint64_t attempt; /* counted from 1: how often the trial was claimed since it was last given up */
    double left;      /* seconds until its lease ends; negative if it has ended */
    bool free;        /* the lease has ended, or the worker is gone: another worker can claim it */
    char about[LINEAGE_CLAIM_ABOUT_MAX]; /* the worker's last text about the trial, "" if there is none */
    int hold;         /* used by the library */
};

/* A request for a claim. Every member is borrowed for the call. */
struct lineage_claim_request {
    const char *night;    /* name of the sweep */
    const uint64_t *keys; /* [n] keys of trials that may be run now, preferred trials first */
    size_t n;
    double lease;         /* seconds, above 0 */
    size_t at_most;       /* how many claims of this night all workers may hold, including this one; 0: no limit */
};

/* Opens the queue of a store. The store must stay open as long as the queue. Nothing is written before the first claim.
 * Like its store, a queue belongs to the process that opened it. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_queue_open(struct lineage_queue **queue, struct lineage_store *store,
                                                                     struct lineage_error *err);

/* Closes the queue; NULL is allowed. Claims that are still held stay valid until their leases end or this process
 * ends. */
LINEAGE_API void lineage_queue_close(struct lineage_queue *queue);

/* Claims the first trial that is free; *which is its position among the keys. Returns LINEAGE_ENOTFOUND, without a
 * message, if other workers hold all of these trials, or if at_most claims of the night are held already. Returns
 * LINEAGE_ELOCKED if the queue is so busy that the caller should ask later instead of waiting. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_queue_claim(struct lineage_queue *queue,
                                                                      const struct lineage_claim_request *request, size_t *which,
                                                                      struct lineage_claim *claim, struct lineage_error *err);

/*
 * Restarts the lease under this process's name, and optionally updates the text about the trial (by custom a JSON
 * object with its `name` and `params`; NULL: unchanged). The claim may have been made by another process of a fork that
 * called lineage_queue_leave. LINEAGE_ENOTFOUND, without a message, if another worker has claimed the trial meanwhile.
 * Waits for at most a second and then returns LINEAGE_ELOCKED, so that a process that watches a trial can call it.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_queue_renew(struct lineage_queue *queue, struct lineage_claim *claim,
                                                                      double lease, const char *about, struct lineage_error *err);

/* After a fork: the other process owns the claim now. */
LINEAGE_API void lineage_queue_leave(struct lineage_claim *claim);

/* Why a claim ends. DONE: its trial has a row, or was not started after all. GIVEN_UP: it should be run again. */
enum lineage_release { LINEAGE_CLAIM_DONE, LINEAGE_CLAIM_GIVEN_UP };

/* Ends a claim; does nothing if another worker has claimed the trial meanwhile. For a claim that is `free` it removes
 * the remains of the claim. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_queue_release(struct lineage_queue *queue, struct lineage_claim *claim,
                                                                        enum lineage_release why, struct lineage_error *err);

/*
 * Waits until it may be worth asking again. *news is true if a row was added, a claim was released, a lease ended,
 * or, in a directory, a worker is gone. Also returns when one of n descriptors is ready, which is then in their
 * revents as with poll(2) (fds may be NULL if n is 0), or after `seconds` seconds (INFINITY: no limit). The first
 * call starts to listen and returns at once with news, so a worker that asks after each call with news misses
 * nothing. A successful claim stops listening. Rows of this process are reported too. LINEAGE_EAWAY while the server
 * cannot be reached: wait a while and call again.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_queue_wait(struct lineage_queue *queue, double seconds,
                                                                     struct pollfd *fds, size_t n, bool *news,
                                                                     struct lineage_error *err);

/* Calls visit for each claim, sorted by key, including free ones; visit returns false to stop. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_queue_each(struct lineage_queue *queue,
                                                                     bool (*visit)(void *context,
                                                                                   const struct lineage_claim *claim),
                                                                     void *context, struct lineage_error *err);

#endif
