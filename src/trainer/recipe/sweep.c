/*
 * sweep.c: expands one JSON file into a list of checked recipes. A trial is base + trial + grid point, merged as JSON
 * and then read like any recipe.
 *
 * The parts are merged as JSON and not as structs, because a struct cannot tell a setting at its default from one that
 * a trial sets back to its default.
 *
 * Everything is expanded and checked before the first trial runs, so that a mistake in the last of forty trials is
 * reported within a second, in the evening.
 */
#include <trainer/sweep.h>

#include <jansson.h>
#include <xxhash.h>

#include "recipe/recipe_conditions.h"
#include "support/error.h"
#include "recipe/recipe_foreign.h"
#include "recipe/recipe_json.h"
#include "recipe/recipe_names.h"
#include "recipe/recipe_nearest.h"
#include "recipe/recipe_value.h"
#include "recipe/sweep_merge.h"

/* ---- refuses the settings of a sweep that nothing reads ---- */

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

/* Checks trial i of n. A setting of the trial's own object or of the grid must be read by the trial. A setting of the
 * base that it shares with the others must be read by one of the trials: a base describes all of them, and the rows of
 * those that do not read the setting leave it out. own and grid are in canonical form. */
static enum trainer_status sweep_check_given(const struct trainer_trial *trials, size_t n, size_t i, json_t *own, json_t *grid,
                                             struct trainer_error *err)
{
    struct trainer_unread unread[UNREAD_MAX];
    size_t found = trainer_recipe_unread(&trials[i].recipe, unread, UNREAD_MAX);
    for (size_t k = 0; k < found && k < UNREAD_MAX; k++) {
        bool its_own = recipe_gives(own, unread[k].setting) || is_on_an_axis(grid, unread[k].setting);
        if (unread[k].refused && (its_own || !is_read_by_any(trials, n, unread[k].setting)))
            return trainer_fail(err, TRAINER_EINVAL, "trial '%.63s': %s is %s, but nothing reads it: it needs %s%s",
                                trials[i].name, unread[k].setting, unread[k].value, unread[k].needs,
                                recipe_foreign_namesake(unread[k].setting));
    }
    return recipe_check_clip_scale(&trials[i].recipe, err);
}

/* ---- expands one JSON file into a list of checked recipes ---- */

struct trainer_sweep {
    char name[TRAINER_NAME_MAX];
    size_t n;
    struct trainer_trial *trials; /* [n] */
};

/* A sweep while it is expanded. */
struct plan {
    json_t *base; /* owned */
    json_t *trials, *grid;
    const char *parent; /* parent of trials that do not name one */
    size_t n_trials, n_points;
    bool grid_first; /* order is "grid" */
};

static const char *const keys[] = {"name", "recipe", "base", "parent", "trials", "grid", "order", NULL};

/* The value is shown as JSON, so that "3" and 3 can be told apart. */
static enum trainer_status wrong(const char *key, const char *needed, const json_t *value, struct trainer_error *err)
{
    char shown[64];
    recipe_shown(shown, value);
    return trainer_fail(err, TRAINER_EINVAL, "%s is %s, but must be %s", key, shown, needed);
}

/* The message always names the nearest key, however different it is, because there are only seven keys. */
static enum trainer_status check_key(const char *key, struct trainer_error *err)
{
    const char *nearest = keys[0];
    for (size_t i = 1; keys[i]; i++)
        if (rl_name_distance(key, keys[i]) < rl_name_distance(key, nearest))
            nearest = keys[i];
    if (strcmp(key, nearest) == 0)
        return TRAINER_OK;
    char shown[64];
    json_t *string = json_string(key);
    recipe_shown(shown, string);
    json_decref(string);
    return trainer_fail(err, TRAINER_EINVAL, "unknown key %s; the nearest known one is %s", shown, nearest);
}

static enum trainer_status check_keys(json_t *root, struct trainer_error *err)
{
    const char *key;
    json_t *value;
    enum trainer_status status = TRAINER_OK;
    json_object_foreach(root, key, value) {
        status = check_key(key, err);
        if (status != TRAINER_OK)
            break;
    }
    return status;
}

/*
 * Reads a string of less than size bytes, or returns the fallback if the key is missing. An empty text is refused,
 * because an empty name would be invisible in rows and an empty parent would be ambiguous.
 */
static enum trainer_status read_text(const char **text, json_t *root, const char *key, size_t size, const char *fallback,
                                     struct trainer_error *err)
{
    const json_t *value = json_object_get(root, key);
    *text = value ? json_string_value(value) : fallback;
    if (*text && **text && strlen(*text) < size)
        return TRAINER_OK;
    return wrong(key, "a short text", value, err);
}

/* ---- the base ----------------------------------------------------------------------------- */

/*
 * The path is relative to the sweep's file, as in other formats that include files. So a sweep that is moved together
 * with its recipe still works, from any working directory.
 */
static enum trainer_status join_path(char path[TRAINER_PATH_MAX], const char *directory, const char *file,
                                     struct trainer_error *err)
{
    bool relative = directory && file[0] != '/';
    int length = snprintf(path, TRAINER_PATH_MAX, "%s%s%s", relative ? directory : "", relative ? "/" : "", file);
    if (length < TRAINER_PATH_MAX)
        return TRAINER_OK;
    return trainer_fail(err, TRAINER_EINVAL, "recipe: the path is longer than %d bytes", TRAINER_PATH_MAX);
}

static enum trainer_status load_object(json_t **object, const char *path, struct trainer_error *err)
{
    char *text;
    size_t length;
    TRY(recipe_file_read(&text, &length, path, err));
    *object = recipe_object_parse(path, text, length, err);
    free(text);
    return *object ? TRAINER_OK : TRAINER_EINVAL;
}

static enum trainer_status read_base(struct plan *plan, json_t *root, const char *directory, struct trainer_error *err)
{
    json_t *file = json_object_get(root, "recipe"), *over = json_object_get(root, "base");
    char path[TRAINER_PATH_MAX];
    if (file && !json_is_string(file))
        return wrong("recipe", "the path of a recipe", file, err);
    if (over && !json_is_object(over))
        return wrong("base", "an object", over, err);
    if (file)
        TRY(join_path(path, directory, json_string_value(file), err));
    if (file)
        TRY(load_object(&plan->base, path, err));
    if (!file)
        plan->base = json_object();
    /* Older keys are renamed before anything is merged, because otherwise a setting could exist twice. */
    TRY(recipe_canonical(plan->base, err));
    if (over)
        TRY(recipe_canonical(over, err));
    return !over || sweep_lay_over(plan->base, over) ? TRAINER_OK : trainer_fail(err, TRAINER_ENOMEM, "out of memory");
}

/* ---- trials and grid ---------------------------------------------------------------------- */

/* Without `trials` there is one trial that changes nothing, so that a grid alone is a valid sweep. */
static enum trainer_status read_trials(struct plan *plan, json_t *root, struct trainer_error *err)
{
    size_t i;
    json_t *trial;
    if (!json_object_get(root, "trials"))
        json_object_set_new(root, "trials", json_pack("[{}]"));
    plan->trials = json_object_get(root, "trials");
    plan->n_trials = json_array_size(plan->trials);
    if (plan->n_trials == 0)
        return wrong("trials", "a list of objects", plan->trials, err);
    json_array_foreach(plan->trials, i, trial) {
        if (!json_is_object(trial))
            return wrong("trials", "a list of objects", trial, err);
        enum trainer_status status = recipe_canonical(trial, err);
        if (status != TRAINER_OK)
            return trainer_blame(err, status, "trial", (int32_t)i);
    }
    return TRAINER_OK;
}

/*
 * Grid values must be scalars, because an object has no short text for the trial's name, by which people distinguish
 * grid points.
 */
static bool is_scalar(const json_t *value)
{
    return json_is_number(value) || json_is_boolean(value) || json_is_string(value);
}

static enum trainer_status check_axis(const char *path, json_t *values, struct trainer_error *err)
{
    size_t i;
    json_t *value;
    bool good = json_array_size(values) > 0;
    json_array_foreach(values, i, value)
        good = good && is_scalar(value);
    return good ? TRAINER_OK : wrong(path, "a list of numbers, texts or booleans", values, err);
}

/* The bound is checked after every axis, before the product can overflow. */
static enum trainer_status read_grid(struct plan *plan, json_t *root, struct trainer_error *err)
{
    const char *path;
    json_t *values;
    enum trainer_status status = TRAINER_OK;
    if (!json_object_get(root, "grid"))
        json_object_set_new(root, "grid", json_object());
    plan->grid = json_object_get(root, "grid");
    if (!json_is_object(plan->grid))
        return wrong("grid", "an object", plan->grid, err);
    plan->n_points = 1;
    json_object_foreach(plan->grid, path, values) {
        status = check_axis(path, values, err);
        if (status != TRAINER_OK)
            return recipe_blame(err, "grid", status);
        plan->n_points *= json_array_size(values);
        if (plan->n_points * plan->n_trials > TRAINER_SWEEP_TRIALS_MAX)
            break;
    }
    if (plan->n_points * plan->n_trials > TRAINER_SWEEP_TRIALS_MAX)
        return trainer_fail(err, TRAINER_EINVAL, "more than %d trials", TRAINER_SWEEP_TRIALS_MAX);
    return TRAINER_OK;
}

/*
 * "trials" runs all trials of the first grid point, then of the second, so that an interrupted night has compared all
 * trials at least at one point. "grid" finishes a trial's whole grid first.
 */
static enum trainer_status read_order(struct plan *plan, json_t *root, struct trainer_error *err)
{
    const char *order;
    enum trainer_status status = read_text(&order, root, "order", 16, "trials", err);
    plan->grid_first = status == TRAINER_OK && strcmp(order, "grid") == 0;
    if (status == TRAINER_OK && !plan->grid_first && strcmp(order, "trials") != 0)
        return wrong("order", "\"trials\" or \"grid\"", json_object_get(root, "order"), err);
    return status;
}

/* Unknown keys are checked first, because a misspelt "grid" would leave a valid sweep of one trial. */
static enum trainer_status read_plan(struct plan *plan, struct trainer_sweep *sweep, json_t *root, const char *directory,
                                     struct trainer_error *err)
{
    const char *name = NULL;
    TRY(check_keys(root, err));
    TRY(read_text(&name, root, "name", sizeof sweep->name, "sweep", err));
    TRY(read_text(&plan->parent, root, "parent", TRAINER_NAME_MAX, "base", err));
    TRY(read_base(plan, root, directory, err));
    TRY(read_trials(plan, root, err));
    TRY(read_grid(plan, root, err));
    TRY(read_order(plan, root, err));
    strcpy(sweep->name, name);
    return TRAINER_OK;
}

/* ---- one trial ---------------------------------------------------------------------------- */

/* Returns the index of trial t at grid point g in the order of the night. */
static size_t position(const struct plan *plan, size_t t, size_t g)
{
    return plan->grid_first ? t * plan->n_points + g : g * plan->n_trials + t;
}

static const char *trial_name(const struct plan *plan, size_t t)
{
    const char *name = json_string_value(json_object_get(json_array_get(plan->trials, t), "name"));
    if (!name)
        name = json_string_value(json_object_get(plan->base, "name"));
    return name ? name : "trial";
}

/*
 * Writes the name of an axis: its setting's name, or the last part of its path if no other axis ends in the same part.
 */
static void name_axis(char name[128], json_t *grid, const char *path)
{
    char called[128], other_called[128];
    const char *other;
    json_t *values;
    recipe_called(called, path);
    const char *dot = strrchr(called, '.'), *last = dot ? dot + 1 : called;
    json_object_foreach(grid, other, values) {
        recipe_called(other_called, other);
        const char *its = strrchr(other_called, '.');
        if (strcmp(other, path) != 0 && strcmp(its ? its + 1 : other_called, last) == 0)
            last = called;
    }
    snprintf(name, 128, "%s", last);
}

/* Numbers in names have the same form as in rows, so that a search for lr=0.001 finds both. */
static void scalar_text(char *text, size_t size, const json_t *value)
{
    char number[32];
    if (json_is_number(value))
        recipe_number_text(number, json_number_value(value));
    else
        snprintf(number, sizeof number, "%s", json_is_true(value) ? "true" : "false");
    snprintf(text, size, "%s", json_is_string(value) ? json_string_value(value) : number);
}

/*
 * Puts the values of grid point g into a recipe, and appends them to the trial's name. The last axis varies
 * fastest, as in nested loops. A name that does not fit is refused and not truncated, because truncated names could be
 * equal and would then be refused with a message that explains less.
 */
static enum trainer_status apply_point(const struct plan *plan, size_t g, json_t *recipe, char suffix[TRAINER_TRIAL_NAME_MAX],
                                       struct trainer_error *err)
{
    const char *path;
    json_t *values;
    size_t stride = plan->n_points, used = 0;
    suffix[0] = 0;
    json_object_foreach(plan->grid, path, values) {
        char text[TRAINER_TRIAL_NAME_MAX], name[128];
        size_t n = json_array_size(values);
        stride /= n;
        json_t *value = json_array_get(values, g / stride % n);
        enum trainer_status status = recipe_put(recipe, path, value, err);
        if (status != TRAINER_OK)
            return recipe_blame(err, "grid", status);
        scalar_text(text, sizeof text, value);
        name_axis(name, plan->grid, path);
        size_t room = TRAINER_TRIAL_NAME_MAX - used;
        used += (size_t)snprintf(suffix + used, room, " %s=%s", name, text);
        if (used >= TRAINER_TRIAL_NAME_MAX)
            return trainer_fail(err, TRAINER_EINVAL, "grid: the trial's name would be too long");
    }
    return TRAINER_OK;
}

/*
 * Returns the base merged with trial t, or NULL when out of memory. Each trial is merged into its own copy of the base,
 * because changes to a shared base would leak into the next trial. "parent" is the sweep's key and not a setting, so it
 * is removed before the recipe is read.
 */
static json_t *lay_trial(const struct plan *plan, size_t t)
{
    json_t *recipe = json_deep_copy(plan->base), *trial = json_copy(json_array_get(plan->trials, t));
    json_object_del(trial, "parent");
    bool made = recipe && trial && sweep_lay_over(recipe, trial);
    json_decref(trial);
    if (made)
        return recipe;
    json_decref(recipe);
    return NULL;
}

static enum trainer_status read_recipe(const struct plan *plan, struct trainer_trial *trial, size_t t, size_t g,
                                       struct trainer_error *err)
{
    char suffix[TRAINER_TRIAL_NAME_MAX];
    json_t *recipe = lay_trial(plan, t);
    enum trainer_status status = recipe ? TRAINER_OK : trainer_fail(err, TRAINER_ENOMEM, "out of memory");
    if (status == TRAINER_OK)
        status = apply_point(plan, g, recipe, suffix, err);
    if (status == TRAINER_OK)
        status = recipe_from_recorded_json(&trial->recipe, recipe, err);
    json_decref(recipe);
    if (status != TRAINER_OK)
        return status;
    int length = snprintf(trial->name, sizeof trial->name, "%s%s", trial->recipe.name, suffix);
    if ((size_t)length >= sizeof trial->name)
        return trainer_fail(err, TRAINER_EINVAL, "grid: the trial's name would be too long");
    return TRAINER_OK;
}

/*
 * A parent must be an earlier trial, so that a night is one pass from top to bottom. The parent is the one at the same
 * grid point: the child at lr=0.1 starts from the parent that ran with lr=0.1. Any other name is an id in the store,
 * which this library does not know; the night looks it up.
 */
static enum trainer_status read_parent(const struct plan *plan, struct trainer_trial *trial, size_t t, size_t g,
                                       struct trainer_error *err)
{
    const char *parent;
    enum trainer_status status =
        read_text(&parent, json_array_get(plan->trials, t), "parent", sizeof trial->parent_name, plan->parent, err);
    if (status != TRAINER_OK)
        return status;
    trial->parent = strcmp(parent, "base") == 0 ? TRAINER_PARENT_BASE : TRAINER_PARENT_OTHER;
    if (trial->parent == TRAINER_PARENT_BASE)
        return TRAINER_OK;
    for (size_t other = 0; other < plan->n_trials; other++) {
        if (strcmp(trial_name(plan, other), parent) != 0)
            continue;
        if (other >= t)
            return trainer_fail(err, TRAINER_EINVAL, "its parent '%s' does not come before it", parent);
        trial->parent = TRAINER_PARENT_TRIAL;
        trial->parent_trial = position(plan, other, g);
        return TRAINER_OK;
    }
    strcpy(trial->parent_name, parent);
    return TRAINER_OK;
}

/*
 * Removes the settings that define how a judge and a teacher are called and how long they may take, because they affect neither flags
 * nor log-probs.
 */
static void forget_errands(struct trainer_recipe *recipe)
{
    struct trainer_judge *judge = &recipe->judge;
    struct trainer_recipe initial;
    trainer_recipe_init(&initial);
    for (int32_t i = 0; i < recipe->n_tasks; i++) {
        struct trainer_teacher_endpoint *teacher = &recipe->tasks[i].algorithm.endpoint;
        const struct trainer_teacher_endpoint *unset = &initial.tasks[0].algorithm.endpoint;
        memcpy(teacher->key_env, unset->key_env, sizeof teacher->key_env);
        teacher->concurrency = unset->concurrency;
        teacher->deadline = unset->deadline;
        teacher->backoff = unset->backoff;
    }
    memcpy(judge->key_env, initial.judge.key_env, sizeof judge->key_env);
    memcpy(judge->cache, initial.judge.cache, sizeof judge->cache);
    judge->concurrency = initial.judge.concurrency;
    judge->deadline = initial.judge.deadline;
    judge->timeout = initial.judge.timeout;
    judge->backoff = initial.judge.backoff;
    judge->max_failed_share = initial.judge.max_failed_share;
}

/*
 * The key identifies a trial that ran before: the same recipe and start have the same key in any sweep, on any machine.
 * It is a digest of the text and not of the struct, because the struct's padding is not part of a trial. Hypothesis and
 * expectation are left out because they may be reworded, and threads because they change no result. The parent's key is
 * included, so that a change at the top of a chain runs the whole chain again.
 */
static enum trainer_status make_key(struct trainer_trial *trial, const struct trainer_trial *trials, struct trainer_error *err)
{
    char parent[TRAINER_NAME_MAX + 32];
    struct trainer_recipe recipe = trial->recipe;
    recipe.hypothesis[0] = recipe.expected_delta[0] = 0;
    recipe.threads = 0;
    forget_errands(&recipe);
    char *text = trainer_recipe_text(&recipe);
    if (!text)
        return trainer_no_memory(err, sizeof recipe);
    uint64_t above = trial->parent == TRAINER_PARENT_TRIAL ? trials[trial->parent_trial].key : 0;
    snprintf(parent, sizeof parent, "%d %016llx %s", (int)trial->parent, (unsigned long long)above, trial->parent_name);
    trial->key = XXH64(parent, strlen(parent), XXH64(text, strlen(text), 0));
    free(text);
    return TRAINER_OK;
}

/* ---- all trials --------------------------------------------------------------------------- */

/* Returns the index of the trial that comes at place i of the night. */
static size_t trial_at(const struct plan *plan, size_t i)
{
    return plan->grid_first ? i / plan->n_points : i % plan->n_trials;
}

/* Trials are expanded in the order of the night, because a trial's key needs its parent's key. */
static enum trainer_status expand_trial(const struct plan *plan, struct trainer_trial *trials, size_t i,
                                        struct trainer_error *err)
{
    struct trainer_trial *trial = &trials[i];
    size_t t = trial_at(plan, i);
    size_t g = plan->grid_first ? i % plan->n_points : i / plan->n_trials;
    enum trainer_status status = read_recipe(plan, trial, t, g, err);
    if (status == TRAINER_OK)
        status = read_parent(plan, trial, t, g, err);
    if (status == TRAINER_OK)
        return make_key(trial, trials, err);
    char name[128];
    snprintf(name, sizeof name, "trial '%.63s'", trial_name(plan, t));
    return recipe_blame(err, name, status);
}

static int by_name(const void *a, const void *b)
{
    const struct trainer_trial *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int by_key(const void *a, const void *b)
{
    const struct trainer_trial *const *x = a, *const *y = b;
    return ((*x)->key > (*y)->key) - ((*x)->key < (*y)->key);
}

/* Sorts the trials, because comparing a grid of 10,000 trials pair by pair would be noticeably slow. */
static enum trainer_status check_unique(const struct trainer_sweep *sweep, int (*compare)(const void *, const void *),
                                        const char *what, struct trainer_error *err)
{
    enum trainer_status status = TRAINER_OK;
    const struct trainer_trial **sorted = malloc(sweep->n * sizeof *sorted);
    if (!sorted)
        return trainer_no_memory(err, sweep->n * sizeof *sorted);
    for (size_t i = 0; i < sweep->n; i++)
        sorted[i] = &sweep->trials[i];
    qsort(sorted, sweep->n, sizeof *sorted, compare);
    for (size_t i = 1; i < sweep->n && status == TRAINER_OK; i++)
        if (compare(&sorted[i - 1], &sorted[i]) == 0)
            status =
                trainer_fail(err, TRAINER_EINVAL, "trials %zu and %zu, '%s', have the same %s",
                             (size_t)(sorted[i - 1] - sweep->trials), (size_t)(sorted[i] - sweep->trials), sorted[i]->name, what);
    free(sorted);
    return status;
}

/*
 * Names are checked first, because two equal trials have both equal names and equal keys, and the message about names
 * explains more.
 */
static enum trainer_status expand(struct trainer_sweep *sweep, const struct plan *plan, struct trainer_error *err)
{
    sweep->n = plan->n_trials * plan->n_points;
    sweep->trials = calloc(sweep->n, sizeof *sweep->trials);
    if (!sweep->trials)
        return trainer_no_memory(err, sweep->n * sizeof *sweep->trials);
    for (size_t i = 0; i < sweep->n; i++)
        TRY(expand_trial(plan, sweep->trials, i, err));
    for (size_t i = 0; i < sweep->n; i++)
        TRY(sweep_check_given(sweep->trials, sweep->n, i, json_array_get(plan->trials, trial_at(plan, i)), plan->grid, err));
    TRY(check_unique(sweep, by_name, "name", err));
    return check_unique(sweep, by_key, "recipe", err);
}

/* The caller's pointer is set last, so that the caller gets a complete sweep or none. */
enum trainer_status trainer_sweep_parse(struct trainer_sweep **sweep, const char *name, const char *text, size_t length,
                                        const char *directory, struct trainer_error *err)
{
    struct plan plan = {0};
    *sweep = NULL;
    json_t *root = recipe_object_parse(name, text, length, err);
    if (!root)
        return TRAINER_EINVAL;
    struct trainer_sweep *made = calloc(1, sizeof *made);
    enum trainer_status status = made ? read_plan(&plan, made, root, directory, err) : trainer_no_memory(err, sizeof *made);
    if (status == TRAINER_OK)
        status = expand(made, &plan, err);
    json_decref(plan.base);
    json_decref(root);
    if (status == TRAINER_OK) {
        *sweep = made;
        return TRAINER_OK;
    }
    trainer_sweep_free(made);
    return recipe_blame(err, name, status);
}

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    return slash ? strndup(length ? path : "/", length ? length : 1) : strdup(".");
}

enum trainer_status trainer_sweep_load(struct trainer_sweep **sweep, const char *path, struct trainer_error *err)
{
    char *text;
    size_t length;
    *sweep = NULL;
    enum trainer_status status = recipe_file_read(&text, &length, path, err);
    if (status != TRAINER_OK)
        return status;
    char *directory = directory_of(path);
    status = directory ? trainer_sweep_parse(sweep, path, text, length, directory, err) : trainer_no_memory(err, strlen(path));
    free(directory);
    free(text);
    return status;
}

void trainer_sweep_free(struct trainer_sweep *sweep)
{
    if (sweep)
        free(sweep->trials);
    free(sweep);
}

const char *trainer_sweep_name(const struct trainer_sweep *sweep)
{
    return sweep->name;
}

size_t trainer_sweep_count(const struct trainer_sweep *sweep)
{
    return sweep->n;
}

const struct trainer_trial *trainer_sweep_trial(const struct trainer_sweep *sweep, size_t i)
{
    return i < sweep->n ? &sweep->trials[i] : NULL;
}
