/*
 * A proposed recipe becomes a sweep of one trial, built as JSON: the file's recipe and base, and the proposal as a
 * grid of one point. So the trainer checks a proposal exactly as it checks a file, with the same messages, and a
 * proposed trial gets the same key as a listed trial with these settings.
 */

#include <sys/stat.h>
#include <xxhash.h>

#include "run/command_trial.h"
#include "sweep/night_sweep.h"

/* Keys that only `night` reads. The trainer would reject them. */
static const char *const own_keys[] = {"ranges", "propose", "require", "prune", "confirm", NULL};

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    return slash ? strndup(length ? path : "/", length ? length : 1) : strdup(".");
}

static bool parse(struct trainer_sweep **list, const struct night_sweep *sweep, const json_t *root, char *why)
{
    char *text = json_dumps(root, JSON_COMPACT);
    snprintf(why, NIGHT_WHY_MAX, "out of memory");
    bool good = text && sweep->trainer->read(list, sweep, text, why);
    free(text);
    return good;
}

static int take_list(struct night_sweep *sweep)
{
    sweep->n = sweep->trainer->count(sweep->recipes);
    sweep->list = calloc(sweep->n, sizeof *sweep->list);
    for (size_t i = 0; sweep->list && i < sweep->n; i++)
        sweep->list[i] = sweep->trainer->trial(sweep->recipes, i);
    return sweep->list ? CLI_GO_ON : cli_no_memory();
}

/*
 * Passes the file to the trainer without the night's own keys. If the file lists no trials, a list of one trial is
 * added, so that the recipe is checked even if all trials will be proposed.
 */
static int read_list(struct night_sweep *sweep)
{
    char why[NIGHT_WHY_MAX];
    json_t *rest = json_copy(sweep->root);
    bool listed = json_object_get(rest, "trials") || json_object_get(rest, "grid");
    for (size_t i = 0; own_keys[i]; i++)
        json_object_del(rest, own_keys[i]);
    bool good = parse(&sweep->recipes, sweep, rest, why);
    json_decref(rest);
    if (!good)
        return cli_error(CLI_USAGE, "%s", why);
    snprintf(sweep->name, sizeof sweep->name, "%s", sweep->trainer->name(sweep->recipes));
    return !listed && sweep->space.n > 0 ? CLI_GO_ON : take_list(sweep);
}

static bool has_own_keys(const json_t *root)
{
    bool any = false;
    for (size_t i = 0; own_keys[i]; i++)
        any = any || json_object_get(root, own_keys[i]);
    return any;
}

static int read_own_keys(struct night_sweep *sweep)
{
    char why[PROPOSE_WHY_MAX];
    const json_t *ranges = json_object_get(sweep->root, "ranges"), *confirm = json_object_get(sweep->root, "confirm");
    if (confirm && !json_is_boolean(confirm))
        return cli_error(CLI_USAGE, "%s: confirm must be true or false", sweep->file);
    if (propose_plan_read(&sweep->plan, json_object_get(sweep->root, "propose"), why) &&
        (!ranges || propose_space_read(&sweep->space, ranges, why)))
        return CLI_GO_ON;
    return cli_error(CLI_USAGE, "%s: %s", sweep->file, why);
}

static bool is_setting(const char *key, const json_t *value, char why[NIGHT_WHY_MAX])
{
    bool good =
        json_is_string(value) && command_setting_check(command_setting_by_key(key), json_string_value(value), why, NIGHT_WHY_MAX);
    if (!json_is_string(value))
        snprintf(why, NIGHT_WHY_MAX, "%s must be %s", key, strcmp(key, "prune") == 0 ? "a text" : "a list of texts");
    return good;
}

/* Reads the settings of a trial that a sweep of recipes has too. A sweep of commands reads them with the others. */
static int read_trial_settings(struct night_sweep *sweep)
{
    const json_t *require = json_object_get(sweep->root, "require"), *prune = json_object_get(sweep->root, "prune");
    size_t n = json_array_size(require);
    char why[NIGHT_WHY_MAX] = "require must be a list of texts";
    bool good = !require || json_is_array(require);
    sweep->require = calloc(n + 1, sizeof *sweep->require);
    if (!sweep->require)
        return cli_no_memory();
    for (size_t i = 0; good && i < n; i++) {
        good = is_setting("require", json_array_get(require, i), why);
        sweep->require[i] = json_string_value(json_array_get(require, i));
    }
    if (good && (!prune || is_setting("prune", prune, why))) {
        sweep->prune = json_string_value(prune);
        return CLI_GO_ON;
    }
    return cli_error(CLI_USAGE, "%s: %s", sweep->file, why);
}

/* A file that has none of the night's own keys is read by the trainer alone, which also reports errors in it. */
static int read_plain(struct night_sweep *sweep)
{
    char why[NIGHT_WHY_MAX];
    if (!sweep->trainer->read(&sweep->recipes, sweep, NULL, why))
        return cli_error(CLI_USAGE, "%s", why);
    snprintf(sweep->name, sizeof sweep->name, "%s", sweep->trainer->name(sweep->recipes));
    return take_list(sweep);
}

/* Returns NULL and prints why for a file that cannot be read or is not a JSON object. Only a regular file is read, since
 * reading a pipe might never end. */
static json_t *load(const char *file)
{
    struct stat about;
    if (stat(file, &about) != 0)
        return cli_error(CLI_USAGE, "%s: %s", file, strerror(errno)), NULL;
    if (!S_ISREG(about.st_mode))
        return cli_error(CLI_USAGE, S_ISDIR(about.st_mode) ? "%s: Is a directory" : "%s is not a regular file", file), NULL;
    json_t *root = cli_json_load(file);
    if (!root || json_is_object(root))
        return root;
    json_decref(root);
    return cli_error(CLI_USAGE, "%s: must be a JSON object", file), NULL;
}

/* The keys are digests of the recipes, so they also stand for the recipe's file; a sweep that lists no trials has been read as a
 * list of one. */
static uint64_t digest_of(const struct night_sweep *sweep)
{
    char *text = json_dumps(sweep->root, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t digest = text ? XXH64(text, strlen(text), sweep->files_digest) : 0;
    size_t n = sweep->recipes ? sweep->trainer->count(sweep->recipes) : 0;
    for (size_t i = 0; i < n; i++) {
        const struct night_trial trial = sweep->trainer->trial(sweep->recipes, i);
        digest = XXH64(&trial.key, sizeof trial.key, digest);
    }
    free(text);
    return digest;
}

static int read_trials(struct night_sweep *sweep)
{
    sweep->of_commands = json_object_get(sweep->root, "command") != NULL;
    if (!sweep->of_commands && !sweep->trainer)
        return CLI_NO;
    if (sweep->of_commands)
        night_spell_booleans(sweep->root);
    sweep->release_recipes = sweep->of_commands ? NULL : sweep->trainer->release;
    if (!sweep->of_commands && !has_own_keys(sweep->root))
        return read_plain(sweep);
    CLI_TRY(read_own_keys(sweep));
    if (sweep->of_commands)
        return night_command_read(sweep);
    CLI_TRY(read_trial_settings(sweep));
    return read_list(sweep);
}

int night_sweep_read(struct night_sweep *sweep, const char *file)
{
    sweep->file = file;
    sweep->directory = directory_of(file);
    sweep->plan.method = PROPOSE_AUTO;
    if (!sweep->directory)
        return cli_no_memory();
    if (!(sweep->root = load(file)))
        return CLI_USAGE;
    int status = read_trials(sweep);
    if (status == CLI_GO_ON)
        sweep->digest = digest_of(sweep);
    return status;
}

static void take_text(json_t *to, const json_t *proposal, const char *key)
{
    json_t *text = json_object_get(proposal, key);
    if (json_is_string(text) && *json_string_value(text))
        json_object_set(to, key, text);
}

/* Turns 4.0 into 4, because a setting that counts something rejects 4.0. */
static json_t *plain_number(const json_t *value)
{
    double number = json_number_value(value);
    bool whole = json_is_real(value) && number == floor(number) && fabs(number) < 1e15;
    return whole ? json_integer((json_int_t)number) : json_incref((json_t *)(uintptr_t)value);
}

static json_t *sweep_of_one(const struct night_sweep *sweep, const json_t *proposal)
{
    static const char *const shared[] = {"name", "recipe", "base", "parent", NULL};
    const char *name;
    json_t *value, *root = json_object(), *trial = json_object(), *grid = json_object();
    for (size_t i = 0; shared[i]; i++)
        json_object_set(root, shared[i], json_object_get(sweep->root, shared[i]));
    take_text(root, proposal, "parent");
    take_text(trial, proposal, "hypothesis");
    take_text(trial, proposal, "expected_delta");
    json_object_foreach(json_object_get(proposal, "params"), name, value)
        json_object_set_new(grid, name, json_pack("[o]", plain_number(value)));
    cli_json_set(root, "trials", json_pack("[o]", trial), "grid", grid, NULL);
    return root;
}

static bool make_recipe(struct night_trial *trial, const struct night_sweep *sweep, const json_t *proposal, char *why)
{
    struct trainer_sweep *own;
    json_t *root = sweep_of_one(sweep, proposal);
    bool made = parse(&own, sweep, root, why);
    json_decref(root);
    if (made) {
        *trial = sweep->trainer->trial(own, 0);
        trial->own = own;
        trial->release_own = sweep->trainer->release;
    }
    return made;
}

/* The reason is part of the key, because the trial that is repeated may have the same settings and a row. */
static bool take_again(struct night_trial *trial, const json_t *proposal, char *why)
{
    const char *again = cli_json_string(proposal, "again");
    if (!again || !*again)
        return true;
    trial->again = strdup(again);
    night_trial_rekey(trial);
    if (trial->again)
        return true;
    snprintf(why, NIGHT_WHY_MAX, "out of memory");
    night_trial_release(trial);
    return false;
}

bool night_sweep_make(struct night_trial *trial, const struct night_sweep *sweep, const json_t *proposal, char why[NIGHT_WHY_MAX])
{
    *trial = (struct night_trial){0};
    bool made = sweep->of_commands ? night_command_make(trial, sweep, proposal, why) : make_recipe(trial, sweep, proposal, why);
    return made && take_again(trial, proposal, why);
}

struct defaults {
    struct lineage_number *fallback;
    const struct propose_space *space;
};

static void take_default(void *context, const struct lineage_param *param)
{
    const struct defaults *defaults = context;
    for (size_t i = 0; i < defaults->space->n; i++) {
        double value;
        if (strcmp(defaults->space->ranges[i].name, param->name) == 0 &&
            propose_value_of(&value, &defaults->space->ranges[i], param))
            defaults->fallback[i] = (struct lineage_number){true, value};
    }
}

/* Reads the values from the sweep's recipe, because a row omits settings that have their default values. */
void night_sweep_defaults(struct lineage_number *fallback, const struct night_sweep *sweep)
{
    struct night_trial trial;
    char why[NIGHT_WHY_MAX];
    const struct defaults defaults = {fallback, &sweep->space};
    json_t *nothing = json_object();
    memset(fallback, 0, sweep->space.n * sizeof *fallback);
    if (night_sweep_make(&trial, sweep, nothing, why) && trial.recipe)
        sweep->trainer->settings(trial.recipe, take_default, (void *)(uintptr_t)&defaults);
    night_trial_release(&trial);
    json_decref(nothing);
}
