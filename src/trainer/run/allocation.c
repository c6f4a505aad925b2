/*
 * allocation.c: see allocation.h. Only the last visit of a question counts: the policy that answered
 * the visits before is gone. The fit lends the pool's rates to a question that was asked a few times
 * or never, so that eight failures are not yet a pass rate of 0.
 */
#include "run/allocation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/passk.h>

#include "support/error.h"
#include "support/rng.h"

double allocation_bytes(const struct trainer_task *task)
{
    double pool = task->hardness > 0 ? task->pool : 0;
    return pool * (2 * sizeof(int64_t) + 2 * sizeof(double)) +
           (pool > 0 ? task->questions : 0) * (double)sizeof(int32_t);
}

enum trainer_status allocation_open(struct allocation *a, const struct trainer_task *task,
                                    struct trainer_error *err)
{
    if (task->hardness <= 0)
        return TRAINER_OK;
    a->pool = (size_t)task->pool;
    a->asked = calloc(a->pool, sizeof *a->asked);
    a->right = calloc(a->pool, sizeof *a->right);
    a->chosen = calloc((size_t)task->questions, sizeof *a->chosen);
    return a->asked && a->right && a->chosen
               ? TRAINER_OK
               : trainer_no_memory(err, (size_t)allocation_bytes(task));
}

void allocation_close(struct allocation *a)
{
    free(a->asked);
    free(a->right);
    free(a->chosen);
}

/* ---- drawing ------------------------------------------------------------------------------ */

struct ticket {
    double key;
    int32_t number;
};

static int by_key(const void *left, const void *right)
{
    const struct ticket *a = left, *b = right;
    if (a->key < b->key || a->key > b->key)
        return a->key < b->key ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static double rate_of(const struct allocation *a, const struct rl_beta_fit *fit, size_t i)
{
    return (fit->alpha + (double)a->right[i]) / (fit->alpha + fit->beta + (double)a->asked[i]);
}

/*
 * Without replacement by weight: the smallest of exponential variables whose rates are the weights
 * (Efraimidis and Spirakis, Information Processing Letters 97, 2006). A weight of 0 comes last.
 */
static void fill_tickets(const struct allocation *a, const struct trainer_task *task,
                         const struct rl_beta_fit *fit, uint64_t seed, struct ticket *tickets)
{
    struct trainer_rng rng = {trainer_seed(seed, 'h', 0)};
    for (size_t i = 0; i < a->pool; i++) {
        double weight = pow(1 - rate_of(a, fit, i), task->hardness);
        double chance = -log1p(-trainer_rng_uniform(&rng));
        tickets[i] = (struct ticket){weight > 0 ? chance / weight : INFINITY, (int32_t)i};
    }
}

static void tell(const struct allocation *a, const struct trainer_task *task,
                 const struct rl_beta_fit *fit, struct trainer_allocation *told)
{
    double before = (double)told->questions, n = task->questions, chosen = 0, pool = 0;
    for (int32_t q = 0; q < task->questions; q++)
        chosen += rate_of(a, fit, (size_t)a->chosen[q]) / n;
    for (size_t i = 0; i < a->pool; i++)
        pool += rate_of(a, fit, i) / (double)a->pool;
    told->chosen = (told->chosen * before + chosen * n) / (before + n);
    told->pool = (told->pool * before + pool * n) / (before + n);
    told->questions += (uint64_t)task->questions;
}

/* No maximum of the likelihood (nothing asked yet, or all alike) is no failure: then rates are flat. */
enum trainer_status allocation_draw(struct allocation *a, const struct trainer_task *task,
                                    uint64_t seed, struct trainer_allocation *told,
                                    struct trainer_error *err)
{
    struct rl_beta_fit fit;
    struct rl_error core;
    struct ticket *tickets = malloc(a->pool * sizeof *tickets);
    if (!tickets)
        return trainer_no_memory(err, a->pool * sizeof *tickets);
    if (rl_passk_beta_fit(a->pool, a->asked, a->right, &fit, &core) != RL_OK)
        fit = (struct rl_beta_fit){.alpha = 1, .beta = 1};
    fill_tickets(a, task, &fit, seed, tickets);
    qsort(tickets, a->pool, sizeof *tickets, by_key);
    for (int32_t q = 0; q < task->questions; q++)
        a->chosen[q] = tickets[q].number;
    tell(a, task, &fit, told);
    free(tickets);
    return TRAINER_OK;
}

void allocation_learn(struct allocation *a, const struct trainer_rollouts *r, size_t first,
                      size_t n)
{
    if (a->pool == 0)
        return;
    for (size_t row = first; row < first + n; row++)
        a->asked[r->number[row]] = a->right[r->number[row]] = 0;
    for (size_t row = first; row < first + n; row++) {
        a->asked[r->number[row]]++;
        a->right[r->number[row]] += r->reward[row] > 0;
    }
}
