/*
 * grid.h: a batch of any layout in the form that kernels read: rows with their own begin and
 * length, a mask and turns of any width.
 *
 *     struct rl_grid grid;
 *     status = rl_grid_of(&grid, batch, RL_NEEDS_MASK, err);    (real.h)
 *     for (size_t row = 0; row < grid.n_rows; row++)
 *         for (size_t i = rl_row_at(&grid, row), end = rl_row_end(&grid, row); i < end; i++)
 *             ... token i of every array, if rl_on(&grid, i) ...
 *
 * Masks and turns are addressed by bytes. Their values fit into the lowest byte or the lowest four
 * bytes whatever their width, so that one way of reading serves all widths without a copy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rlcore/batch.h>

#include "support/fail.h"
#include "support/loops.h"

/* The ids from a position on. */
struct rl_ids {
    const unsigned char *at;
    size_t step; /* bytes from one id to the next */
};

struct rl_grid {
    struct rl_layout from;   /* the caller's layout, with omitted members filled in */
    size_t n_rows, n_tokens; /* n_tokens: T of the definitions */
    size_t stride;
    const size_t *start; /* or NULL */
    const uint8_t *mask; /* lowest byte of the first element; NULL only in a batch without tokens */
    size_t mask_step;
    struct rl_ids turn;
    const int64_t *group;
    uint32_t bf16;
};

/* In addition to enum rl_batch_needs: the caller reads every position and needs no mask. */
enum { RL_NEEDS_NO_MASK = 1 << 8 };

/*
 * Check shape and arrays without reading elements, and fill *grid. single: the caller's reals are
 * float.
 */
enum rl_status rl_grid_view(struct rl_grid *grid, const struct rl_batch *batch, unsigned needs, bool single,
                            struct rl_error *err);

/* rl_grid_view, and check the elements of mask and turns as rl_batch_check does. */
enum rl_status rl_grid_open(struct rl_grid *grid, const struct rl_batch *batch, unsigned needs, bool single,
                            struct rl_error *err);

/*
 * The batch as a layout, for a kernel that calls another kernel. mask and turn, unless NULL,
 * replace those of the batch (bytes, 32 bits). bf16 describes the arrays that are passed on.
 */
struct rl_layout rl_grid_layout(const struct rl_grid *grid, const uint8_t *mask, const int32_t *turn, uint32_t bf16);

static inline size_t rl_row_at(const struct rl_grid *grid, size_t row)
{
    return grid->start ? grid->start[row] : row * grid->stride;
}

static inline size_t rl_row_length(const struct rl_grid *grid, size_t row)
{
    return grid->start ? grid->start[row + 1] - grid->start[row] : grid->n_tokens;
}

static inline size_t rl_row_end(const struct rl_grid *grid, size_t row)
{
    return rl_row_at(grid, row) + rl_row_length(grid, row);
}

/* Number of positions of the batch, without those between rows. */
static inline size_t rl_grid_tokens(const struct rl_grid *grid)
{
    return grid->start && grid->n_rows ? grid->start[grid->n_rows] - grid->start[0] : grid->n_rows * grid->n_tokens;
}

/* The end of the last row: the number of elements of an array that covers the batch. */
static inline size_t rl_grid_end(const struct rl_grid *grid)
{
    return grid->n_rows ? rl_row_end(grid, grid->n_rows - 1) : 0;
}

static inline bool rl_grid_parallel(const struct rl_grid *grid)
{
    return grid->n_rows * grid->n_tokens >= RL_PARALLEL_TOKENS;
}

/* The mask of token i, 0 or 1. */
static RL_INLINE uint8_t rl_on(const struct rl_grid *grid, size_t i)
{
    return grid->mask[i * grid->mask_step];
}

static RL_INLINE struct rl_ids rl_turns_at(const struct rl_grid *grid, size_t i)
{
    return (struct rl_ids){grid->turn.at + i * grid->turn.step, grid->turn.step};
}

static RL_INLINE int32_t rl_id(struct rl_ids ids, size_t t)
{
    int32_t id;
    memcpy(&id, ids.at + t * ids.step, sizeof id);
    return id;
}

static RL_INLINE struct rl_ids rl_ids_from(struct rl_ids ids, size_t t)
{
    return (struct rl_ids){ids.at + t * ids.step, ids.step};
}

/* The number of response tokens among the n positions from i on. */
size_t rl_count_on(const struct rl_grid *grid, size_t i, size_t n);
