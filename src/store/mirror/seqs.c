/* seqs.c: see seqs.h. */
#include "seqs.h"

#include <stdlib.h>

bool mirror_seqs_add(struct mirror_seqs *found, int64_t seq)
{
    if (found->n == found->capacity) {
        size_t capacity = found->capacity ? found->capacity * 2 : 64;
        int64_t *items = realloc(found->items, capacity * sizeof *items);
        if (!items)
            return false;
        found->items = items;
        found->capacity = capacity;
    }
    found->items[found->n++] = seq;
    return true;
}

static int by_seq(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void mirror_seqs_sort(struct mirror_seqs *seqs)
{
    if (seqs->n)
        qsort(seqs->items, seqs->n, sizeof *seqs->items, by_seq);
}

bool mirror_seqs_has(const struct mirror_seqs *sorted, int64_t seq)
{
    return sorted->n && bsearch(&seq, sorted->items, sorted->n, sizeof seq, by_seq);
}
