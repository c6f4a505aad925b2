/* surface.h: what the settings near a setting say about it. */
#pragma once

#include <lineage/evidence.h>

/* More parameters than this are too many to learn from the runs of a night. */
enum { SURFACE_PARAMS_MAX = 8 };

/* Where the trials are, by their numbers. */
struct surface {
    size_t n_params; /* 0: the trials have no numbers that differ */
    double (*z)[SURFACE_PARAMS_MAX]; /* [n] from 0 to 1, NAN for what a trial lacks */
    uint64_t *group;                 /* [n] trials of different groups say nothing about each other */
};

/*
 * Takes the true means as a smooth function of the parameters, a Gaussian process with Matern's kernel (Rasmussen and Williams 2006),
 * plus what is particular to each setting, and sets expected and doubt of the trials whose means are worse than middle by `limit` or
 * less. Changes nothing unless the runs are likelier by this than by trials that differ with the variance truth and of which no neighbour
 * says anything. noise is the variance of one score. Returns false when out of memory.
 */
bool surface_expect(struct lineage_evidence *evidence, const struct surface *surface, double middle, double limit, double truth,
                    double noise);
