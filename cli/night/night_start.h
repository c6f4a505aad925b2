/*
 * night_start.h: finds what a trial of a night starts from: nothing, a shared warm start, or its parent.
 *
 * A recipe continues from its parent's checkpoint and cannot run without it. A command gets its parent's snapshot in
 * LINEAGE_PARENT_SNAPSHOT, if there is one, and decides itself what to do with it. If the sweep names files, the command
 * starts with those of its parent and cannot run without them.
 */
#pragma once

#include "night/night.h"
#include "share/lease.h"
#include "sweep/trial_parent.h"
#include "trial/checkpoint_origin.h"

struct night_start {
    char checkpoint[NIGHT_PATH_MAX]; /* for a recipe: what it starts from; "": nothing */
    struct origin origin;         /* the parent */
    struct trial_parent parent;   /* for a command: what its parent left */
    char refused[NIGHT_WHY_MAX]; /* why the trial cannot start; "": it can */
    char notes[256];                           /* how the parent was chosen, and what is missing */
};

/*
 * Finds what trial i starts from, trains a shared warm start if it is missing, and renews the claim through the lease
 * meanwhile. Returns CLI_GO_ON or an exit status; call night_start_release in either case.
 */
int night_start_find(struct night_start *start, struct night *night, size_t i, struct lease *lease);
void night_start_release(struct night_start *start);
