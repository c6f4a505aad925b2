/*
 * value_arrays.h: memory for the values of a value head, from sampling to update. Rollouts and minibatch point to these
 * arrays; a policy without a value head does not allocate them.
 */
#pragma once

#include "learn/minibatch.h"

#include "rollout/rollouts.h"
#include "credit/credit.h"
#include "recipe/recipe_variants.h"

double value_arrays_bytes(const struct trainer_recipe *recipe);

/*
 * Sets the arrays of rollouts and minibatch. *memory receives the block that holds them (free), or NULL without a value
 * head.
 */
enum trainer_status value_arrays_open(void **memory, const struct trainer_recipe *recipe, struct trainer_rollouts *rollouts,
                                      struct minibatch *minibatch, struct trainer_error *err);

/* Measures how well the values at sampling predicted the returns. */
void value_arrays_measure(const struct trainer_rollouts *rollouts, struct trainer_iteration *metrics);

/* ---- the memory of a gradient trace (gradient_trace.h). A recipe whose settings all have their defaults
 * allocates none.
 */
struct gradient_trace {
    struct recipe_traced left[RECIPE_TRACED_MAX]; /* [n] settings that have not shown an effect so far */
    size_t n;
    int32_t looked;                    /* iterations that were looked at .. */
    bool partial;                      /* .. and whether earlier iterations were not, because the run was resumed */
    struct trainer_recipe original, variant;
    struct trainer_rollouts *rollouts; /* copy of the run's, whose credit is computed again */
    double *returns;                   /* [rows*width] with a value head */
    float *log_prob, *value;           /* [epochs][rows*width] at the updates of this iteration; value with a value head */
    size_t *order;                     /* [epochs][rows] order of the rows in the updates */
    float *gradient, *d_value;         /* [epochs][rows*width] of the unchanged recipe; d_value with a value head */
    double *anchor[TRAINER_ENVS_MAX];  /* [pool] copies */
    struct credit_memory after; /* as the unchanged recipe leaves it */
    double seconds;
    char inert[512];
};

/* The epochs of an iteration that are traced. */
static inline int32_t trace_epochs(const struct trainer_recipe *recipe)
{
    return recipe->training.epochs < 4 ? recipe->training.epochs : 4;
}

/* Bytes that a trace of this recipe allocates; 0 if the recipe has no setting to trace. */
double trace_arrays_bytes(const struct trainer_recipe *recipe);

/*
 * Allocates a trace, or sets *trace to NULL if there is nothing to trace. The caller must close it, also after a failure;
 * closing NULL does nothing.
 */
enum trainer_status trace_arrays_open(struct gradient_trace **trace, const struct trainer_recipe *recipe,
                                      struct trainer_error *err);
void trace_arrays_close(struct gradient_trace *trace);
