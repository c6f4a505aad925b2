/*
 * night_jobs.h: several trials at once, each in a process of its own that opens the store for itself.
 */
#ifndef CLI_NIGHT_JOBS_H
#define CLI_NIGHT_JOBS_H

#include <sys/types.h>

#include "night/night.h"

struct night_job {
    pid_t pid; /* 0: the slot is free */
    int report;
    size_t i;
    bool warms_up;
    double began;
};

struct night_jobs {
    struct night *night;
    struct night_job slot[NIGHT_SLOTS_MAX];
};

/* Begin trial i in a free slot. CLI_GO_ON or an exit status. */
int night_jobs_begin(struct night_jobs *jobs, size_t i, bool warms_up);

/* Wait for one to end, and take what became of it; or for others' trials too, as there is a free slot. CLI_GO_ON,
 * CLI_INTERRUPTED or an exit status. */
int night_jobs_wait(struct night_jobs *jobs, bool others);

/* Environment of a slot, ended by NULL; NULL: none. */
const char *const *night_slot_environment(const struct night *night, size_t slot);

#endif
