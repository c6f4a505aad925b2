#include "seqs.h"

#include "../format/arena.h"

bool mirror_seqs_add(struct mirror_seqs *found, int64_t seq)
{
    if (!LIST_ROOM(found->items, found->n, found->capacity))
        return false;
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

/* Writes the seqs again from a set of bits, in which each of them is one. */
static void read_bits(struct mirror_seqs *seqs, const uint64_t *bits, size_t words)
{
    seqs->n = 0;
    for (size_t i = 0; i < words; i++)
        for (uint64_t word = bits[i]; word; word &= word - 1)
            seqs->items[seqs->n++] = (int64_t)(i * 64) + __builtin_ctzll(word);
}

void mirror_seqs_order(struct mirror_seqs *seqs)
{
    enum { SPARSE = 64 }; /* rows for each seq, from which on sorting is cheaper than bits */
    int64_t most = 0, least = 0;
    for (size_t i = 0; i < seqs->n; i++) {
        most = seqs->items[i] > most ? seqs->items[i] : most;
        least = seqs->items[i] < least ? seqs->items[i] : least;
    }
    size_t words = (size_t)most / 64 + 1;
    uint64_t *bits = least >= 0 && (size_t)most / SPARSE < seqs->n ? calloc(words, sizeof *bits) : NULL;
    if (!bits) {
        mirror_seqs_sort(seqs);
        return;
    }
    for (size_t i = 0; i < seqs->n; i++)
        bits[seqs->items[i] / 64] |= (uint64_t)1 << seqs->items[i] % 64;
    read_bits(seqs, bits, words);
    free(bits);
}

bool mirror_seqs_has(const struct mirror_seqs *sorted, int64_t seq)
{
    return sorted->n && bsearch(&seq, sorted->items, sorted->n, sizeof seq, by_seq);
}
