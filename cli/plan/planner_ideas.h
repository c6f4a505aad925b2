/*
 * planner_ideas.h: the trials of the store as a set of ideas (lineage/ideas.h), for one turn of a planner.
 *
 * The gate compares proposals with the set, and the request contains facts from it. The set is loaded when one of them
 * first needs it, and once per turn: rows and running trials may change between turns.
 */
#pragma once

#include <lineage/ideas.h>

#include "plan/planning.h"

struct planner_ideas {
    const struct planning *planning;
    struct lineage_ideas *set; /* NULL: not loaded yet */
};

/*
 * Loads the set unless it is loaded: the rows, the commands that run in this store's directory, and the trials of this
 * night that workers run on other machines. Returns CLI_GO_ON or an exit status.
 */
int planner_ideas_load(struct planner_ideas *ideas);
void planner_ideas_release(struct planner_ideas *ideas);
