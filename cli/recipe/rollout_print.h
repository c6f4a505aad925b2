/* rollout_print.h: prints one rollout turn by turn, as a table or as JSON. */
#pragma once

#include <jansson.h>

#include <trainer/train.h>

/* Prints question and outcome, then a table of turns, on standard output. Returns an exit status. */
int rollout_print(const struct trainer_recipe *recipe, const struct trainer_rollout *rollout);

/*
 * Returns the rollout as a judge sees it (schema/trajectory.schema.json): the question, and the steps in the same words
 * as in rollout_print, without the true answer. The result is a new reference.
 */
json_t *rollout_trajectory(const struct trainer_recipe *recipe, const struct trainer_rollout *rollout);

/* Returns a new reference to the rollout with all its numbers. */
json_t *rollout_json(const struct trainer_recipe *recipe, const struct trainer_rollout *rollout);
