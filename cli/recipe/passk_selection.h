/*
 * passk_selection.h: chooses among policies by pass@k, also for k above the number of samples.
 *
 * A choice needs only the order of the policies, so it can use estimates that reach beyond the samples: Bernoulli's
 * 1 - (1 - c/n)^k, which is biased in the same direction for every policy, or the Beta-binomial fit, which also accepts
 * unequal n. Source: arXiv:2510.05197 for the fit and for sampling hard questions longer; zoeyli.com, "What's in Pass@K",
 * for the choice of a checkpoint.
 */
#pragma once

#include "cli.h"

#include <stddef.h>
#include <stdint.h>

enum passk_estimate { PASSK_BETA, PASSK_BERNOULLI };

struct passk_selection {
    size_t n, n_questions, n_k;
    const char *const *names;      /* [n] */
    const char *const *questions;  /* [n_questions], or NULL: they are numbered from 0 */
    const int64_t *asked, *right;  /* [n][n_questions] */
    const int64_t *k;              /* [n_k] */
    enum passk_estimate estimate;
    size_t resamples; /* at least 1 */
    uint64_t seed;    /* of the resamples */
};

/*
 * Lists for each k the policies from the best to the worst: pass@k, its 95 % interval, and the probability that the
 * policy is the best one. Both come from resamples of the questions with replacement, the same questions for every
 * policy; among equals the probability is divided. Returns an exit status.
 */
int passk_selection_print(const struct passk_selection *selection, enum cli_format format);

/*
 * Lists for each question and policy the samples, the correct ones, their share, and the pass rate that the policy's
 * Beta-binomial fit expects in view of them (empty without a fit). Returns an exit status.
 */
int passk_rates_print(const struct passk_selection *selection, FILE *out, enum cli_format format);

/* ---- counts of correct samples that were measured elsewhere, read from a file ---- */

struct passk_table {
    size_t n, room, n_questions;
    char **names;           /* [n] policies, in the order of the file */
    const char **questions; /* [n_questions], in order */
    int64_t *asked, *right; /* [n][n_questions] */
    char *text;             /* owns the names of both */
};

/*
 * Reads comma-separated values with the columns policy, question, samples and correct, in any order, and others that are
 * ignored. Every policy needs one line for each question, because policies are compared question by question. Returns
 * CLI_GO_ON, or CLI_USAGE after printing an error that names the file and the line. Call passk_table_release in either
 * case.
 */
int passk_table_read(struct passk_table *table, const char *path);
void passk_table_release(struct passk_table *table);
