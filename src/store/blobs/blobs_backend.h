/* blobs_backend.h: blobs on a server. A build without PostgreSQL has no stores on servers. The caller checks names. */
#pragma once

#include <lineage/blobs.h>

#include "../internal.h"

/* Sends the tree at path, relative to the store's directory. If name is NULL, only the chunks are sent, and a later
 * call names the blob. */
enum lineage_status blobs_send(struct lineage_store *store, const char *path, const char *name, struct lineage_error *err);

/* Fetches the blob to the path of its name, which must be unused. Returns LINEAGE_ENOTFOUND, without a message, if the
 * blob does not exist. */
enum lineage_status blobs_bring(struct lineage_store *store, const char *name, struct lineage_error *err);

/* snapshots lists the snapshots that rows name, as a PostgreSQL array. */
enum lineage_status blobs_clean_server(struct lineage_store *store, const char *snapshots, double days,
                                       struct lineage_blob_stats *stats, struct lineage_error *err);

/* Returns LINEAGE_ENOTFOUND, without a message, if the blob does not exist. */
enum lineage_status blobs_find(struct lineage_store *store, const char *name, struct lineage_error *err);
