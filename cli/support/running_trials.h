/*
 * running_trials.h: the running trials of a store: those on this machine, from their work directories, and those of nights on
 * other machines, of which only the claim is known.
 */
#pragma once

#include <lineage/queue.h>

#include "cli.h"

struct running_trial {
    char job[256];                              /* name of the work directory without its prefix; "" if unknown */
    char name[256], phase[64];
    double step, steps, started, train_seconds; /* 0: unknown */
    double elapsed, left;                       /* seconds; NAN: unknown */
    bool held;                                  /* false: the process that watched the trial was killed */
    json_t *metrics;                            /* the latest value of each; an object, owned */
    json_t *params;                             /* name -> number or text, owned; NULL: unknown */
    char hypothesis[512];                       /* its beginning; "" if there is none */
    const struct lineage_claim *claim;          /* NULL: none */
};

struct running_trials {
    struct running_trial *list; /* [n] */
    size_t n, room;
    struct running_claim *claims; /* [n_claims] */
    size_t n_claims, claims_room;
    double now;
    bool out_of_memory;
};

/* Release *trials in any case. */
enum lineage_status running_trials_load(struct running_trials *trials, struct lineage_store *store, struct lineage_error *err);
void running_trials_release(struct running_trials *trials);
