/* sweep_given.c: see sweep_given.h. */
#include "recipe/sweep_given.h"

#include "recipe/recipe_conditions.h"
#include "recipe/recipe_names.h"
#include "support/error.h"

enum { UNREAD_MAX = 64 };

static bool is_on_an_axis(json_t *grid, const char *setting)
{
    const char *axis;
    json_t *values;
    json_object_foreach(grid, axis, values)
        if (recipe_same_setting(axis, setting))
            return true;
    return false;
}

static bool is_read_by_any(const struct trainer_trial *trials, size_t n, const char *setting)
{
    char needs[256];
    for (size_t i = 0; i < n; i++)
        if (recipe_setting_is_read(&trials[i].recipe, setting, needs))
            return true;
    return false;
}

enum trainer_status sweep_check_given(const struct trainer_trial *trials, size_t n, size_t i, json_t *own, json_t *grid,
                                      struct trainer_error *err)
{
    struct trainer_unread unread[UNREAD_MAX];
    size_t found = trainer_recipe_unread(&trials[i].recipe, unread, UNREAD_MAX);
    for (size_t k = 0; k < found && k < UNREAD_MAX; k++) {
        bool its_own = recipe_gives(own, unread[k].setting) || is_on_an_axis(grid, unread[k].setting);
        if (unread[k].refused && (its_own || !is_read_by_any(trials, n, unread[k].setting)))
            return trainer_fail(err, TRAINER_EINVAL, "trial '%.63s': %s is %s, but nothing reads it: it needs %s", trials[i].name,
                                unread[k].setting, unread[k].value, unread[k].needs);
    }
    return recipe_check_clip_scale(&trials[i].recipe, err);
}
