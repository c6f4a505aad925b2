/*
 * recipe_parse.c: reads a recipe from JSON, key by key. Unknown keys are refused, because a misspelt setting would
 * silently stay at its default, and the trial would differ from what its row says.
 */

#include "support/error.h"
#include "recipe/recipe_conditions.h"
#include "recipe/recipe_foreign.h"
#include "recipe/recipe_json.h"
#include "recipe/recipe_names.h"
#include "recipe/recipe_nearest.h"
#include "recipe/recipe_value.h"

#define PATH_SIZE 128

static enum trainer_status read_object(struct trainer_recipe *recipe, void *base, const struct recipe_place *place,
                                       json_t *object, struct trainer_error *err);

static void init_task(struct trainer_recipe *recipe, int32_t i)
{
    recipe->tasks[i] = (struct trainer_task){.env.world = recipe->world};
    recipe_value_init(&recipe_task, &recipe->tasks[i]);
    trainer_algorithm_init(&recipe->tasks[i].algorithm, RL_ALGORITHM_GRPO);
}

void trainer_recipe_init(struct trainer_recipe *recipe)
{
    *recipe = (struct trainer_recipe){.n_tasks = 1};
    recipe_value_init(&recipe_root, recipe);
    init_task(recipe, 0);
}

/* What is known about the values of an unknown object: clauses, each said once, as many as fit into a message. */
struct clauses {
    char text[TRAINER_ERROR_TEXT_MAX - 128];
    size_t used;
    bool more;
};

static void add_clause(struct clauses *c, const char *clause)
{
    bool fits = c->used + strlen(clause) + 2 < sizeof c->text, said = strstr(c->text, clause) != NULL;
    if (fits && !said)
        c->used += (size_t)snprintf(c->text + c->used, sizeof c->text - c->used, "%s%s", c->used ? "; " : "", clause);
    c->more = c->more || (!fits && !said);
}

/*
 * Other programs nest their settings: {"actor": {"policy_loss_type": "gspo"}}. An object is asked about only by its values,
 * because its name may be that of a value elsewhere: TRL's optim is a word, prime-rl's an object. Below the unknown key a
 * value may also have a key of ours; not where the unknown key itself is like one.
 */
static void say_inside(struct clauses *c, const char *path, json_t *value, bool ours_too)
{
    char said[RECIPE_FOREIGN_SIZE], below[2 * PATH_SIZE], ours[PATH_SIZE];
    const char *key;
    json_t *member;
    if (json_object_size(value) > 0 && strlen(path) < PATH_SIZE) { /* programs have no deeper names */
        json_object_foreach(value, key, member) {
            snprintf(below, sizeof below, "%s.%s", path, key);
            say_inside(c, below, member, ours_too);
        }
    } else if (recipe_foreign_say(said, path)) {
        add_clause(c, said);
    } else if (ours_too && recipe_same_key(ours, path)) {
        snprintf(said, sizeof said, "the nearest known one of %.100s is %s", path, ours);
        add_clause(c, said);
    }
}

/* The message shows the key as JSON, because the key may contain any characters. */
static enum trainer_status unknown_key(const struct recipe_place *place, const char *key, json_t *value,
                                       struct trainer_error *err)
{
    char nearest[PATH_SIZE], several[PATH_SIZE], shown[64], where[PATH_SIZE], full[2 * PATH_SIZE];
    struct clauses clauses = {.used = 0};
    json_t *string = json_string(key);
    recipe_shown(shown, string);
    json_decref(string);
    recipe_nearest(nearest, place, key);
    snprintf(full, sizeof full, "%s%s%s", place->parent, place->parent[0] ? "." : "", key);
    bool like = recipe_is_like(nearest, key);
    if (strcmp(recipe_last_part(nearest), key) == 0) {
        size_t n = recipe_same_key(several, full);
        like = n > 0;
        if (n > 1)
            memcpy(nearest, several, sizeof nearest);
    }
    say_inside(&clauses, full, value, !like && json_is_object(value));
    int length = snprintf(where, sizeof where, "%s%s", place->prefix, place->parent);
    if (length > 0 && where[length - 1] == '.')
        where[length - 1] = 0;
    if (clauses.used)
        return trainer_fail(err, TRAINER_EINVAL, "%s%sunknown key %s; %s%s", where, where[0] ? ": " : "", shown, clauses.text,
                            clauses.more ? "; and more" : "");
    return trainer_fail(err, TRAINER_EINVAL, "%s%sunknown key %s; %s%s", where, where[0] ? ": " : "", shown,
                        like ? "the nearest known one is " : RECIPE_UNLIKE, like ? nearest : "");
}

static enum trainer_status wrong_type(const char *path, const char *needed, const json_t *value, struct trainer_error *err)
{
    char shown[64];
    recipe_shown(shown, value);
    return trainer_fail(err, TRAINER_EINVAL, "%s is %s, but must be %s", path, shown, needed);
}

/* Defaults depend on the algorithm, so its name is read before the settings, wherever it comes in the file. */
static void init_algorithm(struct trainer_algorithm *algorithm, const json_t *task)
{
    const json_t *name = json_object_get(json_object_get(task, "algorithm"), "name");
    const struct rl_algorithm *row = NULL;
    for (size_t i = 0; json_is_string(name) && (row = rl_algorithm_at(i)); i++)
        if (strcmp(row->name, json_string_value(name)) == 0)
            trainer_algorithm_init(algorithm, (uint32_t)i);
}

/*
 * Each environment starts from the defaults and not from the previous environment, so that the order of the list does
 * not matter.
 */
static enum trainer_status read_tasks(struct trainer_recipe *recipe, json_t *list, struct trainer_error *err)
{
    size_t n = json_array_size(list);
    if (n < 1 || n > TRAINER_ENVS_MAX)
        return wrong_type("environments", "a list of 1 to 4 objects", list, err);
    for (size_t i = 0; i < n; i++) {
        char prefix[32];
        json_t *object = json_array_get(list, i);
        struct recipe_place place = {&recipe_task, prefix, ""};
        snprintf(prefix, sizeof prefix, "environments[%zu]", i);
        if (!json_is_object(object))
            return wrong_type(prefix, "an object", object, err);
        strcat(prefix, ".");
        init_task(recipe, (int32_t)i);
        init_algorithm(&recipe->tasks[i].algorithm, object);
        TRY(read_object(recipe, &recipe->tasks[i], &place, object, err));
    }
    recipe->n_tasks = (int32_t)n;
    return TRAINER_OK;
}

/*
 * A key with a dot is refused, because it would reach into other objects: {"training.lr": 1} inside "loss" would be
 * found in the table.
 */
static enum trainer_status read_key(struct trainer_recipe *recipe, void *base, const struct recipe_place *place, const char *key,
                                    json_t *value, struct trainer_error *err)
{
    char path[PATH_SIZE], shown[PATH_SIZE];
    snprintf(path, sizeof path, "%s%s%s", place->parent, place->parent[0] ? "." : "", key);
    const struct recipe_field *field = strchr(key, '.') ? NULL : recipe_find(place->table, path);
    if (!field)
        return unknown_key(place, key, value, err);
    snprintf(shown, sizeof shown, "%s%s", place->prefix, field->path);
    if (field->kind == RECIPE_TASKS)
        return read_tasks(recipe, value, err);
    if (field->kind != RECIPE_OBJECT)
        return recipe_value_read(field, shown, base, value, err);
    if (!json_is_object(value))
        return wrong_type(shown, "an object", value, err);
    struct recipe_place inside = {place->table, place->prefix, path};
    return read_object(recipe, base, &inside, value, err);
}

static enum trainer_status read_object(struct trainer_recipe *recipe, void *base, const struct recipe_place *place,
                                       json_t *object, struct trainer_error *err)
{
    const char *key;
    json_t *value;
    enum trainer_status status = TRAINER_OK;
    json_object_foreach(object, key, value) {
        status = read_key(recipe, base, place, key, value, err);
        if (status != TRAINER_OK)
            break;
    }
    return status;
}

/* Reads and checks a recipe, and accepts settings that nothing reads: an earlier trial may have been run with them. */
enum trainer_status recipe_from_recorded_json(struct trainer_recipe *recipe, json_t *object, struct trainer_error *err)
{
    struct recipe_place top = {&recipe_root, "", ""};
    trainer_recipe_init(recipe);
    enum trainer_status status = recipe_canonical(object, err);
    if (status == TRAINER_OK)
        status = read_object(recipe, recipe, &top, object, err);
    recipe->loss.ipo.absent = status == TRAINER_OK && !recipe_gives(object, "ipo.threshold");
    return status == TRAINER_OK ? trainer_recipe_check(recipe, err) : status;
}

/* Sets the defaults, reads a JSON object and checks the recipe. Messages begin with the path of the key. */
static enum trainer_status recipe_from_json(struct trainer_recipe *recipe, json_t *object, struct trainer_error *err)
{
    TRY(recipe_from_recorded_json(recipe, object, err));
    return recipe_check_read(recipe, err);
}

/* The word that recipe_canonical moves elsewhere, or refuses. */
static bool is_moved(const struct trainer_change *change)
{
    return strcmp(change->value, "policy") == 0 && recipe_same_setting(change->setting, "algorithm.teacher");
}

/*
 * A change is refused if nothing reads its setting, even if it sets the default: somebody asked for it, and it would do
 * nothing.
 */
static enum trainer_status check_changes(const struct trainer_recipe *recipe, const struct trainer_change *changes, size_t n,
                                         struct trainer_error *err)
{
    for (size_t i = 0; i < n; i++) {
        char needs[256];
        if (!is_moved(&changes[i]) && !recipe_setting_is_read(recipe, changes[i].setting, needs))
            return trainer_fail(err, TRAINER_EINVAL, "%s is %.60s, but nothing reads it: it needs %s%s", changes[i].setting,
                                changes[i].value, needs, recipe_foreign_namesake(changes[i].setting));
    }
    return TRAINER_OK;
}

/*
 * The value is read as JSON, or as text if it is not valid JSON: --set lr=1e-3 and --set loss.name=turn both work
 * without quotes. is_text is for values such as a file whose name is 1.
 */
static enum trainer_status change(json_t *object, const struct trainer_change *change, struct trainer_error *err)
{
    json_t *value = change->is_text ? NULL : json_loads(change->value, JSON_DECODE_ANY, NULL);
    if (!value)
        value = json_string(change->value);
    if (!value)
        return trainer_fail(err, TRAINER_EINVAL, "%s: the value is not UTF-8", change->setting);
    enum trainer_status status = recipe_put(object, change->setting, value, err);
    json_decref(value);
    return status;
}

/*
 * Changes are applied after older keys are renamed, because otherwise a setting could exist twice. They are applied in
 * order, so that the last --set wins, as usual on command lines.
 */
static enum trainer_status parse_changed(struct trainer_recipe *recipe, bool recorded, const char *name, const char *text,
                                         size_t length, const struct trainer_change *changes, size_t n, struct trainer_error *err)
{
    json_t *object = recipe_object_parse(name, text, length, err);
    if (!object)
        return TRAINER_EINVAL;
    enum trainer_status status = recipe_canonical(object, err);
    for (size_t i = 0; i < n && status == TRAINER_OK; i++)
        status = change(object, &changes[i], err);
    if (status == TRAINER_OK)
        status = recorded ? recipe_from_recorded_json(recipe, object, err) : recipe_from_json(recipe, object, err);
    if (status == TRAINER_OK)
        status = check_changes(recipe, changes, n, err);
    json_decref(object);
    return status == TRAINER_OK ? status : recipe_blame(err, name, status);
}

enum trainer_status trainer_recipe_parse_changed(struct trainer_recipe *recipe, const char *name, const char *text, size_t length,
                                                 const struct trainer_change *changes, size_t n, struct trainer_error *err)
{
    return parse_changed(recipe, false, name, text, length, changes, n, err);
}

enum trainer_status trainer_recipe_parse_recorded(struct trainer_recipe *recipe, const char *name, const char *text,
                                                  size_t length, const struct trainer_change *changes, size_t n,
                                                  struct trainer_error *err)
{
    return parse_changed(recipe, true, name, text, length, changes, n, err);
}

enum trainer_status trainer_recipe_parse(struct trainer_recipe *recipe, const char *name, const char *text, size_t length,
                                         struct trainer_error *err)
{
    return trainer_recipe_parse_changed(recipe, name, text, length, NULL, 0, err);
}

static enum trainer_status load(struct trainer_recipe *recipe, const char *path, bool recorded, struct trainer_error *err)
{
    char *text;
    size_t length;
    enum trainer_status status = recipe_file_read(&text, &length, path, err);
    if (status == TRAINER_OK)
        status =
            (recorded ? trainer_recipe_parse_recorded : trainer_recipe_parse_changed)(recipe, path, text, length, NULL, 0, err);
    free(text);
    return status;
}

enum trainer_status trainer_recipe_load(struct trainer_recipe *recipe, const char *path, struct trainer_error *err)
{
    return load(recipe, path, false, err);
}

enum trainer_status trainer_recipe_load_recorded(struct trainer_recipe *recipe, const char *path, struct trainer_error *err)
{
    return load(recipe, path, true, err);
}
