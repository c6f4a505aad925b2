/*
 * trajectory.h: one finished attempt at a task, in the form of schema/trajectory.schema.json:
 *
 *   {"id": "q17", "task": "From e3 follow r1, then r4.", "reward": 1,
 *    "steps": [{"action": "search e3 r1", "observation": "r1 e9, r6 e2"}, {"action": "answer e40"}]}
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum { TRAJECTORY_STEPS_MAX = 1000, TRAJECTORY_WHY_MAX = 160 };

/* Whether the value is a trajectory; if not, why says what is missing or has the wrong type. */
bool trajectory_check(const json_t *value, char why[TRAJECTORY_WHY_MAX]);

/* The functions below need a trajectory that has passed trajectory_check. */
size_t trajectory_steps(const json_t *trajectory);
double trajectory_reward(const json_t *trajectory);
/* its "success" if present, else whether the reward is above 0.5 */
bool trajectory_succeeded(const json_t *trajectory);
