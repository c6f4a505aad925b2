/* passk_ranking.h: pass@k of several policies on the same questions, best first, with intervals. */
#pragma once

#include "cli.h"

/*
 * Lists for each k the policies from the best to the worst: pass@k with its 95 % interval, and its difference from the
 * best policy with the interval of that difference, computed question by question. The intervals are normal and account
 * for the choice of questions. names [n]; per_question [n][n_questions][n_k]. Returns an exit status.
 */
struct passk_ranking {
    size_t n, n_questions, n_k;
    const char *const *names;
    const int64_t *k;
    const double *per_question;
};

int passk_ranking_print(const struct passk_ranking *ranking, enum cli_format format);
