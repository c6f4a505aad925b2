/*
 * questions.h: small stores that contain every kind of data, and all questions that can be asked of these stores.
 * Answers are text.
 */
#pragma once

#include <stdio.h>

#include <lineage/query.h>
#include <lineage/store.h>

/* Makes a store whose rows have parents, parameters and turns; 001 has telemetry and 003 a snapshot. */
void make_asked_store(const char *dir);

typedef enum lineage_status ask_fn(struct lineage_store *store, FILE *out, struct lineage_error *err);

struct question {
    const char *name;
    ask_fn *ask;
};
extern const struct question questions[];
extern const size_t n_questions;

/* Makes a store with the rows of another program: seeds, text parameters, columns beyond the 17, remarks, best.json. */
void make_wide_store(const char *dir);
extern const struct question wide_questions[];
extern const size_t n_wide_questions;

/*
 * Makes a store with enough rows that a sweep of two parameters, a list, and a report switch to their methods for
 * large stores.
 */
void make_large_store(const char *dir);
extern const struct question large_questions[];
extern const size_t n_large_questions;

void print_trial(FILE *out, const struct lineage_trial *trial);
/* Prints the trials of a cursor, and closes it. */
enum lineage_status print_trials(FILE *out, struct lineage_cursor *cursor, struct lineage_error *err);
