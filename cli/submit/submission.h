/* submission.h: workers of a night that are to be given to a scheduler. */
#pragma once

#include "sweep/night_sweep.h"

enum { SUBMIT_WORKERS_MAX = 10000 };

struct submission {
    const struct night_sweep *sweep;
    const char *place;          /* the store: postgres://.. */
    const char *const *options; /* arguments of each worker behind the store, ended by NULL */
    double hours;               /* INFINITY: no limit */
    size_t workers;             /* 0: one, or one per host */
    size_t gpus;                /* of each worker */
    const char *hosts;          /* for ssh: names, separated by commas; NULL: none */
    const char *image;          /* for kubernetes: the container's image; NULL: none */
    const char *const *extra;   /* for slurm: more options of sbatch, ended by NULL; NULL: none */
    bool print;                 /* print the text instead of submitting it */
};
