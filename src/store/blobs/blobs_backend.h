/* blobs_backend.h: blobs on a server; a build without PostgreSQL has no such stores. The caller checks names. */
#ifndef BLOBS_BLOBS_BACKEND_H
#define BLOBS_BLOBS_BACKEND_H

#include <lineage/blobs.h>

#include "../internal.h"

/* Sends the tree at path, relative to the store's directory. name NULL: only its pieces, which are named later. */
enum lineage_status blobs_send(struct lineage_store *store, const char *path, const char *name, struct lineage_error *err);

/* Fetches it to the path of its name, which must be unused. LINEAGE_ENOTFOUND without a message. */
enum lineage_status blobs_bring(struct lineage_store *store, const char *name, struct lineage_error *err);

/* snapshots: those that rows name, as a PostgreSQL array. */
enum lineage_status blobs_clean_server(struct lineage_store *store, const char *snapshots, double days,
                                       struct lineage_blob_stats *stats, struct lineage_error *err);

/* LINEAGE_ENOTFOUND, without a message, if it does not exist. */
enum lineage_status blobs_find(struct lineage_store *store, const char *name, struct lineage_error *err);

#endif
