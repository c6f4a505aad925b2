/* queue_backend.h: the functions that every kind of queue implements; lineage/queue.h documents them. */
#pragma once

#include <lineage/queue.h>

#include "../internal.h"

/* Waiting uses three functions. listen starts to watch for events; it sets *news if listening begins with this call or
 * had to begin again. hear tells whether anything has happened, and in how many seconds the first lease ends (INFINITY
 * without a lease). descriptor returns a descriptor that becomes readable when hear should be called, or -1 if it
 * should be called from time to time. */
struct queue_backend {
    enum lineage_status (*claim)(struct lineage_queue *, const struct lineage_claim_request *, size_t *which,
                                 struct lineage_claim *, struct lineage_error *);
    enum lineage_status (*renew)(struct lineage_queue *, struct lineage_claim *, double lease, const char *about,
                                 struct lineage_error *);
    enum lineage_status (*release)(struct lineage_queue *, struct lineage_claim *, enum lineage_release, struct lineage_error *);
    enum lineage_status (*each)(struct lineage_queue *, bool (*visit)(void *, const struct lineage_claim *), void *,
                                struct lineage_error *);
    enum lineage_status (*listen)(struct lineage_queue *, bool *news, struct lineage_error *);
    enum lineage_status (*hear)(struct lineage_queue *, bool *news, double *lease, struct lineage_error *);
    int (*descriptor)(struct lineage_queue *);
    void (*close)(struct lineage_queue *);
};

/* An implementation's own struct begins with this one. */
struct lineage_queue {
    const struct queue_backend *kind;
    struct lineage_store *store;
    char worker[LINEAGE_WORKER_MAX];
};

/* Opens a queue with claims as files in the store's directory. */
enum lineage_status queue_files_open(struct lineage_queue **queue, struct lineage_store *store, struct lineage_error *err);

/* Opens a queue with claims in PostgreSQL (schema/postgresql/002_queue.sql), for workers on any machine. */
enum lineage_status queue_postgres_open(struct lineage_queue **queue, struct lineage_store *store, struct lineage_error *err);
