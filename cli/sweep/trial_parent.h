/* trial_parent.h: finds the files from which a trial of a sweep of commands starts: those of its parent. */
#pragma once

#include <lineage/code.h>

#include "sweep/night_sweep.h"

struct trial_parent {
    char *snapshot;           /* the parent's snapshot; NULL: it was not kept, or there is no parent */
    struct lineage_code code; /* the parent's stored code, if has_code */
    bool has_code;
};

/*
 * Finds snapshot and code of the trial exp_id; NULL: there is no parent, and nothing is found. Returns CLI_GO_ON; CLI_NO,
 * with the reason in why, if the sweep names files and those of the parent are gone; or an exit status. Call
 * trial_parent_release in any case.
 */
int trial_parent_find(struct trial_parent *parent, const struct night_sweep *sweep, struct lineage_store *store,
                      const char *exp_id, char why[NIGHT_WHY_MAX]);
void trial_parent_release(struct trial_parent *parent);
