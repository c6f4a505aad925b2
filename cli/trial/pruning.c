/* pruning.c: see pruning.h; the rules are in prune_rule.h. */
#include "trial/pruning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

void pruning_init(struct pruning *pruning, const struct prune_rule *rule, struct prune_curves *curves)
{
    *pruning = (struct pruning){.rule = *rule, .curves = *curves, .judged = -1};
    for (size_t i = 0; i < curves->n; i++) {
        const struct prune_curve *curve = &curves->items[i];
        if (curve->points[curve->n - 1].step > pruning->last)
            pruning->last = curve->points[curve->n - 1].step;
    }
    pruning->warmup = rule->warmup >= 0 ? rule->warmup : pruning->last / 10;
}

void pruning_release(struct pruning *pruning)
{
    prune_curves_release(&pruning->curves);
}

void pruning_go_back(struct pruning *pruning, int64_t step)
{
    pruning->judged = pruning->judged < step ? pruning->judged : step - 1;
    pruning->any = false;
    pruning->worse = 0;
}

static bool is_worse(const struct pruning *p, double value, double than)
{
    return p->curves.higher ? value < than : value > than;
}

/* Collects the values that the other trials had at the step, sorted, the smallest first. The trials that were pruned
 * count only if they came that far, and only for halving: a median over survivors and trials that were already worse
 * would move with every pruned trial. */
static size_t values_at(const struct pruning *p, int64_t step, double *values)
{
    size_t n = 0;
    for (size_t i = 0; i < p->curves.n; i++)
        if (p->curves.items[i].finished || p->rule.method == PRUNE_HALVING)
            n += prune_curve_at(&values[n], &p->curves.items[i], step);
    qsort(values, n, sizeof *values, cli_by_number);
    return n;
}

/* Whether the trial is at least as good as its parent, or as the best trial, was at the step. */
static bool keeps_up(const struct pruning *p, int64_t step)
{
    const size_t rivals[] = {p->curves.parent, p->curves.best};
    double value;
    for (int i = 0; i < 2; i++)
        if (rivals[i] != SIZE_MAX && prune_curve_at(&value, &p->curves.items[rivals[i]], step) && !is_worse(p, p->best, value))
            return true;
    return false;
}

/* The rung that the trial has reached since the previous step: first * factor^k; 0 if it has reached none. The first
 * rung is the warm-up, or a hundredth of the longest curve, as in Optuna. */
static int64_t rung_reached(const struct pruning *p, int64_t step)
{
    int64_t found = 0;
    double rung = fmax(1, (double)(p->warmup > 0 ? p->warmup : p->last / 100));
    for (; rung <= (double)step; rung *= p->rule.factor)
        if (ceil(rung) > (double)p->judged)
            found = (int64_t)ceil(rung);
    return found;
}

/* The value that a trial must reach: the median, or the worst of the best 1/factor. n counts the others; with halving
 * the trial itself is among those of whom a share goes on. */
static double bar(const struct pruning *p, const double *values, size_t n)
{
    if (p->rule.method == PRUNE_MEDIAN)
        return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    size_t pass = (size_t)((double)(n + 1) / p->rule.factor);
    size_t rank = pass > 0 ? pass - 1 : 0;
    return p->curves.higher ? values[n - 1 - rank] : values[rank];
}

/* Names a rival and its value at the step, if it has one. */
static size_t add_rival(const struct pruning *p, const char *what, size_t rival, int64_t step, char *out, size_t size)
{
    double value;
    if (rival == SIZE_MAX || !prune_curve_at(&value, &p->curves.items[rival], step))
        return 0;
    int n = snprintf(out, size, ", %s %s (%.6g)", what, p->curves.items[rival].id, value);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

static void explain(const struct pruning *p, int64_t step, double limit, size_t n, char *why, size_t size)
{
    char share[48];
    snprintf(share, sizeof share, "the best 1/%g, down to", p->rule.factor);
    int written = snprintf(why, size, "pruned at step %lld: its best %.6g is worse than %s %.6g of %zu trials", (long long)step,
                           p->best, p->rule.method == PRUNE_MEDIAN ? "the median" : share, limit, n);
    size_t at = written > 0 && (size_t)written < size ? (size_t)written : 0;
    at += add_rival(p, "parent", p->curves.parent, step, why + at, size - at);
    if (p->curves.best != p->curves.parent)
        add_rival(p, "best", p->curves.best, step, why + at, size - at);
}

bool pruning_judge(struct pruning *p, int64_t step, double value, char *why, size_t size)
{
    double values[PRUNE_CURVES_READ + 2];
    if (!isfinite(value) || step <= p->judged)
        return false;
    p->best = p->any && is_worse(p, value, p->best) ? p->best : value;
    p->any = true;
    int64_t at = p->rule.method == PRUNE_HALVING ? rung_reached(p, step) : step;
    p->judged = step;
    if (p->rule.method == PRUNE_NONE || !at || step < p->warmup || step >= p->last)
        return false;
    size_t n = values_at(p, at, values);
    if (n < p->rule.curves)
        return false;
    double limit = bar(p, values, n);
    bool worse = is_worse(p, p->best, limit) && !keeps_up(p, at);
    p->worse = worse ? p->worse + 1 : 0;
    if (!worse || (p->rule.method == PRUNE_MEDIAN && p->worse < p->rule.patience))
        return false;
    explain(p, at, limit, n, why, size);
    return true;
}
