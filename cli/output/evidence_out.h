/* evidence_out.h: what the runs of each trial say (lineage/evidence.h), as a list. */
#pragma once

#include <lineage/evidence.h>

#include "cli.h"

/*
 * Prints a line for each trial, the best one first and then by their gain: runs, mean, gain over the best with its 95 %
 * interval, odds, state, and whether another run would help. Returns an exit status.
 */
int cli_evidence_print(const struct lineage_evidence *evidence, struct cli_session *session);

/* Prints a line for each setting in the order of lineage_evidence_order. Returns an exit status. */
int cli_ranked_print(const struct lineage_evidence *evidence, struct cli_session *session);

/* The first `most` of them as an array of objects with the same members. */
json_t *cli_ranked_json(const struct lineage_evidence *evidence, struct lineage_store *store, size_t most);

enum { CLI_EVIDENCE_TEXT_MAX = 256, CLI_ANSWER_TEXT_MAX = 512 };

/* Writes the same about trial i as a sentence; "" if it has nothing to be compared with. Returns out. */
const char *cli_evidence_text(char out[CLI_EVIDENCE_TEXT_MAX], const struct lineage_evidence *evidence, size_t i);

/* Writes how sure the answer of the store is: "0.412 ± 0.011 (5 runs), better than the next, lr=0.2, with probability 0.93, and than
 * all others with 0.90"; "" if no trial ran more than once. Returns out. */
const char *cli_answer_text(char out[CLI_ANSWER_TEXT_MAX], const struct lineage_evidence *evidence, struct lineage_store *store);

/* The same as an object: mean, margin, runs, left_out, failed, expected, next, probability (better than all others),
 * over_next, kept; NULL if no trial ran more than once. */
json_t *cli_answer_json(const struct lineage_evidence *evidence);
