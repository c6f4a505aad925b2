/* snapshot.h: a work directory copied into the store. */
#ifndef LOG_SNAPSHOT_H
#define LOG_SNAPSHOT_H

#include "../internal.h"

#define SNAPSHOT_PATH_MAX 400

/* Zeroed: nothing copied. */
struct snapshot {
    char temporary[64];           /* snapshots/.copy-..., while it is not published */
    char path[SNAPSHOT_PATH_MAX]; /* snapshots/<exp_id>_<specialist>, once it is */
    bool copied;
};

/* Copy the tree at source under a temporary name and sync it. Anything but files, directories and symbolic
 * links is refused. On failure nothing stays behind. */
enum lineage_status snapshot_copy(struct snapshot *snapshot, int dir_fd, const char *source, bool sync,
                                  struct lineage_error *err);

/* Rename it to its final name. */
enum lineage_status snapshot_publish(struct snapshot *snapshot, int dir_fd, const char *exp_id,
                                     const char *specialist, bool sync, struct lineage_error *err);

/* Remove it, published or not. */
void snapshot_remove(struct snapshot *snapshot, int dir_fd);

/* Remove it unless it was published. */
void snapshot_release(struct snapshot *snapshot, int dir_fd);

#endif
