#include "propose/propose_problem.h"

#include <stdlib.h>
#include <string.h>

static int by_setting(const void *a, const void *b)
{
    const struct propose_trial *x = ((const struct observed *)a)->trial, *y = ((const struct observed *)b)->trial;
    if (x->context != y->context)
        return x->context < y->context ? -1 : 1;
    for (size_t i = 0; i < PROPOSE_RANGES_MAX; i++)
        if (x->x[i] != y->x[i])
            return x->x[i] < y->x[i] ? -1 : 1;
    return (x > y) - (x < y);
}

static int by_loss(const void *a, const void *b)
{
    const struct observed *x = a, *y = b;
    if (x->trial->context != y->trial->context)
        return x->trial->context < y->trial->context ? -1 : 1;
    if (x->loss != y->loss)
        return x->loss < y->loss ? -1 : 1;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

static bool is_same(const struct propose_trial *a, const struct propose_trial *b)
{
    bool same = a->context == b->context;
    for (size_t i = 0; i < PROPOSE_RANGES_MAX; i++)
        same = same && a->x[i] == b->x[i];
    return same;
}

/* Observations of one setting are neighbours, the earliest trial first. */
static size_t merge(struct observed *list, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct observed *last = kept ? &list[kept - 1] : NULL;
        if (!last || !is_same(last->trial, list[i].trial)) {
            list[kept++] = list[i];
            continue;
        }
        last->loss = (last->loss * last->seeds + list[i].loss * list[i].seeds) / (last->seeds + list[i].seeds);
        last->seeds += list[i].seeds;
    }
    return kept;
}

void observed_list(struct observed *list, size_t *n, const struct propose_problem *problem)
{
    *n = 0;
    for (size_t i = 0; i < problem->n_past; i++) {
        const struct propose_trial *trial = &problem->past[i];
        if (trial->end == PROPOSE_MEASURED)
            list[(*n)++] = (struct observed){trial, problem->lower_is_better ? trial->score : -trial->score,
                                             trial->seeds ? (double)trial->seeds : 1};
    }
    qsort(list, *n, sizeof *list, by_setting);
    *n = merge(list, *n);
    qsort(list, *n, sizeof *list, by_loss);
}
