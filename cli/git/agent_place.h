/*
 * agent_place.h: work trees of agents: linked work trees of git (git-worktree(1)) whose private directory holds
 * lineage-agent.json, {"agent": NAME, "gpu": TEXT}. `git worktree remove` and `prune` remove it with the work tree.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum { AGENT_NAME_MAX = 96, AGENT_GPU_MAX = 64 };

struct agent_place {
    char agent[AGENT_NAME_MAX];
    char gpu[AGENT_GPU_MAX]; /* what CUDA_VISIBLE_DEVICES is for its trials; "": not set */
    char path[PATH_MAX], branch[256], head[48]; /* of the work tree; only agent_places_each sets them */
};

/* Whether this process works in the work tree of an agent. */
bool agent_place_here(struct agent_place *place);

/* Visits those of the repository around dir. Returns false if there is no repository. */
bool agent_places_each(const char *dir, void (*visit)(void *context, const struct agent_place *place), void *context);

/* Makes a work tree at place->path for place->agent, on the new branch place->branch at the commit. Returns false after printing why. */
bool agent_place_make(const char *dir, const struct agent_place *place, const char *commit);

/* Writes the name that leases and rows give the agent that works here: `given`, or LINEAGE_AGENT, or that of the work tree, or "".
 * Returns false after printing that it is too long or has control characters. */
bool agent_name(char out[AGENT_NAME_MAX], const char *given);
