/* night_summary.h: prints the summary at the end of a night. */
#pragma once

#include "night/night.h"

/*
 * Prints on standard error why the night ended, how many trials are left, and the command to type next; standard output
 * is reserved for rows. Prints nothing after an error, so that the error message stays the last line.
 */
void night_summarize(const struct night *night, int status);

/* Tells the command of --notify that the night has ended, and why. */
void night_tell_end(struct night *night, int status);
