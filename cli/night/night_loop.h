/* night_loop.h: runs the trials of a night. */
#ifndef CLI_NIGHT_LOOP_H
#define CLI_NIGHT_LOOP_H

#include "night/night.h"

/*
 * Runs trials until all have a row, the hours are used up, or the night is interrupted. Returns the exit status: 0
 * when all trials are done, and when the hours are used up, since an evening that was too short is not a failure to a
 * script that calls every night; 130 after an interruption; 3 if the system failed, or if trials keep failing alike.
 * A single trial that fails does not fail the night.
 */
int night_run(struct night *night);

#endif
