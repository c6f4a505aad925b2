/*
 * planner_request.h: the JSON object that a planner gets before each trial.
 *
 * The object holds everything that a planner needs: the rendered block that agents read, and in addition, as data, what
 * agents most often misread in prose: ranges, failures and their reasons, near misses, settings that nobody tried, and
 * trials to start from.
 */
#pragma once

#include "plan/planning.h"

/* refused: the planner's proposals that the gate refused in this turn, with reasons, or NULL. Returns a new reference, or
 * NULL after printing the error. */
json_t *planner_request(struct planning *planning, const json_t *refused);
