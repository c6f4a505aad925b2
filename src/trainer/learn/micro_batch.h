/*
 * micro_batch.h: decides which rows of a batch go through the network together.
 *
 * Without a limit in tokens, rows are taken in order, TRAINER_MICRO_BATCH_ROWS at a time. With a limit they are
 * packed by the core's plan (rlcore/pack.h): no micro-batch exceeds the limit, and the lanes cost about the same.
 * Either way the micro-batches depend on the rows alone, never on the number of threads.
 */
#pragma once

#include <trainer/recipe.h>

#include "support/carve.h"
#include "support/workspace.h"

/* Micro-batches are dealt to this many lanes, each of which sums into its own gradient. */
enum { GRADIENT_LANES = 4 };

struct micro_batches {
    struct trainer_model model;
    size_t tokens;         /* largest number of tokens in a micro-batch */
    size_t max_rows, most; /* largest number of rows, and of micro-batches, of a batch */
    bool packed;
    size_t n;              /* micro-batches of the current batch; number i belongs to lane i mod GRADIENT_LANES */
    size_t n_full;         /* number of micro-batches that have rows */
    size_t *row;           /* [max_rows] rows in the order of micro-batches */
    size_t *first, *count; /* [most] range of each micro-batch in `row` */
    size_t *length, *bin_start, *slots; /* scratch memory for the core's plan */
    struct workspace workspace;
};

/* Computes the sizes for batches of up to max_rows rows, without allocating. micro may be NULL for the defaults. */
struct micro_batches micro_batches_sized(const struct trainer_model *model, size_t max_rows,
                                         const struct trainer_micro_batch *micro);
/* Bytes of the core's scratch memory, in addition to the memory of micro_batches_carve. */
double micro_batches_workspace(const struct micro_batches *batches);
void micro_batches_carve(struct micro_batches *batches, struct carve *block);
void micro_batches_close(struct micro_batches *batches);

/* Cuts a batch of n rows (at most max_rows) with length [n] into micro-batches. */
enum trainer_status micro_batches_plan(struct micro_batches *batches, size_t n, const int32_t *length, struct trainer_error *err);
