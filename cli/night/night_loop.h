/* night_loop.h: runs the trials of a night. */
#pragma once

#include "night/night.h"

/*
 * Runs trials until all have a row, the hours are used up, or the night is interrupted. Returns the exit status: 0 when
 * all trials are done or the hours are used up (a script that runs every evening must not fail because one night was
 * too short); 130 after an interruption; 3 if the system failed or trials keep failing in the same way. A single trial
 * that fails does not fail the night.
 */
int night_run(struct night *night);
