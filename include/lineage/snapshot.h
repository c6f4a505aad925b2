/*
 * lineage/snapshot.h: frozen work directories of kept trials.
 *
 * A snapshot is taken by lineage_store_append (snapshot_dir). It is copied to a temporary name, synced and
 * renamed to snapshots/<exp_id>_<specialist>/ before the row that names it is written.
 */
#ifndef LINEAGE_SNAPSHOT_H
#define LINEAGE_SNAPSHOT_H

#include <lineage/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Path of the trial's snapshot directory, in *path (free with lineage_free): the store's and the row's. A row may come
 * from anybody: LINEAGE_ENOTFOUND if the trial has none, it is gone, or its path is absolute, has `..` or leads through
 * a symbolic link.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_snapshot_path(char **path, struct lineage_store *store, const struct lineage_trial *trial,
                      struct lineage_error *err);

#ifdef __cplusplus
}
#endif

#endif
