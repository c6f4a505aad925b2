/* passk_table.h: counts of correct samples that were measured elsewhere, read from a file. */
#pragma once

#include <stdint.h>
#include <stddef.h>

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
