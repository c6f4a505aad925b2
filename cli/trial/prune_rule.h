/*
 * prune_rule.h: the setting `prune`, which says when a trial is ended because its curve is hopeless.
 *
 * RULE is a method, then settings: `median`, `halving,factor=3`, `median,warmup=100,curves=6,patience=3`, or `none`.
 *
 *   median    the trial is worse than the median of the earlier trials at the same step. This is the median stopping rule
 *             of Google Vizier (Golovin et al., KDD 2017, section 3.2.2) as Optuna's MedianPruner applies it: the best
 *             value of the trial so far, against the values that finished trials had at that step.
 *   halving   at the steps first, first * factor, first * factor^2, .. the trial is not among the best 1/factor of all
 *             trials that came that far. This is asynchronous successive halving (Li et al., MLSys 2020, algorithm 2) as
 *             in Optuna's SuccessiveHalvingPruner.
 *
 * Either way a trial goes on if it is at least as good as its parent, or as the best trial, was at that step: only those
 * two decide in the end whether it is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum prune_method { PRUNE_NONE, PRUNE_MEDIAN, PRUNE_HALVING };

struct prune_rule {
    enum prune_method method;
    int64_t warmup;  /* no trial is pruned before this step; -1: a tenth of the longest curve */
    size_t curves;   /* fewer curves that came that far prune nothing */
    size_t patience; /* median: steps in a row at which the trial must be worse */
    double factor;   /* halving: share of trials that goes on, and how far the rungs are apart */
};

/* Defaults, which the help of --prune names. */
enum { PRUNE_CURVES = 4, PRUNE_PATIENCE = 3 };
#define PRUNE_FACTOR 3.0

/* Reads RULE; NULL is none. Returns false with a message in why[size]. */
bool prune_rule_parse(struct prune_rule *rule, const char *text, char *why, size_t size);
