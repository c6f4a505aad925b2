/*
 * trial_watch.h: runs a command within its limits and collects the evidence of how it ended.
 *
 * The child leads a process group, which is killed as a whole if a limit is exceeded or the user interrupts; a guarded
 * child is ended with all its descendants (guardian.h). A child that reports events (event_lines.h) may measure its own
 * time. That time is then also compared with the limits, because the label must not depend on when this process read
 * the report. A child that reports nothing is judged by its exit status.
 */
#pragma once

#include "trial/trial_job.h"
#include "trial/trial_outcome.h"

/* Runs the job to its end. Returns false, after printing the error, if it could not be started or watched. */
bool trial_watch(struct trial_outcome *outcome, const struct trial_job *job);
