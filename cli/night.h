/*
 * night.h: a sweep at work on a store.
 *
 * What was done is read from the store alone: the row of a trial says in its notes "night SWEEP,
 * trial NAME, key KEY", the key being that of struct trainer_trial. A row of harness_abort does not
 * count. checkpoints/ in the store holds what later trials start from (KEY.ckpt, warm-DIGEST.ckpt);
 * it is locked while a night runs.
 */
#ifndef CLI_NIGHT_H
#define CLI_NIGHT_H

#include <trainer/sweep.h>

#include "cli.h"
#include "interrupts.h"

struct night {
    struct lineage_store *store;
    struct trainer_sweep *sweep;
    size_t n;                        /* trials */
    char **exp_id;                   /* [n] of the trial's row, NULL if it is still to be run */
    enum lineage_label *label;       /* [n] of that row */
    char dir[TRAINER_PATH_MAX - 64]; /* checkpoints/ */
    int lock;
    bool quiet;
    double hours; /* INFINITY: no end */
    struct interrupts interrupts;
};

/* Exit statuses; CLI_GO_ON if all is well. */
int night_open(struct night *night, struct lineage_store *store, const char *sweep);
int night_lock(struct night *night);
void night_close(struct night *night);

/* Find the rows of the trials that were run before. */
int night_read_rows(struct night *night);

/* What row i says of itself, a piece of notes; out holds TRAINER_TRIAL_NAME_MAX + 128 bytes. */
enum { NIGHT_REMARK_MAX = TRAINER_TRIAL_NAME_MAX + 128 };
const char *night_remark(char out[NIGHT_REMARK_MAX], const struct night *night, size_t i);

/* File in checkpoints/ of a trial, and of the warm start that a recipe begins with. */
void night_checkpoint(char out[TRAINER_PATH_MAX], const struct night *night, size_t i);
void night_warm_checkpoint(char out[TRAINER_PATH_MAX], const struct night *night,
                           const struct trainer_recipe *recipe);

/* The recipe that does nothing but the warm start of another: equal for trials that can share it.
 */
void night_warm_recipe(struct trainer_recipe *warm, const struct trainer_recipe *recipe);

/* Whether another trial that is still to be run starts with the same warm start, or from trial i.
 */
bool night_shares_warm_start(const struct night *night, size_t i);
bool night_is_parent(const struct night *night, size_t i);

/* Run what is left, in order. */
int night_run(struct night *night);

#endif
