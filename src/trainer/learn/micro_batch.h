/*
 * micro_batch.h: which rows of a batch go through the network together.
 *
 * Without a number of tokens rows are taken as they come, TRAINER_MICRO_BATCH_ROWS each. With one
 * they are packed by the core's plan (rlcore/pack.h): no micro-batch has more tokens, and those of
 * the lanes cost about the same. Either follows from the rows alone, never from threads or ranks.
 */
#ifndef TRAINER_MICRO_BATCH_H
#define TRAINER_MICRO_BATCH_H

#include <trainer/recipe.h>

#include "support/carve.h"
#include "support/workspace.h"

/* Micro-batches are dealt to this many lanes, each of which sums into a gradient of its own. */
enum { GRADIENT_LANES = 4 };

struct micro_batches {
    struct trainer_model model;
    size_t tokens;         /* at most in one */
    size_t max_rows, most; /* rows of a batch, micro-batches of them */
    bool packed;
    size_t n;              /* of the batch at hand; micro-batch i is of lane i mod GRADIENT_LANES */
    size_t n_full;         /* of them that hold any row */
    size_t *row;           /* [max_rows] rows, micro-batch after micro-batch in any order */
    size_t *first, *count; /* [most] of each, into row */
    size_t *length, *bin_start, *slots; /* of the core's plan */
    struct workspace workspace;
};

/* Sizes for batches of up to max_rows rows; micro may be NULL: the defaults. */
struct micro_batches micro_batches_sized(const struct trainer_model *model, size_t max_rows,
                                         const struct trainer_micro_batch *micro);
/* Bytes of what the core asks for on top of what is carved. */
double micro_batches_workspace(const struct micro_batches *batches);
void micro_batches_carve(struct micro_batches *batches, struct carve *block);
void micro_batches_close(struct micro_batches *batches);

/* Of n rows, at most max_rows. */
enum trainer_status micro_batches_plan(struct micro_batches *batches, size_t n,
                                       const int32_t *length, struct trainer_error *err);

#endif
