/* night_summary.h: what a night prints at its end. */
#ifndef CLI_NIGHT_SUMMARY_H
#define CLI_NIGHT_SUMMARY_H

#include "night/night.h"

/*
 * Prints on standard error why the night ended, how many trials are left, and the command to type next; standard output
 * holds rows alone. Prints nothing after an error, whose message is to be the last line.
 */
void night_summarize(const struct night *night, int status);

#endif
