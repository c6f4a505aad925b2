/* verdict.h: compares a score with the best so far. */
#pragma once

#include <stdbool.h>

/* Computes score - best in decimal, with the digits that were written: 34.96 - 34.51 is 0.45, not
 * 0.45000000000000284. */
double verdict_difference(double score, double best);

/* Whether the difference is an improvement larger than the threshold. */
bool verdict_is_keep(double difference, double threshold, bool higher);

#define VERDICT_REASON_MAX 128

/* How the two reasons begin; judge_again.c knows the rows that were judged by them. */
#define VERDICT_DISCARDED "discarded: "
#define VERDICT_DOMINATED "dominated by " /* behind either of them; with a second score */

/*
 * Writes the reason for a discard as it appears in the row's notes: "discarded: +0.0068, needs more than 0.0566", and
 * where lower is better "discarded: -0.0068, needs less than -0.0566". Returns out.
 */
const char *verdict_reason(char out[VERDICT_REASON_MAX], double difference, double threshold, bool higher);

/* Writes the reason for a trial that is better, but may be so by luck: "unconfirmed: +0.5, fresh runs decide". Returns out. */
const char *verdict_unconfirmed(char out[VERDICT_REASON_MAX], double difference);
