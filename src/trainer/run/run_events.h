/* run_events.h: the events that a run reports to its caller. */
#pragma once

#include "run/run.h"

/*
 * Calls the caller's event callback, if there is one, with the times so far. The times are those of the run, so that a
 * caller that enforces budgets compares the time spent on training and not the time at which the event arrived. The
 * clock of training stops when training ends. Returns TRAINER_ESTOPPED if the callback returns false.
 */
enum trainer_status run_report(struct run *run, struct trainer_event *event, struct trainer_error *err);
