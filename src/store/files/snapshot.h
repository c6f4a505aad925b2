/* snapshot.h: a work directory copied into the store. */
#pragma once

#include "../fail.h"
#include "places.h"

/* A zeroed struct means that nothing was copied. */
struct snapshot {
    char temporary[PLACE_MAX]; /* snapshots/.copy-..., the path before publication */
    char path[PLACE_MAX];      /* snapshots/<exp_id>_<specialist>, the path after publication */
    bool copied;
    bool locked; /* lock_fd holds the lock that distinguishes a copy in progress from an abandoned one */
    int lock_fd;
};

/* Copies the tree at source under a temporary name and syncs it. Refuses anything but files, directories and symbolic
 * links; leaves out the store's own files. After a failure nothing is left behind. */
enum lineage_status snapshot_copy(struct snapshot *snapshot, int dir_fd, const char *source, bool sync,
                                  struct lineage_error *err);

/* Renames the copy to its final name, replacing a directory that no row names. May be called again with another name, if an
 * earlier attempt could not take the first name back. */
enum lineage_status snapshot_publish(struct snapshot *snapshot, int dir_fd, const char *path, bool sync,
                                     struct lineage_error *err);

/* Whether that name in snapshots/ is a copy whose process has died. */
bool snapshot_is_abandoned(int snapshots_fd, const char *name);

/* Removes the copies in snapshots/ whose processes have died. */
void snapshot_clean_up(int dir_fd);

/* Removes the snapshot, whether published or not. */
void snapshot_remove(struct snapshot *snapshot, int dir_fd);

/* Removes the copy unless it was published. */
void snapshot_release(struct snapshot *snapshot, int dir_fd);
