/*
 * gradient_trace.h: finds settings that are read but have no effect on the data of a run, such as a length penalty if all
 * rollouts have the same length.
 *
 * In iterations 0 to 3, 7, 15, .. the log-probs of the updates are noted. After the updates, the credit, the corrections
 * and the loss of all of them are computed again, once unchanged and once for each setting with its default instead. If a bit
 * of a gradient with respect to log-probs or values, a moving baseline or an anchor differs, the setting has an effect and
 * is not looked at any more. No network pass is repeated, no judge is asked, and nothing of the run changes: neither its
 * rollouts nor its random numbers nor its state.
 */
#pragma once

#include "run/run.h"

/* Called for every minibatch of an epoch, after its forward pass. */
void gradient_trace_note(struct run *run, int32_t iteration, int32_t epoch);

/* Called after the updates of an iteration. Returns TRAINER_ENOMEM if memory runs out. Any other failure of the unchanged
 * recipe only means that this iteration finds nothing out. */
enum trainer_status gradient_trace_look(struct run *run, int32_t iteration, struct trainer_error *err);

/*
 * Fills event->inert, whose text belongs to the run, and event->trace_s. A resumed run has not seen all iterations and
 * reports no setting.
 */
void gradient_trace_report(const struct run *run, struct trainer_event *event);
