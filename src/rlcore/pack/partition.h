/*
 * partition.h: divides weighted items into parts of equal count and nearly equal load: largest
 * differencing (Karmarkar and Karp), then single swaps while they help.
 */
#pragma once

#include "support/scratch.h"

struct rl_part_set {
    double total;
    size_t head, tail; /* a list of items through next[] */
};

struct rl_partition {
    size_t n_items, n_parts; /* n_items is a multiple of n_parts */
    const double *weight;    /* [n_items] */
    size_t *rank;            /* [n_items] scratch: items by weight */
    size_t *next;            /* [n_items] scratch */
    size_t *spare;           /* [n_items] scratch for sorting */
    struct rl_part_set *set; /* [n_items] scratch: n_parts sets per state */
    double *load;            /* [n_parts] scratch */
};

void rl_partition_take(struct rl_partition *p, struct rl_scratch *s, size_t n_items, size_t n_parts);

/* Write items [n_items]: the parts one after another, n_items / n_parts items each. */
void rl_partition_run(struct rl_partition *p, size_t *items);

/*
 * Sort items by key with a stable sort: ascending, or descending with sign -1. spare is as long as
 * items.
 */
void rl_sort_by(size_t *items, size_t *spare, size_t n, const double *key, double sign);
