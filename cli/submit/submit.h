/*
 * submit.h: gives the workers of a night to Slurm, which decides where and when they run: an array job that puts itself back into
 * the queue when Slurm ends it. The batch script can be printed instead, and changed before it is submitted by hand.
 */
#pragma once

#include "sweep/night_sweep.h"

enum { SUBMIT_WORKERS_MAX = 10000 };

/* Workers of a night that are to be given to Slurm. */
struct submission {
    const struct night_sweep *sweep;
    const char *place;          /* the store: postgres://.. */
    const char *const *options; /* arguments of each worker behind the store, ended by NULL */
    double hours;               /* INFINITY: no limit */
    size_t workers;             /* 0: one */
    size_t gpus;                /* of each worker */
    const char *const *extra;   /* more options of sbatch, ended by NULL; NULL: none */
    bool print;                 /* print the text instead of submitting it */
};

/* Prints or submits the workers. Returns CLI_OK or an exit status. */
int submit_night(const struct submission *submission);
