/* origin.h: which trial a checkpoint belongs to, and where the checkpoint of a trial is. */
#ifndef CLI_CHECKPOINT_ORIGIN_H
#define CLI_CHECKPOINT_ORIGIN_H

#include <lineage/store.h>
#include <trainer/recipe.h>

struct origin {
    char *exp_id;                      /* "" for none */
    char checkpoint[TRAINER_PATH_MAX]; /* "" if the trial has none to start from */
    char why[LINEAGE_ERROR_TEXT_MAX];  /* why it has none */
};

void origin_release(struct origin *origin);

/* The trial with that id, or the best one if id is "best". LINEAGE_ENOTFOUND if there is no such
 * trial. */
enum lineage_status origin_of_trial(struct origin *origin, struct lineage_store *store,
                                    const char *id, struct lineage_error *err);

/* The trial whose snapshot holds the file; exp_id is "" if it is of no trial of this store. */
enum lineage_status origin_of_checkpoint(struct origin *origin, struct lineage_store *store,
                                         const char *checkpoint, struct lineage_error *err);

#endif
