/* pruning.h: decides whether a running trial is hopeless, by a rule and the curves of earlier trials. */
#pragma once

#include "trial/prune_curves.h"
#include "trial/prune_rule.h"

struct pruning {
    struct prune_rule rule;
    struct prune_curves curves; /* owned */
    int64_t last;   /* last step of the longest curve */
    int64_t warmup; /* of the rule, or a tenth of `last` */
    int64_t judged; /* the latest step that was judged; -1: none */
    bool any;       /* the trial has a value */
    double best;    /* its best value so far */
    size_t worse;   /* median: steps in a row at which it was worse */
};

/* Takes over the curves. */
void pruning_init(struct pruning *pruning, const struct prune_rule *rule, struct prune_curves *curves);
void pruning_release(struct pruning *pruning);

/* The trial goes on from an earlier step, so what it reached since then does not count. */
void pruning_go_back(struct pruning *pruning, int64_t step);

/*
 * Takes a value of the running trial. Returns true if the rule prunes it; why[size] then names the step, the value and
 * what it was compared with: "pruned at step 40: 0.9 is worse than the median 0.7 of 6 trials, parent 003 (0.65) and
 * best 007 (0.6)". A value that is not finite, a step that is not later than the previous one, and the last step of
 * the longest curve, where nothing would be saved, prune nothing.
 */
bool pruning_judge(struct pruning *pruning, int64_t step, double value, char *why, size_t size);
