/* final_score.h: the end of a run: final evaluation, checkpoint and last event. */
#pragma once

#include "run/run.h"

/* Evaluates the trained policy, writes the checkpoint if options.checkpoint is set, and reports TRAINER_EVENT_DONE. */
enum trainer_status run_finish(struct run *run, struct trainer_error *err);
