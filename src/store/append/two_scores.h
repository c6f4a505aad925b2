/* two_scores.h: decides whether a trial is kept for its second score (lineage/front.h). */
#pragma once

#include "../internal.h"

/* The kept trials that have both scores, as far as a handle knows them; empty if the store has one score. */
struct two_scores {
    struct two_scores_kept {
        char *exp_id;
        double score, second;
    } *kept; /* [n] */
    size_t n;
};

/* Reads them from the mirror, and forgets the others. */
enum lineage_status two_scores_load(struct two_scores *scores, struct lineage_store *store, struct lineage_error *err);

/* Notes a kept row; other rows, and rows without both scores, are left out. Returns false if out of memory. */
bool two_scores_note(struct two_scores *scores, const struct lineage_config *config, const struct lineage_trial *trial);

/* Whether the trial is better than each kept trial in one of the scores, by more than its threshold. If not, *dominated_by
 * is the trial that it is not better than, or NULL if the store or the trial has no second score. */
bool two_scores_keep(const char **dominated_by, const struct two_scores *scores, const struct lineage_config *config,
                     const struct lineage_trial *trial, double threshold);

void two_scores_forget(struct two_scores *scores);
