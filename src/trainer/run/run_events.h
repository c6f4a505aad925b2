/* run_events.h: the events that a run reports to its caller. */
#ifndef TRAINER_RUN_EVENTS_H
#define TRAINER_RUN_EVENTS_H

#include "run/run.h"

/*
 * Calls the caller's event callback, if there is one, with the times so far. The times are those of the run, so
 * that a caller who enforces budgets compares what was trained, not when the event arrived; once training has
 * ended, its clock stops. Returns TRAINER_ESTOPPED if the callback returns false.
 */
enum trainer_status run_report(struct run *run, struct trainer_event *event,
                               struct trainer_error *err);

#endif
