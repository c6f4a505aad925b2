/* sweep_words.h: compares the placeholders in the words of a sweep's commands with its parameters, before a night starts. */
#pragma once

#include "sweep/night_sweep.h"

/*
 * Refuses a placeholder such as `{lrr}` that is nearly the name of a parameter which no word uses. Prints a notice for each
 * range that no word uses, unless the command can read it otherwise: from LINEAGE_PARAMS or LINEAGE_PARAM_NAME, which a
 * word or a file that a word names mentions. Returns CLI_GO_ON or an exit status. Does nothing for a sweep of recipes.
 */
int sweep_words_check(const struct night_sweep *sweep);
