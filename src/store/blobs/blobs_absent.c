/* blobs_absent.c: replaces blobs_postgres.c in a build without PostgreSQL, in which no store is on a server. */
#include "blobs_backend.h"

static enum lineage_status absent(struct lineage_error *err)
{
    return store_fail(err, LINEAGE_EINVAL, "this lineage was built without PostgreSQL (LINEAGE_POSTGRES=OFF)");
}

enum lineage_status blobs_send(struct lineage_store *store, const char *path, const char *name, struct lineage_error *err)
{
    (void)store;
    (void)path;
    (void)name;
    return absent(err);
}

enum lineage_status blobs_bring(struct lineage_store *store, const char *name, struct lineage_error *err)
{
    (void)store;
    (void)name;
    return absent(err);
}

enum lineage_status blobs_clean_server(struct lineage_store *store, const char *snapshots, double days,
                                       struct lineage_blob_stats *stats, struct lineage_error *err)
{
    (void)store;
    (void)snapshots;
    (void)days;
    (void)stats;
    return absent(err);
}

enum lineage_status blobs_find(struct lineage_store *store, const char *name, struct lineage_error *err)
{
    (void)store;
    (void)name;
    return absent(err);
}
