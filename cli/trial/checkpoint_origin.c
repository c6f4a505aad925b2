#include "trial/checkpoint_origin.h"

#include <sys/stat.h>
#include <unistd.h>

#include <lineage/query.h>
#include <lineage/render.h>
#include <lineage/snapshot.h>

#include "cli.h"

void origin_release(struct origin *origin)
{
    free(origin->exp_id);
    *origin = (struct origin){0};
}

static enum lineage_status set_id(struct origin *origin, const char *exp_id, struct lineage_error *err)
{
    origin->exp_id = strdup(exp_id);
    return origin->exp_id ? LINEAGE_OK : cli_no_memory_error(err);
}

/*
 * A trial without a checkpoint is not an error here, since its id may suffice; origin->why says what is missing. The
 * checkpoint is looked up in the snapshot, not in the row, because rows are shared with tools that have no checkpoints.
 */
static void find_checkpoint(struct origin *origin, struct lineage_store *store, const struct lineage_trial *trial)
{
    struct lineage_error why;
    char *snapshot = NULL;
    if (lineage_snapshot_path(&snapshot, store, trial, &why) != LINEAGE_OK) {
        snprintf(origin->why, sizeof origin->why, "%s", why.text);
        return;
    }
    int n = snprintf(origin->checkpoint, ORIGIN_PATH_MAX, "%s/%s", snapshot, ORIGIN_CHECKPOINT);
    if (n >= ORIGIN_PATH_MAX || access(origin->checkpoint, F_OK) != 0) {
        origin->checkpoint[0] = '\0';
        snprintf(origin->why, sizeof origin->why, "the snapshot of trial '%.80s' holds no %s", trial->exp_id, ORIGIN_CHECKPOINT);
    }
    lineage_free(snapshot);
}

enum lineage_status origin_of_trial(struct origin *origin, struct lineage_store *store, const char *id, struct lineage_error *err)
{
    struct lineage_trial trial = {0};
    *origin = (struct origin){0};
    enum lineage_status status =
        strcmp(id, "best") == 0 ? lineage_best_kept(store, &trial, err) : lineage_find(store, id, &trial, err);
    if (status == LINEAGE_OK)
        status = set_id(origin, trial.exp_id, err);
    if (status == LINEAGE_OK)
        find_checkpoint(origin, store, &trial);
    lineage_trial_release(&trial);
    return status;
}

/* Whether the trial's snapshot holds this file, by device and inode, since many paths may lead to it. */
static bool holds(struct lineage_store *store, const struct lineage_trial *trial, const struct stat *checkpoint)
{
    struct origin candidate = {0};
    struct stat st;
    find_checkpoint(&candidate, store, trial);
    return candidate.checkpoint[0] && stat(candidate.checkpoint, &st) == 0 && st.st_dev == checkpoint->st_dev &&
           st.st_ino == checkpoint->st_ino;
}

/*
 * Visits all rows and calls stat for each, which is only necessary when a user names a checkpoint. A file that belongs
 * to no trial is not an error: the new trial then has no parent.
 */
enum lineage_status origin_of_checkpoint(struct origin *origin, struct lineage_store *store, const char *checkpoint,
                                         struct lineage_error *err)
{
    const struct lineage_query all = {0};
    struct lineage_cursor *cursor = NULL;
    struct lineage_trial trial = {0};
    struct stat st;
    char *found = NULL;
    *origin = (struct origin){0};
    snprintf(origin->checkpoint, ORIGIN_PATH_MAX, "%s", checkpoint);
    enum lineage_status status = stat(checkpoint, &st) == 0 ? lineage_query_open(&cursor, store, &all, err) : LINEAGE_ENOTFOUND;
    while (status == LINEAGE_OK && !found && (status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK)
        if (holds(store, &trial, &st))
            found = strdup(trial.exp_id);
    lineage_cursor_close(cursor);
    if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
        return status;
    status = set_id(origin, found ? found : "", err);
    free(found);
    return status;
}
