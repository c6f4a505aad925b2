/*
 * trial_label.h: derives the label of a trial and a textual reason from the evidence of how the trial ended.
 *
 *   finished, with a score                        keep or discard by the score, or baseline
 *   finished, with a score that is not finite     crash
 *   finished, but no score was found              harness_abort
 *   artifact too large, or it reported `size`     size_blocked
 *   it reported `input` before the first step     preflight_crash
 *   the preflight failed                          preflight_crash
 *   time limit of training, of evaluation, also of `timeout`   train_budget_overrun, eval_budget_overrun
 *   signal, memory, silence, a value that is not finite, any other failure   crash
 *   a protected file changed, or a requirement is not met   disqualified
 *   pruned, because its curve was hopeless        discard, without a score
 *   interrupted, or its watcher was killed        harness_abort
 *   the machine lacks something, such as a module or room on its disk   harness_abort
 */
#pragma once

#include "trial/trial_outcome.h"
#include "trial/trial_results.h"

/*
 * Returns LINEAGE_BASELINE for a finished trial; append then compares it with the best trial and changes the label to
 * keep or discard.
 */
enum lineage_label trial_label(const struct trial_results *results, const struct trial_outcome *outcome);

/*
 * Writes how a time limit was exceeded: "took more than 60 s", "took more than 60 s (61.5)" if it was measured, or
 * the same in processor seconds.
 */
void trial_label_overrun(char *out, size_t size, const struct trial_outcome *outcome, double seconds, double cpu_seconds);

/*
 * Returns the signal by which a command ended whose launcher left with this status, or 0: 137 of shells (128 + 9), and 247 of launchers in
 * Python, which leave with the return code -9 of their child.
 */
int trial_label_signal(int exit_status);

/* Writes ", which stands for signal 9 (Killed), perhaps out of memory" for a status by which launchers and shells report a
 * signal that ended their command, or "". */
void trial_label_status(char *out, size_t size, int exit_status);

/* What ended the trial. A cause that its output names counts more than its status. */
enum lineage_cause trial_label_cause(const struct trial_results *results, const struct trial_outcome *outcome);

/* Writes outcome->reason: why the trial did not finish, or "" if it finished. */
void trial_label_explain(const struct trial_results *results, struct trial_outcome *outcome);
