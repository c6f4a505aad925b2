/*
 * night.h: a sweep at work on a store.
 *
 * What was done is read from the store alone: the row of a trial names its sweep, its trial and the key
 * of struct trainer_trial (struct lineage_night_link in lineage/notes.h). A row of harness_abort does not
 * count. checkpoints/ in the store holds what later trials start from (KEY.ckpt, warm-DIGEST.ckpt);
 * it is locked while a night runs.
 */
#ifndef CLI_NIGHT_H
#define CLI_NIGHT_H

#include <lineage/notes.h>
#include <trainer/sweep.h>

#include "cli.h"
#include "trial/interrupts.h"

struct night {
    struct lineage_store *store;
    struct trainer_sweep *sweep;
    size_t n;                        /* trials */
    char **exp_id;                   /* [n] of the trial's row, NULL if it is still to be run */
    enum lineage_label *label;       /* [n] of that row */
    char dir[TRAINER_PATH_MAX - 64]; /* checkpoints/ */
    int lock;
    bool quiet;
    bool report;      /* keep report.html beside KNOWLEDGE.md */
    double hours;     /* INFINITY: no end */
    double pace;      /* most seconds per unit of work that a measured trial took; 0: none was */
    const char *file; /* of the sweep */
    struct interrupts interrupts;
};

/* Exit statuses; CLI_GO_ON if all is well. The sweep is read before the store is opened, or made. */
int night_read(struct night *night, const char *sweep);
int night_open(struct night *night, struct lineage_store *store);
int night_lock(struct night *night);
void night_close(struct night *night);

/* Find the rows of the trials that were run before. */
int night_read_rows(struct night *night);

/* What row i says of itself, a piece of notes. */
const char *night_link(char out[LINEAGE_NIGHT_LINK_MAX], const struct night *night, size_t i);

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

/* Whether the file of the warm start that trial i shares with others is there. */
bool night_has_warm_start(const struct night *night, size_t i);

/* ---- how long a trial takes ---- */

/* What is taken for the length of a trial while none is known. */
enum { NIGHT_LEAST_SECONDS = 60 };

/* Learn from the row of trial i, whose own run took so long; from a turn of this night. */
void night_learn_row(struct night *night, size_t i, double seconds);
void night_learn_turn(struct night *night, size_t i, bool warmed_up, double seconds);

/* Seconds that trial i will take, and whether a warm start will be a part of them. */
double night_forecast(const struct night *night, size_t i, bool *warms_up);

/* Run what is left, in order. */
int night_run(struct night *night);

#endif
