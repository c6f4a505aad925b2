/* passk_ranking.h: pass@k of several policies on the same questions, best first, with intervals. */
#ifndef CLI_PASSK_RANKING_H
#define CLI_PASSK_RANKING_H

#include "cli.h"

/*
 * For each k the policies from the best to the worst: pass@k with its 95 % interval, and how far it
 * is behind the best with the interval of that difference, question by question. Intervals are over
 * questions, normal: which questions are asked is what varies. names [n]; per_question
 * [n][n_questions][n_k]. Returns an exit status.
 */
struct passk_ranking {
    size_t n, n_questions, n_k;
    const char *const *names;
    const int64_t *k;
    const double *per_question;
};

int passk_ranking_print(const struct passk_ranking *ranking, enum cli_format format);

#endif
