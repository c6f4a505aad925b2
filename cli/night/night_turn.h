/* night_turn.h: runs one trial of a night, from finding its start to appending its row. */
#pragma once

#include "night/night.h"

/*
 * Runs trial i, which this process has claimed, with the environment of its slot (ended by NULL; NULL: none), appends
 * its row and ends the claim. Returns CLI_GO_ON with how the trial ended, CLI_INTERRUPTED, or an exit status.
 */
int night_take_turn(struct night *night, size_t i, const char *const *environment, struct night_ending *ending);
