/* queue.c: which kind of queue a store has, and who this process is in it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../log/log.h"
#include "queue_kind.h"

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
    enum lineage_status status = store_check_owner(store, err);
    if (status == LINEAGE_OK)
        status = log_has_requests(store->log) ? queue_postgres_open(queue, store, err) : queue_files_open(queue, store, err);
    if (status == LINEAGE_OK) {
        (*queue)->store = store;
        name_worker((*queue)->worker);
    }
    return status;
}

void lineage_queue_close(struct lineage_queue *queue)
{
    if (queue)
        queue->kind->close(queue);
}

/* What cannot be asked for is the caller's mistake and not a trial that others have. */
static enum lineage_status check(const struct lineage_queue *queue, double lease, struct lineage_error *err)
{
    if (!(lease > 0) || lease > 1e9)
        return store_fail(err, LINEAGE_EINVAL, "a lease is a number of seconds above 0");
    return store_check_owner(queue->store, err);
}

enum lineage_status lineage_queue_claim(struct lineage_queue *queue, const struct lineage_claim_request *request,
                                        size_t *which, struct lineage_claim *claim, struct lineage_error *err)
{
    *claim = (struct lineage_claim){.hold = -1};
    enum lineage_status status = check(queue, request->lease, err);
    if (status == LINEAGE_OK && strlen(request->night) >= sizeof claim->night)
        status = store_fail(err, LINEAGE_EINVAL, "the name of the night '%.60s...' is too long", request->night);
    return status == LINEAGE_OK ? queue->kind->claim(queue, request, which, claim, err) : status;
}

enum lineage_status lineage_queue_renew(struct lineage_queue *queue, struct lineage_claim *claim, double lease,
                                        const char *about, struct lineage_error *err)
{
    enum lineage_status status = check(queue, lease, err);
    if (status == LINEAGE_OK && about && strlen(about) >= sizeof claim->about)
        status = store_fail(err, LINEAGE_EINVAL, "what is said about a claim has more than %zu bytes",
                            sizeof claim->about - 1);
    return status == LINEAGE_OK ? queue->kind->renew(queue, claim, lease, about, err) : status;
}

enum lineage_status lineage_queue_release(struct lineage_queue *queue, struct lineage_claim *claim,
                                          enum lineage_release why, struct lineage_error *err)
{
    enum lineage_status status = store_check_owner(queue->store, err);
    return status == LINEAGE_OK ? queue->kind->release(queue, claim, why, err) : status;
}

enum lineage_status lineage_queue_each(struct lineage_queue *queue,
                                       bool (*visit)(void *context, const struct lineage_claim *claim), void *context,
                                       struct lineage_error *err)
{
    enum lineage_status status = store_check_owner(queue->store, err);
    return status == LINEAGE_OK ? queue->kind->each(queue, visit, context, err) : status;
}
