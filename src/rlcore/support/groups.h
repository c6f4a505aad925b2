/*
 * groups.h: rows ordered by prompt group, for arbitrary int64 labels, in O(B log B).
 *
 *     struct rl_scratch s = rl_scratch_begin(ws);
 *     struct rl_groups groups = rl_groups_take(&s, batch->n_rows);
 *     if (!rl_scratch_fits(&s)) return rl_scratch_short(&s, err);
 *     rl_groups_build(&groups, batch->group);
 *     for (size_t g = 0; g < groups.n; g++)
 *         for (size_t j = groups.start[g]; j < groups.start[g + 1]; j++)
 *             ... row groups.order[j] belongs to group g ...
 *
 * Groups are numbered in ascending order of their labels; rows keep their order inside a group.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "support/scratch.h"

struct rl_groups {
    size_t n;       /* number of groups */
    size_t n_rows;  /* B */
    size_t *order;  /* [B] rows, group after group */
    size_t *start;  /* [n+1] where each group begins in order; room for B+1 */
    size_t *of_row; /* [B] group of each row, 0..n-1 */
};

/* Take the memory of an index over n_rows rows; rl_groups_build fills it. */
struct rl_groups rl_groups_take(struct rl_scratch *s, size_t n_rows);

void rl_groups_build(struct rl_groups *groups, const int64_t *labels);

static inline size_t rl_group_size(const struct rl_groups *groups, size_t group)
{
    return groups->start[group + 1] - groups->start[group];
}
