/*
 * leases.h: ideas that agents have leased: telemetry/leases/ID.json each, {"agent", "hypothesis", "params", "made", "until"} and, of a
 * trial that runs, "runs".
 *
 * An agent leases an idea before it trains, so that no other agent of the store trains the same. A lease that an agent takes ends
 * with its time or its trial. That of a running trial is locked by the process that runs it, so a killed one leaves nothing. Whether
 * two ideas are the same is decided in output/lease_idea.h.
 */
#pragma once

#include "cli.h"

enum { LEASE_ID_BYTES = 7, LEASE_AGENT_MAX = 96 };

struct lease {
    char id[LEASE_ID_BYTES];
    const json_t *object; /* borrowed */
    const char *agent;    /* borrowed from it */
    double left;          /* seconds; NAN while a trial runs with it */
    bool runs;
};

/* Visits the leases that count, by id. A store without leases costs one system call. */
typedef void lease_visit(void *context, const struct lease *lease);
void leases_each(const char *store, lease_visit *visit, void *context);

/* Whether anybody has leased an idea of the store. */
bool leases_are_used(const char *store);

/*
 * While the descriptor is open, no other process takes or ends a lease. Returns -1 after printing why: the store is on a server, or a
 * process does not let go for half a minute. Removes leases that count no more.
 */
int leases_lock(const char *store);

/* Writes a lease under the lock. hold: the descriptor that keeps a running trial's lease until it is closed; NULL: it has a time.
 * Returns false after printing why. */
bool lease_write(char id[LEASE_ID_BYTES], const char *store, const json_t *object, int *hold);

/* Ends a lease under the lock. Returns false if there is none of that id. */
bool lease_remove(const char *store, const char *id);
