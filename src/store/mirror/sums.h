/* sums.h: what a sync adds to label_counts, param_values and calibration, gathered in memory first. */
#ifndef MIRROR_SUMS_H
#define MIRROR_SUMS_H

#include "internal.h"

/* Zeroed: empty. */
struct sums {
    struct sum *entries; /* uthash table */
    struct arena arena;
};

/* Count a row. */
enum lineage_status sums_add(struct sums *sums, const struct lineage_trial *trial, struct lineage_error *err);

/* Add what was gathered to the tables. */
enum lineage_status sums_flush(struct sums *sums, struct mirror *mirror, struct lineage_error *err);

void sums_release(struct sums *sums);

/* Leading signed number of expected_delta: `-0.0015`, `+0.80 EM`, `≥ +0.5pp EM`. False if there is none. */
bool expected_number(double *value, const char *text);

#endif
