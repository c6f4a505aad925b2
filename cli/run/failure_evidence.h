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

#include "trial/trial_outcome.h"

/*
 * Reads text [n], the last output of the command, and sets outcome->evidence ("NameError: name 'x' is not defined
 * (train.py:12)"; "" if nothing was recognised), outcome->cause, outcome->lacks and outcome->last_words. outcome->exit_status is that
 * of the command.
 */
void failure_evidence_read(struct trial_outcome *outcome, const char *text, size_t n);
