/*
 * lineage/blobs.h: files that trials start from, for a store that several machines share.
 *
 * For a store in a directory every function here returns at once, because the files are already in place. For a store
 * on a server, lineage_store_append sends the snapshot of a kept trial before the row that names it, and
 * lineage_snapshot_path brings it into the local directory. Other files are sent with the functions below, by their
 * path in that directory. Files travel in pieces of 1 MiB. Each piece is named by its SHA-256, which is checked when
 * it is stored and when it is read. A piece that the server already has is not sent again.
 */
#ifndef LINEAGE_BLOBS_H
#define LINEAGE_BLOBS_H

#include <lineage/store.h>

/* Sends a file or directory of the store, snapshots/NAME, checkpoints/NAME or lineage_code/NAME. Returns LINEAGE_ENOTFOUND if it does
 * not exist, LINEAGE_EINVAL for any other form of name, LINEAGE_EAWAY while the server cannot be reached. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_blob_put(struct lineage_store *store, const char *name,
                                                                   struct lineage_error *err);

/* Fetches such a file or directory, named as in lineage_blob_put, unless it exists locally. Only one process per
 * machine fetches at a time. Returns LINEAGE_ENOTFOUND, without a message, if the server does not have the file either,
 * and LINEAGE_ECORRUPT if the bytes of a piece do not match its name. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_blob_get(struct lineage_store *store, const char *name,
                                                                   struct lineage_error *err);

struct lineage_blob_stats {
    uint64_t n_blobs; /* number of snapshots and checkpoints removed */
    uint64_t n_bytes; /* bytes of the pieces removed */
};

/* Removes from the server snapshots that no row names, checkpoints made more than `days` days ago, and pieces that no
 * file uses any more. Anything younger than a day stays. *stats counts what was removed. For a store in a directory
 * *stats is zeroed and the call returns LINEAGE_OK. Returns LINEAGE_EAWAY while the server cannot be reached. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_blobs_clean(struct lineage_store *store, double days,
                                                                      struct lineage_blob_stats *stats,
                                                                      struct lineage_error *err);

#endif
