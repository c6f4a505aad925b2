/*
 * trial_list.h: the trials of a night: first the trials of the sweep's list, then the proposed trials.
 *
 * A night keeps no state of its own. Which trials have run is read from the store: the notes of a row name the sweep, the
 * trial and its key (struct lineage_night_link in lineage/notes.h). So a night can be killed at any moment and continued
 * by the same command, and a copy of the store continues where the original was.
 */
#pragma once

#include <lineage/notes.h>

#include "sweep/night_sweep.h"

struct trial_list {
    struct lineage_store *store;
    struct night_sweep sweep;
    struct night_trial *trials; /* [n] */
    size_t n, capacity;
    size_t n_proposed; /* rows of this sweep whose trial is not in the sweep's list */
    size_t n_again;    /* rows of this sweep that run a trial again, without those that a planner proposed */
    uint64_t last_seq; /* seq of the last row that was read */
    bool part;         /* the store had only the rows of the night when they were read (lineage_store_follow_night) */
    bool counted;      /* the rows from before the night were read, so their voids are known */
    double pace;       /* seconds per unit of work of the slowest measured trial; 0: no trial was measured (forecast.h) */
    char checkpoints[NIGHT_PATH_MAX - 64]; /* directory (checkpoint_files.h) */
};

/* Adds a trial; the list owns it from then on. Returns false when out of memory. */
bool trial_list_add(struct trial_list *list, const struct night_trial *trial);

/* Adds the trials of the sweep's list. Returns CLI_GO_ON or an exit status. */
int trial_list_add_sweep(struct trial_list *list);

/*
 * Removes trial i if it is the last trial and was proposed. Used when the night has no time left to run the trial, so
 * that it can be proposed again. A trial of the sweep's list is kept.
 */
void trial_list_forget(struct trial_list *list, size_t i);

/* The trial with this key, or NULL. */
struct night_trial *trial_list_find(const struct trial_list *list, uint64_t key);

/* Writes the piece of notes that links the row of trial i to this night. Returns out. */
const char *trial_list_link(char out[LINEAGE_NIGHT_LINK_MAX], const struct trial_list *list, size_t i);

/* Whether a later trial of the list starts from trial i. */
bool trial_list_is_parent(const struct trial_list *list, size_t i);

void trial_list_release(struct trial_list *list);
