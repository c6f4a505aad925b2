/* claim_absent.c: replaces claim_postgres.c in a build without PostgreSQL, in which no store is on a server. */
#include "queue_backend.h"

enum lineage_status queue_postgres_open(struct lineage_queue **queue, struct lineage_store *store, struct lineage_error *err)
{
    *queue = NULL;
    return store_fail(err, LINEAGE_EINVAL, "%s: this lineage was built without PostgreSQL (LINEAGE_POSTGRES=OFF)", store->dir);
}
