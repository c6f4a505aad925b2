/* trajectory.c: reads and checks trajectories. */
#include "judge/trajectory.h"

#include <math.h>
#include <stdio.h>

static bool is_missing_or(const json_t *object, const char *name, bool (*is_of_type)(const json_t *value))
{
    const json_t *value = json_object_get(object, name);
    return !value || is_of_type(value);
}

static bool is_text(const json_t *value)
{
    return json_is_string(value);
}

static bool is_name(const json_t *value)
{
    return json_is_string(value) || json_is_integer(value);
}

static bool is_truth(const json_t *value)
{
    return json_is_boolean(value);
}

static bool refuse(char why[TRAJECTORY_WHY_MAX], const char *what)
{
    snprintf(why, TRAJECTORY_WHY_MAX, "%s", what);
    return false;
}

static bool check_steps(const json_t *steps, char why[TRAJECTORY_WHY_MAX])
{
    size_t n = json_array_size(steps);
    if (n < 1 || n > TRAJECTORY_STEPS_MAX)
        return refuse(why, "\"steps\" must be a list of 1 to 1000 objects");
    for (size_t i = 0; i < n; i++) {
        const json_t *step = json_array_get(steps, i);
        if (json_is_string(json_object_get(step, "action")) && is_missing_or(step, "observation", is_text))
            continue;
        snprintf(why, TRAJECTORY_WHY_MAX, "steps[%zu] must be an object with the text \"action\"; \"observation\" is a text too",
                 i);
        return false;
    }
    return true;
}

bool trajectory_check(const json_t *value, char why[TRAJECTORY_WHY_MAX])
{
    const json_t *reward = json_object_get(value, "reward");
    if (!json_is_object(value))
        return refuse(why, "it must be a JSON object");
    if (!json_is_string(json_object_get(value, "task")))
        return refuse(why, "\"task\" must be a text");
    if (!json_is_number(reward) || !isfinite(json_number_value(reward)))
        return refuse(why, "\"reward\" must be a number");
    if (!is_missing_or(value, "success", is_truth))
        return refuse(why, "\"success\" must be true or false");
    if (!is_missing_or(value, "id", is_name) || !is_missing_or(value, "group", is_name))
        return refuse(why, "\"id\" and \"group\" must be texts or whole numbers");
    return check_steps(json_object_get(value, "steps"), why);
}

size_t trajectory_steps(const json_t *trajectory)
{
    return json_array_size(json_object_get(trajectory, "steps"));
}

double trajectory_reward(const json_t *trajectory)
{
    return json_number_value(json_object_get(trajectory, "reward"));
}

/* The core uses the same limit of 0.5 between success and failure. */
bool trajectory_succeeded(const json_t *trajectory)
{
    const json_t *success = json_object_get(trajectory, "success");
    return success ? json_is_true(success) : trajectory_reward(trajectory) > 0.5;
}
