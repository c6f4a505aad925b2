/*
 * lineage/snapshot.h: frozen work directories of kept trials.
 *
 * lineage_store_append takes a snapshot if its option snapshot_dir is set: the directory is copied under a temporary
 * name, synced, and renamed to snapshots/<exp_id>_<specialist>/ before the row that names it is written.
 */
#ifndef LINEAGE_SNAPSHOT_H
#define LINEAGE_SNAPSHOT_H

#include <lineage/store.h>

/* Returns the path of the trial's snapshot directory in *path (free with lineage_free): the store's directory and the
 * row's snapshot_path. Returns LINEAGE_ENOTFOUND if the trial has no snapshot or if the snapshot was removed. Because
 * anybody may have written the row, it returns the same if the path is absolute, contains `..` or leads through a
 * symbolic link. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_snapshot_path(char **path, struct lineage_store *store,
                                                                        const struct lineage_trial *trial,
                                                                        struct lineage_error *err);

#endif
