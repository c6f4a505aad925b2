/* rollout_print.h: one rollout turn by turn, as a table or as JSON. */
#ifndef CLI_ROLLOUT_PRINT_H
#define CLI_ROLLOUT_PRINT_H

#include <jansson.h>

#include <trainer/train.h>

/* Prints question and outcome, then a table of turns, on standard output. Returns an exit status. */
int rollout_print(const struct trainer_recipe *recipe, const struct trainer_rollout *rollout);

/*
 * The rollout as a judge sees it (schema/trajectory.schema.json): the question and the steps in the words of
 * rollout_print, without the true answer. A new reference.
 */
json_t *rollout_trajectory(const struct trainer_recipe *recipe, const struct trainer_rollout *rollout);

/* The rollout with all its numbers. A new reference. */
json_t *rollout_json(const struct trainer_recipe *recipe, const struct trainer_rollout *rollout);

#endif
