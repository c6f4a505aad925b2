/*
 * lease_idea.h: leasing an idea before it is trained (support/leases.h).
 *
 * Two ideas with parameters are the same if all of these are equal; one that only one of them names is compared with that of the best
 * trial, from which both start. Otherwise they are the same if the words of the earlier one state all changes of the other
 * (lineage/ideas.h), as for `--check-tried`, or the words of one all parameters of the other.
 */
#pragma once

#include "support/leases.h"

struct lease_idea {
    const char *agent;      /* not "" unless the lease is a run's */
    const char *hypothesis; /* NULL or "": none */
    const struct lineage_param *params; /* [n_params] those that are stated, not those that are inherited */
    size_t n_params;
};

/*
 * Adds a text to the list `reasons` for each lease of another agent, and if beside_trials for each running trial, that is of the
 * same idea. Returns CLI_GO_ON, or an exit status after printing an error.
 */
int lease_reasons(json_t *reasons, struct lineage_store *store, const struct lease_idea *idea, bool beside_trials);

/*
 * Takes a lease of `seconds` in place of the agent's own ones of the same idea. hold: see lease_write; a run's lease has no
 * time. Call it under leases_lock, after lease_reasons gave none. Returns CLI_GO_ON, or an exit status after printing an error.
 */
int lease_take(char id[LEASE_ID_BYTES], struct lineage_store *store, const struct lease_idea *idea, double seconds, int *hold);
