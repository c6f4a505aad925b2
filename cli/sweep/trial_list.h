/*
 * trial_list.h: the trials of a night: first the trials of the sweep's list, then the proposed trials.
 *
 * A night keeps no state of its own. Which trials have run is read from the store: the notes of a row name the sweep, the
 * trial and its key (struct lineage_night_link in lineage/notes.h). So a night can be killed at any moment and continued
 * by the same command, and a copy of the store continues where the original was.
 */
#pragma once

#include "sweep/night_sweep.h"

struct trial_list {
    struct lineage_store *store;
    struct night_sweep sweep;
    struct night_trial *trials; /* [n] */
    size_t n, capacity;
    size_t n_proposed; /* rows of this sweep whose trial is not in the sweep's list */
    size_t n_again;    /* rows of this sweep that run a trial again, without those that a planner proposed */
    size_t n_failed;   /* those of n_again without a score */
    uint64_t last_seq; /* seq of the last row that was read */
    bool counted;      /* the rows from before the night were read, so their voids are known */
    double pace;       /* seconds per unit of work of the slowest measured trial; 0: no trial was measured */
    char checkpoints[NIGHT_PATH_MAX - 64]; /* directory */
};

/* Adds a trial; the list owns it from then on. Returns false when out of memory. */
bool trial_list_add(struct trial_list *list, const struct night_trial *trial);

/* Adds the trials of the sweep's list. Returns CLI_GO_ON or an exit status. */
int trial_list_add_sweep(struct trial_list *list);

/*
 * Removes trial i if it is the last trial and was proposed. Used when the night has no time left to run the trial, so
 * that it can be proposed again, and when another worker has run the same: its row counts then as that of a proposed trial. A trial of
 * the sweep's list is kept.
 */
void trial_list_forget(struct trial_list *list, size_t i);

/* The trial with this key, or NULL. */
struct night_trial *trial_list_find(const struct trial_list *list, uint64_t key);

/* Writes the piece of notes that links the row of trial i to this night. Returns out. */
const char *trial_list_link(char out[LINEAGE_NIGHT_LINK_MAX], const struct trial_list *list, size_t i);

/* Whether a later trial of the list starts from trial i. */
bool trial_list_is_parent(const struct trial_list *list, size_t i);

void trial_list_release(struct trial_list *list);

/* ---- the checkpoints that trials of a night leave for later trials ---- */

/* They are in checkpoints/ of the store: KEY.ckpt for a trial, warm-DIGEST.ckpt for a shared warm start. A store on a server also keeps
 * them on the server. */

/* Sets list->checkpoints. Returns CLI_GO_ON or an exit status. */
int checkpoint_files_find_directory(struct trial_list *list);

/* Path of the checkpoint of trial i. */
void checkpoint_file(char out[NIGHT_PATH_MAX], const struct trial_list *list, size_t i);

/*
 * Copy a checkpoint to the store's server, or fetch it from there if it is missing locally. Both do nothing if the
 * store is a directory. A failure is printed and has no other effect: the night then treats the file as missing.
 */
void checkpoint_file_send(const struct trial_list *list, const char *path);
void checkpoint_file_fetch(const struct trial_list *list, const char *path);

/* ---- estimates how many seconds a trial will take, from the trials that were measured ---- */

/* Trials of a sweep differ in length, so the length of one trial says little about the next. The time per unit of work
 * does carry over, and a recipe determines how many units of work its trial has. */

/* The duration that is assumed until a trial has been measured. */
enum { FORECAST_UNMEASURED_SECONDS = 60 };

/* Updates the pace from trial i, which has just ended; warmed_up: its time includes a warm start. */
void forecast_learn(struct trial_list *list, size_t i, bool warmed_up, double seconds);

/* Seconds that trial i will take; *warms_up tells whether they include a warm start. */
double forecast_seconds(const struct trial_list *list, size_t i, bool *warms_up);

/* Seconds that a proposed trial, which is not in the list yet, will take. */
double forecast_proposal(const struct trial_list *list, const struct night_trial *trial);

/* ---- replicate_trial.c: turns a trial that has a row into a trial of the night that runs it again, with a fresh seed ---- */

/* The settings are those of the listed or proposed trial whose key the row has. If this process has not seen that trial,
 * because another night or worker proposed it, they are taken from the row's parameters. */

/* Whether trials of the sweep run again by default: `confirm` of the file, or else whether the seed is a setting that
 * the sweep does not vary itself. */
bool replicate_is_default(const struct night_sweep *sweep);

/*
 * Adds to the list the run of trial exp_id that comes after `again` earlier ones, or finds it there. Its key follows from
 * that of the trial and the number, so that workers and later nights choose the same one. Returns CLI_GO_ON with *i; CLI_NO,
 * with the reason in why, if the trial cannot run again here; or an exit status.
 */
int replicate_trial_add(struct trial_list *list, const char *exp_id, size_t again, size_t *i, char why[NIGHT_WHY_MAX]);

/* ---- the warm start that several recipes of a night have in common, which is trained only once ---- */

/* Writes the path of the checkpoint that the shared warm start of this trial leaves. */
void warm_start_checkpoint(char out[NIGHT_PATH_MAX], const struct trial_list *list, const struct night_trial *trial);

/* Whether trial i begins with the same warm start as another trial of the list. */
bool warm_start_is_shared(const struct trial_list *list, size_t i);

/* ---- trial_list.c: finds out which trials of a night have a row in the store ---- */

/*
 * Reads the rows that were appended since the last call, and records which trials they belong to. Rows labelled
 * harness_abort do not count. The first call reads all rows and learns the pace of the trials. Returns
 * CLI_GO_ON or an exit status.
 */
int trial_rows_read(struct trial_list *list);

/*
 * Voids the rows of failed trials of this sweep that are to run again: those with one of these labels (bits 1 << label),
 * and those of listed trials whose command or files have changed since (night_sweep.h). Call it before trial_rows_read, under the night's lock. Returns CLI_GO_ON or an exit status.
 */
int trial_rows_retry(const struct trial_list *list, unsigned labels);

/* Whether the store has no measured trial yet, in which case the next trial is the baseline. */
bool trial_rows_need_baseline(const struct trial_list *list);

/*
 * Whether the other trials must wait for the row of the baseline: it is still needed, and a trial starts from the best
 * or a drawn parent, the baseline's seeds give the noise, its warm start is shared, or a planner reads its score.
 */
bool trial_rows_wait_for_baseline(const struct trial_list *list, bool planner);
