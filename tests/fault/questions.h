/* questions.h: small stores with something of everything, and everything that can be asked of them, as text. */
#ifndef FAULT_QUESTIONS_H
#define FAULT_QUESTIONS_H

#include <stdio.h>

#include <lineage/store.h>

/* Rows with parents, parameters and turns, telemetry of 001, a snapshot of 003. */
void make_asked_store(const char *dir);

typedef enum lineage_status ask_fn(struct lineage_store *store, FILE *out, struct lineage_error *err);

struct question {
    const char *name;
    ask_fn *ask;
};
extern const struct question questions[];
extern const size_t n_questions;

/* Rows of another tool: seeds, parameters that are text, columns outside the 17, remarks, best.json. */
void make_wide_store(const char *dir);
extern const struct question wide_questions[];
extern const size_t n_wide_questions;

/* More rows than a sweep of two parameters looks up one by one, than a list is made of without a thought, and more values
 * than a report lists. */
void make_large_store(const char *dir);
extern const struct question large_questions[];
extern const size_t n_large_questions;

void print_trial(FILE *out, const struct lineage_trial *trial);

#endif
