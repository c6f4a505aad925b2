/* seqs.h: a list of rows, by their seqs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: empty. The owner frees items, also after a failure. */
struct mirror_seqs {
    int64_t *items;
    size_t n, capacity;
};

/* Adds a seq at the end. Returns false when out of memory; the list is then unchanged. */
bool mirror_seqs_add(struct mirror_seqs *found, int64_t seq);

/* Sorts a list, ascending; mirror_seqs_has looks a seq up in a sorted one. */
void mirror_seqs_sort(struct mirror_seqs *seqs);
bool mirror_seqs_has(const struct mirror_seqs *sorted, int64_t seq);

/* Sorts a list of different seqs, ascending, in linear time if they are a good part of all rows. */
void mirror_seqs_order(struct mirror_seqs *seqs);
