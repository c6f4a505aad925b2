/*
 * lineage/blobs.h: files that trials start from, where a store is shared by machines.
 *
 * In a directory they are where they are, and every function here has nothing to do. Of a store on a server, snapshots of
 * kept trials are sent there by lineage_store_append before the row that names them, and brought into the local directory
 * by lineage_snapshot_path; what else is to travel is named here, by its path in that directory. Bytes are sent in pieces of
 * 1 MiB that are named by their SHA-256, which is checked where they are stored and where they are brought; pieces that are
 * there are not sent again.
 */
#ifndef LINEAGE_BLOBS_H
#define LINEAGE_BLOBS_H

#include <lineage/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Send a file or directory of the store's directory, snapshots/NAME or checkpoints/NAME. LINEAGE_ENOTFOUND if it is not
 * there, LINEAGE_EINVAL for a name of another form, LINEAGE_EAWAY while the server cannot be reached.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_blob_put(struct lineage_store *store, const char *name, struct lineage_error *err);

/* Bring such a file or directory, unless it is there; one process of a machine at a time. LINEAGE_ENOTFOUND without a message if it is nowhere,
 * LINEAGE_ECORRUPT if a piece is not what its name says. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_blob_get(struct lineage_store *store, const char *name, struct lineage_error *err);

struct lineage_blob_stats {
    uint64_t n_blobs; /* snapshots and checkpoints that were removed */
    uint64_t n_bytes; /* of the pieces that were */
};

/*
 * Remove from the server, of what is older than a day: snapshots that no row names, checkpoints made more than so many days
 * ago, and pieces that belong to nothing any more. *stats is what went; zeros, and LINEAGE_OK, of a store in a directory.
 * LINEAGE_EAWAY while the server cannot be reached.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_blobs_clean(struct lineage_store *store, double days, struct lineage_blob_stats *stats, struct lineage_error *err);

#ifdef __cplusplus
}
#endif

#endif
