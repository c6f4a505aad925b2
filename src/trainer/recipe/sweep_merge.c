#include "recipe/sweep_merge.h"

/* Merges element by element: {"environments": [{"algorithm": {..}}]} changes one environment. */
static bool lay_over_list(json_t *onto, json_t *over);

/* Whether both are containers of the same kind; if so, *done says whether merging succeeded. */
static bool merges(json_t *onto, json_t *over, bool *done)
{
    if (json_is_object(onto) && json_is_object(over))
        *done = sweep_lay_over(onto, over);
    else if (json_is_array(onto) && json_is_array(over))
        *done = lay_over_list(onto, over);
    else
        return false;
    return true;
}

/*
 * Lists are merged and not replaced, because a recipe's only list is its environments, and a trial that changes one
 * number of one environment should not have to repeat the rest. A longer list adds environments. Environments cannot be
 * removed; a trial with fewer environments needs its own recipe.
 */
static bool lay_over_list(json_t *onto, json_t *over)
{
    size_t i, n = json_array_size(onto);
    json_t *value;
    json_array_foreach(over, i, value) {
        bool done;
        if (i < n && merges(json_array_get(onto, i), value, &done)) {
            if (!done)
                return false;
            continue;
        }
        json_t *copy = json_deep_copy(value);
        if (i < n ? json_array_set_new(onto, i, copy) : json_array_append_new(onto, copy))
            return false;
    }
    return true;
}

/*
 * Values are copied deeply: otherwise several trials would share one object, and the grid would write through it
 * into all of them.
 */
bool sweep_lay_over(json_t *onto, json_t *over)
{
    const char *key;
    json_t *value;
    json_object_foreach(over, key, value) {
        bool done;
        if (!merges(json_object_get(onto, key), value, &done))
            done = json_object_set_new(onto, key, json_deep_copy(value)) == 0;
        if (!done)
            return false;
    }
    return true;
}
