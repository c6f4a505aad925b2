/*
 * night_jobs.h: several trials at once, each in a process of its own that opens the store for itself.
 */
#pragma once

#include <sys/types.h>

#include "night/night.h"

struct night_job {
    pid_t pid;     /* 0: the slot is free */
    int report;    /* pipe from which the result is read */
    size_t i;      /* the trial */
    bool warms_up; /* the trial's time includes a warm start */
    double began;
};

struct night_jobs {
    struct night *night;
    struct night_job slot[NIGHT_SLOTS_MAX];
};

/* Starts trial i, which this process has claimed, in a free slot. Returns CLI_GO_ON or an exit status. */
int night_jobs_begin(struct night_jobs *jobs, size_t i, bool warms_up);

/*
 * Waits for a job to end and takes its result. Set others only if a slot is free: the wait then also ends when a trial
 * of another worker ends or becomes free. Returns CLI_GO_ON, CLI_INTERRUPTED or an exit status.
 */
int night_jobs_wait(struct night_jobs *jobs, bool others);
