/*
 * submit.h: gives the workers of a night to a scheduler, which decides where and when they run.
 *
 * A submission is one text for one program: a batch script for sbatch, a list of objects for kubectl, a shell script of ssh
 * lines for sh. It can be printed instead, and changed before it is submitted by hand.
 *
 *   submission          what is submitted
 *   submit              the table of schedulers; prints or submits
 *   submit_slurm        an array job that puts itself back into the queue when Slurm ends it
 *   submit_kubernetes   a Job, and a ConfigMap with the files of the sweep
 *   submit_ssh          one worker per host
 *   worker_command      the command line of a worker
 */
#pragma once

#include "sweep/night_sweep.h"

/* ---- submission ---- */

/* Workers of a night that are to be given to a scheduler. */

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

/* Whether there is such a scheduler. */
bool submit_knows(const char *scheduler);

/* Prints or submits the workers. Returns CLI_OK or an exit status. */
int submit_night(const char *scheduler, const struct submission *submission);
