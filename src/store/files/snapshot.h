/* snapshot.h: a work directory copied into the store. */
#ifndef FILES_SNAPSHOT_H
#define FILES_SNAPSHOT_H

#include "../fail.h"
#include "places.h"

/* Zeroed: nothing copied. */
struct snapshot {
    char temporary[PLACE_MAX]; /* snapshots/.copy-..., while it is not published */
    char path[PLACE_MAX];      /* snapshots/<exp_id>_<specialist>, once it is */
    bool copied;
    bool locked; /* lock_fd holds the lock that tells a copy under way from one that was cut off */
    int lock_fd;
};

/* Copy the tree at source under a temporary name and sync it. Anything but files, directories and symbolic
 * links is refused; the store's own files are left out. On failure nothing stays behind. */
enum lineage_status snapshot_copy(struct snapshot *snapshot, int dir_fd, const char *source, bool sync,
                                  struct lineage_error *err);

/* Rename it to its final name, in place of what no row names. */
enum lineage_status snapshot_publish(struct snapshot *snapshot, int dir_fd, const char *path, bool sync,
                                     struct lineage_error *err);

/* Whether that name in snapshots/ is a copy whose maker is gone. */
bool snapshot_is_abandoned(int snapshots_fd, const char *name);

/* Remove such copies. */
void snapshot_clean_up(int dir_fd);

/* Remove it, published or not. */
void snapshot_remove(struct snapshot *snapshot, int dir_fd);

/* Remove it unless it was published. */
void snapshot_release(struct snapshot *snapshot, int dir_fd);

#endif
