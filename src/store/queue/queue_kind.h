/* queue_kind.h: what every kind of queue can do; lineage/queue.h says what each function means. */
#ifndef QUEUE_QUEUE_KIND_H
#define QUEUE_QUEUE_KIND_H

#include <lineage/queue.h>

#include "../internal.h"

struct queue_kind {
    enum lineage_status (*claim)(struct lineage_queue *, const struct lineage_claim_request *, size_t *which,
                                 struct lineage_claim *, struct lineage_error *);
    enum lineage_status (*renew)(struct lineage_queue *, struct lineage_claim *, double lease, const char *about,
                                 struct lineage_error *);
    enum lineage_status (*release)(struct lineage_queue *, struct lineage_claim *, enum lineage_release,
                                   struct lineage_error *);
    enum lineage_status (*each)(struct lineage_queue *, bool (*visit)(void *, const struct lineage_claim *), void *,
                                struct lineage_error *);
    void (*close)(struct lineage_queue *);
};

/* An implementation's own struct begins with this one. */
struct lineage_queue {
    const struct queue_kind *kind;
    struct lineage_store *store;
    char worker[LINEAGE_WORKER_MAX];
};

/* Claims as files of the store's directory. */
enum lineage_status queue_files_open(struct lineage_queue **queue, struct lineage_store *store, struct lineage_error *err);

/* Claims in PostgreSQL (schema/postgresql/002_queue.sql), for workers on any machine. */
enum lineage_status queue_postgres_open(struct lineage_queue **queue, struct lineage_store *store, struct lineage_error *err);

#endif
