/* trial_params.h: settings of a recipe as parameters of a trial, under the names people query by.
 */
#ifndef CLI_TRIAL_PARAMS_H
#define CLI_TRIAL_PARAMS_H

#include "trial_events.h"

/*
 * Fills record->params: the settings that every trial names (seed, lr, ..), those that its
 * algorithm uses (alpha, beta, gamma, ..), and all others that are not at their default. threads is
 * left out: it changes no result; start.* is for a trial with a parent, whose checkpoint it starts
 * from.
 */
void trial_params_fill(struct trial_record *record, bool has_parent);

/*
 * The settings that are words and not at their default, as prose for notes: "loss.name turn,
 * sampler.precision int8". Names and start.* are left out. Empty if there are none. free; NULL when
 * out of memory.
 */
char *trial_params_words(const struct trainer_recipe *recipe);

#endif
