/* checkpoint_origin.h: finds the trial to which a checkpoint belongs, and the checkpoint of a trial. */
#pragma once

#include <lineage/store.h>

enum { ORIGIN_PATH_MAX = 1024 };

#define ORIGIN_CHECKPOINT "policy.ckpt" /* in the snapshot of a trained trial */

struct origin {
    char *exp_id;                      /* "": none */
    char checkpoint[ORIGIN_PATH_MAX]; /* "": the trial has no checkpoint to start from */
    char why[LINEAGE_ERROR_TEXT_MAX];  /* why it has none */
};

void origin_release(struct origin *origin);

/* Finds the trial with this id, or the best trial if id is "best". LINEAGE_ENOTFOUND if there is no such trial. */
enum lineage_status origin_of_trial(struct origin *origin, struct lineage_store *store, const char *id,
                                    struct lineage_error *err);

/* Finds the trial whose snapshot holds the file; exp_id is "" if no trial of this store does. */
enum lineage_status origin_of_checkpoint(struct origin *origin, struct lineage_store *store, const char *checkpoint,
                                         struct lineage_error *err);
