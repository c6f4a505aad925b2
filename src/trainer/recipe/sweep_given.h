/* sweep_given.h: refuses the settings of a sweep that nothing reads. */
#pragma once

#include <jansson.h>

#include <trainer/sweep.h>

/*
 * Checks trial i of n. A setting of the trial's own object or of the grid must be read by the trial. A setting of the
 * base that it shares with the others must be read by one of the trials: a base describes all of them, and the rows of
 * those that do not read the setting leave it out. own and grid are in canonical form.
 */
enum trainer_status sweep_check_given(const struct trainer_trial *trials, size_t n, size_t i, json_t *own, json_t *grid,
                                      struct trainer_error *err);
