/* verdict.h: compares a score with the best so far. */
#pragma once

#include "../internal.h"

/* Computes score - best in decimal, with the digits that were written: 34.96 - 34.51 is 0.45, not
 * 0.45000000000000284. */
double verdict_difference(double score, double best);

/* Whether the difference is an improvement larger than the threshold. */
bool verdict_is_keep(double difference, double threshold, bool higher);

/*
 * Which setting a row is a run of: the digest that it shares with other seeds, and the id of the trial that it runs again (`replicates ID`,
 * `rerun of ID`), or its own. A run of the best trial's own setting is not better than that trial, however lucky its seed was. The same seed
 * again is another result: of other code, as in lineage/evidence.h. So is a row whose parent is another one, whose parameters in force may
 * differ. Zeroed: that of no row.
 */
struct verdict_setting {
    uint64_t digest, with_seed; /* setting_digest of the notes; 0: they name no seed */
    char first[256], parent[256];
};
void verdict_setting_read(struct verdict_setting *setting, const struct lineage_store *store, const struct lineage_trial *row);

/* Whether the row is another run of the best trial's setting. */
bool verdict_setting_same(const struct verdict_setting *row, const struct verdict_setting *best);

#define VERDICT_REASON_MAX 128

/* How the reasons begin; judge_again.c knows the rows that were judged by them. */
#define VERDICT_DISCARDED "discarded: "
#define VERDICT_OVERTAKEN VERDICT_DISCARDED "confirmed, but " /* another trial became the best before the row was written */
#define VERDICT_DOMINATED "dominated by " /* behind either of them; with a second score */

/*
 * Writes the reason for a discard as it appears in the row's notes: "discarded: +0.0068, needs more than 0.0566", and
 * where lower is better "discarded: -0.0068, needs less than -0.0566". Returns out.
 */
const char *verdict_reason(char out[VERDICT_REASON_MAX], double difference, double threshold, bool higher);

/* Writes the reason for a further run of the best trial's setting. Returns out. */
const char *verdict_same_setting(char out[VERDICT_REASON_MAX], const char *best_id);

/* Writes the reason for a trial that is better, but may be so by luck: "unconfirmed: +0.5, fresh runs decide". Returns out. */
const char *verdict_unconfirmed(char out[VERDICT_REASON_MAX], double difference);

/* ---- decides whether a trial is kept for its second score (lineage/front.h) ---- */

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
