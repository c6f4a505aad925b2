/* blobs_backend.h: blobs on a server; a build without PostgreSQL has no such stores. Names are checked by the caller. */
#ifndef BLOBS_BLOBS_BACKEND_H
#define BLOBS_BLOBS_BACKEND_H

#include <lineage/blobs.h>

#include "../internal.h"

/* Send the tree at path, relative to the store's directory; name NULL: its pieces alone, to be named later. */
enum lineage_status blobs_send(struct lineage_store *store, const char *path, const char *name, struct lineage_error *err);

/* Bring it to the path of its name, which is free. LINEAGE_ENOTFOUND without a message. */
enum lineage_status blobs_bring(struct lineage_store *store, const char *name, struct lineage_error *err);

/* snapshots: those that rows name, as an array of PostgreSQL. */
enum lineage_status blobs_clean_server(struct lineage_store *store, const char *snapshots, double days,
                                       struct lineage_blob_stats *stats, struct lineage_error *err);

/* LINEAGE_ENOTFOUND without a message: it is not there. */
enum lineage_status blobs_find(struct lineage_store *store, const char *name, struct lineage_error *err);

#endif
