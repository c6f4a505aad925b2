/* next_trial.h: chooses the trial of a night that runs next. */
#pragma once

#include "night/night.h"

/*
 * Chooses the next trial and claims it. Returns CLI_GO_ON with *i; CLI_OK if no trial is left; CLAIM_WAIT if that
 * depends on trials that are still running; CLAIM_AGAIN if the caller should ask again at once; or an exit status.
 */
int next_trial(struct night *night, size_t *i);
