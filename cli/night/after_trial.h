/* after_trial.h: updates files and counters of a night after each trial. */
#pragma once

#include "night/night.h"

/* Rewrites KNOWLEDGE.md, and also report.html if night->report is set. A store that follows only the night cannot be
 * rendered; then nothing is written, with one notice. Returns CLI_GO_ON or an exit status. */
int night_write_knowledge(struct night *night);

/*
 * Processes the status and the ending of trial i: rewrites KNOWLEDGE.md, updates the measured pace, and counts
 * failures. Returns the status with which the night continues.
 */
int night_after_trial(struct night *night, size_t i, int status, const struct night_ending *ending, bool warmed_up,
                      double seconds);
