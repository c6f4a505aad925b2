/*
 * failure_evidence.h: finds out of the last output of a failed command what failed and where.
 *
 * It knows how programs of several languages report their end: tracebacks of Python (also in groups, notebooks and the boxes
 * of rich), Node, Java and Julia, panics of Rust and Go, assertions and compiler errors as FILE:LINE, summaries of
 * sanitizers, and what parsers of arguments print. It reads through the prefixes that launchers write before each line, and
 * takes what a launcher or a shell says only if the program itself said nothing.
 */
#pragma once

#include <stddef.h>

#include "metrics/metric_scan.h"
#include "trial/trial_outcome.h"

/*
 * Reads text [n], the last output of the command, and sets outcome->evidence ("NameError: name 'x' is not defined
 * (train.py:12)"; "" if nothing was recognised), outcome->cause, outcome->lacks, outcome->reports_error and outcome->last_words. outcome->end and
 * outcome->exit_status are those of the command. A program that prints a metric that is asked for goes on.
 */
void failure_evidence_read(struct trial_outcome *outcome, const struct metric_query *asked, const char *text, size_t n);
