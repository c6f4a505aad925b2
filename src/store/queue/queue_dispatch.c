/* queue_dispatch.c: opens the kind of queue that a store has, and passes calls on to it. */
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "../clock.h"
#include "../log/log.h"
#include "queue_backend.h"

static void name_worker(char out[LINEAGE_WORKER_MAX])
{
    char host[LINEAGE_WORKER_MAX - 24];
    if (gethostname(host, sizeof host) != 0)
        strcpy(host, "localhost");
    host[sizeof host - 1] = '\0';
    snprintf(out, LINEAGE_WORKER_MAX, "%s:%jd", host, (intmax_t)getpid());
}

enum lineage_status lineage_queue_open(struct lineage_queue **queue, struct lineage_store *store, struct lineage_error *err)
{
    *queue = NULL;
    TRY(store_check_owner(store, err));
    TRY(log_has_requests(store->log) ? queue_postgres_open(queue, store, err) : queue_files_open(queue, store, err));
    (*queue)->store = store;
    name_worker((*queue)->worker);
    return LINEAGE_OK;
}

void lineage_queue_close(struct lineage_queue *queue)
{
    if (queue)
        queue->kind->close(queue);
}

/* Refuses impossible requests with an error, because they are mistakes of the caller and differ from a trial that
 * others hold. */
static enum lineage_status check(const struct lineage_queue *queue, double lease, struct lineage_error *err)
{
    if (!(lease > 0) || lease > 1e9)
        return store_fail(err, LINEAGE_EINVAL, "a lease is a number of seconds above 0");
    return store_check_owner(queue->store, err);
}

enum lineage_status lineage_queue_claim(struct lineage_queue *queue, const struct lineage_claim_request *request, size_t *which,
                                        struct lineage_claim *claim, struct lineage_error *err)
{
    *claim = (struct lineage_claim){.hold = -1};
    TRY(check(queue, request->lease, err));
    if (strlen(request->night) >= sizeof claim->night)
        return store_fail(err, LINEAGE_EINVAL, "the name of the night '%.60s...' is too long", request->night);
    return queue->kind->claim(queue, request, which, claim, err);
}

enum lineage_status lineage_queue_renew(struct lineage_queue *queue, struct lineage_claim *claim, double lease, const char *about,
                                        struct lineage_error *err)
{
    TRY(check(queue, lease, err));
    if (about && strlen(about) >= sizeof claim->about)
        return store_fail(err, LINEAGE_EINVAL, "the text about a claim has more than %zu bytes", sizeof claim->about - 1);
    return queue->kind->renew(queue, claim, lease, about, err);
}

enum lineage_status lineage_queue_release(struct lineage_queue *queue, struct lineage_claim *claim, enum lineage_release why,
                                          struct lineage_error *err)
{
    TRY(store_check_owner(queue->store, err));
    return queue->kind->release(queue, claim, why, err);
}

/* Seconds between two checks if there is no descriptor. A poll cannot last longer than 24 days. */
#define LOOK_SECONDS 1.0
#define LONGEST_SECONDS 1e6

/* A wait lasts this much longer than a lease, so that the lease has ended on all clocks. */
#define MOMENT_SECONDS 0.01

struct waiting {
    struct pollfd *fds; /* [n + 1]: the caller's n, and the queue's own */
    size_t n;
    double until, lease;
    bool over; /* the deadline has passed, or a descriptor is ready */
};

static enum lineage_status look(struct lineage_queue *queue, struct waiting *w, bool *news, struct lineage_error *err)
{
    w->lease = INFINITY;
    enum lineage_status status = queue->kind->listen(queue, news, err);
    return status == LINEAGE_OK && !*news ? queue->kind->hear(queue, news, &w->lease, err) : status;
}

/* If there is news already, this does not sleep and only reports which of the caller's descriptors are ready. */
static enum lineage_status sleep_until(struct lineage_queue *queue, struct waiting *w, bool *news, struct lineage_error *err)
{
    const int own = queue->kind->descriptor(queue);
    const double left = *news ? 0 : fmax(w->until - clock_now(), 0), lease = w->lease + MOMENT_SECONDS;
    const double pause = fmin(fmin(left, lease), own < 0 ? LOOK_SECONDS : LONGEST_SECONDS);
    w->fds[w->n] = (struct pollfd){.fd = own, .events = POLLIN};
    int ready = poll(w->fds, w->n + 1, (int)ceil(1000 * pause));
    if (ready < 0 && errno != EINTR)
        return store_fail_errno(err, LINEAGE_EIO, "cannot wait for the claims of %s", queue->store->dir);
    *news = *news || (ready == 0 && pause < left && (own < 0 || lease <= pause));
    w->over = ready > (w->fds[w->n].revents != 0) || (ready == 0 && pause >= left);
    return LINEAGE_OK;
}

enum lineage_status lineage_queue_wait(struct lineage_queue *queue, double seconds, struct pollfd *fds, size_t n, bool *news,
                                       struct lineage_error *err)
{
    struct waiting w = {.fds = calloc(n + 1, sizeof *w.fds), .n = n, .until = clock_now() + seconds};
    *news = false;
    enum lineage_status status = w.fds ? store_check_owner(queue->store, err) : store_no_memory(err);
    if (n && w.fds)
        memcpy(w.fds, fds, n * sizeof *fds);
    while (status == LINEAGE_OK && !*news && !w.over) {
        status = look(queue, &w, news, err);
        if (status == LINEAGE_OK)
            status = sleep_until(queue, &w, news, err);
    }
    if (n && w.fds)
        memcpy(fds, w.fds, n * sizeof *fds);
    free(w.fds);
    return status;
}

enum lineage_status lineage_queue_each(struct lineage_queue *queue,
                                       bool (*visit)(void *context, const struct lineage_claim *claim), void *context,
                                       struct lineage_error *err)
{
    TRY(store_check_owner(queue->store, err));
    return queue->kind->each(queue, visit, context, err);
}
