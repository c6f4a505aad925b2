/* picture_kinds.c: the pictures of a report, in the order of the page. */
#include "report/picture.h"

const struct picture_kind picture_kinds[] = {
    {"morning", "This morning",
     "The trials of the last night in the order in which they were appended. The line is the best score before each trial; the "
     "band around it is how much two runs of one setting differ by chance. Failures are at the bottom.",
     picture_morning, true},
    {"history", "Best so far",
     "Every trial in file order. The step line is the best score so far; the band is the improvement that a trial had to exceed. "
     "Failures have no score and are shown below, one row per label.",
     picture_history, true},
    {"front", "Front",
     "Each measured trial by its two scores. The line joins the front: the kept trials that no other one beats in both.",
     picture_front, true},
    {"tree", "Lineage",
     "Each row is a trial that was kept or has children; the thick line is the chain of kept trials to the best one. The dots "
     "beside a row are its other children. Colour is the change against the best score at the time: blue is better, orange is "
     "worse, crosses failed. The arcs at the left join trials with the earlier trials that their texts cite.",
     picture_tree, true},
    {"coverage", "Coverage",
     "Which values of two parameters were tried together. A cell shows its best score, the number of trials and (after ×) of "
     "failures; an empty cell was not tried.",
     picture_coverage, false},
    {"parallel", "Parameters",
     "One line per trial through the values of the parameters that vary, with its score at the right. Drag along an axis to keep "
     "only the lines that pass there; the table and the tree follow.",
     picture_parallel, true},
    {"knobs", "Settings",
     "The settings that most of the newest 10,000 trials changed, in a parameter, in the program or in words: every value over "
     "the trials in the order of the log. Blue was kept, grey was discarded, crosses failed; the dashed line is the value in "
     "force for the best trial. lineage knobs lists all settings.",
     picture_knobs, true},
    {"calibration", "Calibration",
     "What specialists expected of their trials (open mark) and what happened on average (filled mark).", picture_calibration,
     true},
    {"failures", "Failures by cause", "Trials without a result, by label, with the reasons in their notes.", picture_failures,
     true},
    {"importance", "Parameter importance",
     "The share of the score's variance that one parameter explains (epsilon squared over at most five classes of its values). "
     "The tick is what chance reaches in 5 of 100 cases: a bar that ends before it means nothing.",
     picture_importance, true},
    {"seeds", "Variants over seeds",
     "Each variant against the first one, seed by seed: mean difference with Student's t interval. The thin line is the interval "
     "corrected for all comparisons; if it crosses 0, these seeds show no difference.",
     picture_seeds, true},
    {NULL, NULL, NULL, NULL, false}};
