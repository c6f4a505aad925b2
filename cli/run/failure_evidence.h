/*
 * failure_evidence.h: finds out of the last output of a failed command what failed and where.
 *
 * It knows how programs of several languages report their end: tracebacks of Python, Node, Java and Julia, panics of
 * Rust and Go, assertions and compiler errors as FILE:LINE, summaries of sanitizers, and what a shell says of a command
 * that it cannot find.
 */
#ifndef CLI_FAILURE_EVIDENCE_H
#define CLI_FAILURE_EVIDENCE_H

#include <stddef.h>

#include "trial/trial_outcome.h"

/*
 * Reads text [n], the last output of the command, and sets outcome->evidence ("NameError: name 'x' is not defined
 * (train.py:12)"; "" if nothing was recognised) and outcome->cause. outcome->exit_status is that of the command.
 */
void failure_evidence_read(struct trial_outcome *outcome, const char *text, size_t n);

#endif
