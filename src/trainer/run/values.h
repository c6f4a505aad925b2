/*
 * values.h: the values of a value head, from sampling to update. Their arrays hang on the rollouts and
 * on the minibatch of runs that have a head, and nobody else pays for them.
 */
#ifndef TRAINER_VALUES_H
#define TRAINER_VALUES_H

#include "run/run.h"

double values_bytes(const struct trainer_recipe *recipe);

/* Behind rollouts and minibatch; false when out of memory. */
bool values_open(struct run *run);

/* What values at sampling said of the returns that came. */
void values_measure(const struct trainer_rollouts *rollouts, struct trainer_iteration *metrics);

#endif
