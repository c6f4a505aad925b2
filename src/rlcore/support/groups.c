/*
 * groups.c: the group index: a bottom-up merge sort of row numbers by label. It is stable, does not
 * recurse, and uses the array that later holds of_row as its second buffer.
 *
 * Labels are sorted and not hashed, which needs no seed and has no worst case. The rows of a group
 * keep their order, so that sums over a group do not depend on where the group is in the batch.
 */
#include "support/groups.h"

struct rl_groups rl_groups_take(struct rl_scratch *s, size_t n_rows)
{
    return (struct rl_groups){.n_rows = n_rows,
                              .order = rl_scratch_take(s, n_rows, sizeof(size_t)),
                              .start = rl_scratch_take(s, n_rows + 1, sizeof(size_t)),
                              .of_row = rl_scratch_take(s, n_rows, sizeof(size_t))};
}

/* Merge from[lo..mid) and from[mid..hi) into to[lo..hi). */
static void merge(const int64_t *labels, const size_t *from, size_t *to, size_t lo, size_t mid, size_t hi)
{
    size_t left = lo, right = mid;
    for (size_t i = lo; i < hi; i++)
        if (left < mid && (right == hi || labels[from[left]] <= labels[from[right]]))
            to[i] = from[left++];
        else
            to[i] = from[right++];
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void sort_rows(size_t *rows, size_t *buffer, size_t n, const int64_t *labels)
{
    size_t *from = rows, *to = buffer;
    for (size_t i = 0; i < n; i++)
        rows[i] = i;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t lo = 0; lo < n; lo += 2 * width)
            merge(labels, from, to, lo, smaller(lo + width, n), smaller(lo + 2 * width, n));
        size_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != rows)
        memcpy(rows, from, n * sizeof *rows);
}

void rl_groups_build(struct rl_groups *groups, const int64_t *labels)
{
    size_t n = groups->n_rows;
    sort_rows(groups->order, groups->of_row, n, labels);
    groups->n = 0;
    for (size_t j = 0; j < n; j++) {
        size_t row = groups->order[j];
        if (j == 0 || labels[row] != labels[groups->order[j - 1]])
            groups->start[groups->n++] = j;
        groups->of_row[row] = groups->n - 1;
    }
    groups->start[groups->n] = n;
}
