#include "sweep/night_sweep.h"

#include <xxhash.h>

#include "run/command_trial.h"

static bool __attribute__((format(printf, 2, 3))) refuse(char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, NIGHT_WHY_MAX, format, args);
    va_end(args);
    return false;
}

/* ---- the keys of a file ---- */

/*
 * Kinds of keys that belong to the file as a whole. The settings of a trial have their own kinds (enum
 * command_setting_kind).
 */
enum file_kind { FILE_TEXT, FILE_COUNT, FILE_FLAG, FILE_NAMES, FILE_ANY };

/* Keys of the file, beside the settings of its trials (run/command_settings.c). */
static const struct file_key {
    const char *name;
    enum file_kind kind;
    bool decides_result; /* the key is part of the digest of a trial */
} file_keys[] = {
    {"files", FILE_NAMES, true},     {"diff", FILE_TEXT, true}, /* only a proposal has a diff */
    {"direction", FILE_TEXT, false}, {"second", FILE_TEXT, false}, {"baseline_seeds", FILE_COUNT, false},
    {"confirm", FILE_FLAG, false},   {"trials", FILE_ANY, false},  {"grid", FILE_ANY, false},
    {"order", FILE_TEXT, false},     {"ranges", FILE_ANY, false},  {"propose", FILE_ANY, false},
};
enum { N_FILE_KEYS = sizeof file_keys / sizeof *file_keys };

static bool is_amount(const json_t *value)
{
    return json_is_number(value) && json_number_value(value) >= 0;
}

static bool are_texts(const json_t *list)
{
    size_t n = json_array_size(list), i = 0;
    while (i < n && json_is_string(json_array_get(list, i)))
        i++;
    return json_is_array(list) && i == n;
}

/*
 * Whether the list holds only paths in the directory of the sweep or below it, because the files get the same paths in
 * a work directory.
 */
static bool are_names(const json_t *list)
{
    bool good = are_texts(list);
    for (size_t i = 0; good && i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        good = *name && *name != '/' && !strstr(name, "..");
    }
    return good;
}

static bool is_value(const char *name, const json_t *value)
{
    return lineage_param_name_ok(lineage_param_canonical(name)) &&
           ((json_is_number(value) && isfinite(json_number_value(value)) && !cli_json_is_wide(value) &&
             (strcmp(name, "seed") != 0 || json_number_value(value) >= 0)) ||
            (json_is_string(value) && lineage_param_text_ok(json_string_value(value))));
}

static bool is_text(const json_t *value)
{
    return json_is_string(value) && *json_string_value(value);
}

static bool is_count(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool is_variable(const char *name, const json_t *value)
{
    return json_is_string(value) && *name && !strchr(name, '=');
}

static bool is_named_amount(const char *name, const json_t *value)
{
    (void)name;
    return is_amount(value);
}

static bool all_are(const json_t *object, bool (*is)(const char *name, const json_t *value))
{
    const char *name;
    json_t *value;
    bool good = json_is_object(object);
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
        good = good && is(name, value);
    return good;
}

/* Returns NULL if the value is valid, else a text that says what it must be. */
static const char *check_setting(enum command_setting_kind kind, const json_t *value)
{
    switch (kind) {
    case SETTING_TEXT: return is_text(value) ? NULL : "a text";
    case SETTING_TEXTS:
    case SETTING_FILES: return are_texts(value) ? NULL : "a list of texts";
    case SETTING_AMOUNT: return is_amount(value) ? NULL : "a number from 0 on";
    case SETTING_COUNT:
    case SETTING_SEED: return is_count(value) ? NULL : "a whole number from 0 on";
    case SETTING_FLAG: return json_is_boolean(value) ? NULL : "true or false";
    case SETTING_WORDS:
        return is_text(value) || (are_texts(value) && json_array_size(value) > 0) ? NULL
                                                                                  : "a list of texts, or a text for the shell";
    case SETTING_PARAMS:
        return all_are(value, is_value) && json_object_size(value) < TRIAL_PARAMS_MAX - 2
                   ? NULL
                   : "an object of numbers below 2^53 and texts";
    case SETTING_ENVIRONMENT: return all_are(value, is_variable) ? NULL : "an object of texts";
    case SETTING_ARTIFACTS: return all_are(value, is_named_amount) ? NULL : "an object of numbers from 0 on";
    case SETTING_RECORDED: break;
    }
    return NULL;
}

static const char *check_file_key(enum file_kind kind, const json_t *value)
{
    switch (kind) {
    case FILE_TEXT: return is_text(value) ? NULL : "a text";
    case FILE_COUNT: return is_count(value) ? NULL : "a whole number from 0 on";
    case FILE_FLAG: return json_is_boolean(value) ? NULL : "true or false";
    case FILE_NAMES: return are_names(value) ? NULL : "a list of names of files, relative and without ..";
    case FILE_ANY: break;
    }
    return NULL;
}

static const struct file_key *find_file_key(const char *name)
{
    for (size_t i = 0; i < N_FILE_KEYS; i++)
        if (strcmp(file_keys[i].name, name) == 0)
            return &file_keys[i];
    return NULL;
}

static bool unknown_key(const char *name, char *why)
{
    const struct command_setting *setting;
    const char *known[COMMAND_SETTINGS_MAX + N_FILE_KEYS + 1] = {0};
    size_t n = 0;
    for (size_t i = 0; (setting = command_setting_at(i)); i++)
        if (setting->key)
            known[n++] = setting->key;
    for (size_t i = 0; i < N_FILE_KEYS; i++)
        known[n++] = file_keys[i].name;
    const char *near = cli_nearest(name, known);
    return refuse(why, "unknown key '%.60s'%s%s", name, near ? "; the nearest known one is " : "", near ? near : "");
}

static bool check_text(const struct command_setting *setting, const char *text, char *why)
{
    char wrong[700];
    return command_setting_check(setting, text, wrong, sizeof wrong) || refuse(why, "%s", wrong);
}

static bool check_texts(const struct command_setting *setting, const json_t *list, char *why)
{
    size_t i = 0;
    while (i < json_array_size(list) && check_text(setting, json_string_value(json_array_get(list, i)), why))
        i++;
    return i == json_array_size(list);
}

static bool check_object(const json_t *object, bool is_root, char *why)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return refuse(why, "it must be an object");
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        const struct command_setting *setting = command_setting_by_key(name);
        const struct file_key *key = setting ? NULL : find_file_key(name);
        if ((!setting && !key) || strcmp(name, "diff") == 0)
            return unknown_key(name, why);
        if (!is_root && !setting)
            return refuse(why, "%s belongs to the file, not to a trial", name);
        const char *needed = setting ? check_setting(setting->kind, value) : check_file_key(key->kind, value);
        if (needed)
            return refuse(why, "%s must be %s", name, needed);
        if (setting && setting->kind == SETTING_TEXTS && !check_texts(setting, value, why))
            return false;
        if (setting && setting->kind == SETTING_TEXT && !check_text(setting, json_string_value(value), why))
            return false;
    }
    return true;
}

/* ---- a trial ---- */

/* Adds parameters to the trial under their canonical names, so that the trial has each parameter only once. */
static void lay_params(json_t *spec, const json_t *params)
{
    const char *name;
    json_t *value, *own = json_object_get(spec, "params");
    json_object_foreach((json_t *)(uintptr_t)params, name, value)
        json_object_set(own, lineage_param_canonical(name), value);
}

/* Returns the settings that all trials of the file share. Parameters are merged one by one. */
static json_t *base_spec(const json_t *root)
{
    const struct command_setting *setting;
    json_t *spec = json_object();
    for (size_t i = 0; (setting = command_setting_at(i)); i++)
        if (setting->key && setting->kind != SETTING_PARAMS && strcmp(setting->key, "name") != 0)
            json_object_set(spec, setting->key, json_object_get(root, setting->key));
    json_object_set(spec, "files", json_object_get(root, "files"));
    json_object_set_new(spec, "params", json_object());
    lay_params(spec, json_object_get(root, "params"));
    return spec;
}

static void lay_trial(json_t *spec, const json_t *trial)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)trial, name, value)
        if (strcmp(name, "params") != 0)
            json_object_set(spec, name, value);
    lay_params(spec, json_object_get(trial, "params"));
}

/* Returns the name, followed by the varied parameters: "mine lr=0.1 optimizer=adam". */
static char *make_name(const char *name, const json_t *varied)
{
    struct cli_writer writer = {0};
    char text[COMMAND_VALUE_MAX];
    const char *param;
    json_t *value;
    FILE *to = cli_writer_open(&writer);
    if (!to)
        return NULL;
    fputs(name, to);
    json_object_foreach((json_t *)(uintptr_t)varied, param, value) {
        const struct lineage_param given = {param, json_number_value(value), json_string_value(value)};
        fprintf(to, " %s=%s", param, command_value(text, &given));
    }
    return cli_writer_close(&writer);
}

static uint64_t digest(const json_t *spec, const struct night_trial *trial, const struct night_trial *list)
{
    char parent[LINEAGE_NAME_MAX + 64];
    const struct command_setting *setting;
    json_t *result = json_object();
    for (size_t i = 0; (setting = command_setting_at(i)); i++)
        if (setting->key && setting->decides_result)
            json_object_set(result, setting->key, json_object_get(spec, setting->key));
    for (size_t i = 0; i < N_FILE_KEYS; i++)
        if (file_keys[i].decides_result)
            json_object_set(result, file_keys[i].name, json_object_get(spec, file_keys[i].name));
    char *text = json_dumps(result, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t above = trial->parent == NIGHT_PARENT_TRIAL ? list[trial->parent_trial].key : 0;
    snprintf(parent, sizeof parent, "%d %016" PRIx64 " %.60s", (int)trial->parent, above, trial->parent_name);
    uint64_t key = text ? XXH64(parent, strlen(parent), XXH64(text, strlen(text), 0)) : 0;
    free(text);
    json_decref(result);
    return key;
}

/* The trials of the list that belong to one point of the grid: every stride-th of [n], beginning with `from`. */
struct siblings {
    const struct night_trial *list;
    size_t from, stride, n;
};

static void find_parent(struct night_trial *trial, const char *parent, const struct siblings *siblings)
{
    trial->parent = NIGHT_PARENT_OTHER;
    trial->parent_name = parent;
    for (size_t i = siblings->from; i < siblings->n; i += siblings->stride)
        if (strcmp(cli_json_string(siblings->list[i].command, "name"), parent) == 0) {
            trial->parent = NIGHT_PARENT_TRIAL;
            trial->parent_trial = i;
            trial->parent_name = "";
        }
}

/* Checks settings of the trial that exclude or need each other. */
static bool check_spec(const json_t *spec, char *why)
{
    struct command_trial trial;
    bool good = command_from_sweep(&trial, spec, NULL) ? command_trial_check(&trial, true, why, NIGHT_WHY_MAX)
                                                       : refuse(why, "out of memory");
    command_trial_release(&trial);
    return good;
}

/* Takes over the reference to spec. Names the trial, finds its parent, and computes its key. */
static bool finish_trial(struct night_trial *trial, json_t *spec, const char *name, const json_t *varied,
                         const struct siblings *siblings, char *why)
{
    const char *parent = cli_json_string(spec, "parent");
    *trial = (struct night_trial){.command = spec, .own_name = make_name(name, varied), .parent_name = ""};
    if (!trial->own_name)
        return refuse(why, "out of memory");
    if (strlen(trial->own_name) >= LINEAGE_NIGHT_TRIAL_MAX)
        return refuse(why, "the trial's name would be too long");
    trial->name = trial->own_name;
    json_object_set_new(spec, "name", json_string(name));
    if (parent && strcmp(parent, "base") != 0)
        find_parent(trial, parent, siblings);
    trial->key = digest(spec, trial, siblings->list);
    return check_spec(spec, why);
}

static const char *base_name(const struct night_sweep *sweep, const json_t *trial)
{
    const char *name = cli_json_string(trial, "name");
    return name ? name : sweep->name;
}

static bool check_range(const struct night_sweep *sweep, const char *name, char *why)
{
    const json_t *params = json_object_get(sweep->root, "params");
    bool known = json_object_get(params, name) != NULL;
    for (size_t i = 0; i < sweep->space.n; i++)
        known = known || strcmp(sweep->space.ranges[i].name, name) == 0;
    return known || refuse(why, "there is no parameter '%.60s' in this sweep", name);
}

bool night_command_make(struct night_trial *trial, const struct night_sweep *sweep, const json_t *proposal,
                        char why[NIGHT_WHY_MAX])
{
    const char *name;
    json_t *value, *spec = base_spec(sweep->root), *params = json_object_get(proposal, "params");
    json_object_foreach(params, name, value)
        if (!is_value(name, value) || !check_range(sweep, lineage_param_canonical(name), why)) {
            json_decref(spec);
            return is_value(name, value) ? false : refuse(why, "params.%.60s must be a number below 2^53 or a short text", name);
        }
    lay_params(spec, params);
    static const char *const texts[] = {"parent", "hypothesis", "expected_delta", "diff", NULL};
    for (size_t i = 0; texts[i]; i++)
        if (is_text(json_object_get(proposal, texts[i])))
            json_object_set(spec, texts[i], json_object_get(proposal, texts[i]));
    if (finish_trial(trial, spec, sweep->name, params, &(struct siblings){.stride = 1}, why)) {
        /* A trial with other bytes in its files is another trial. A listed trial is found by its key, and its files are
         * compared then. */
        if (sweep->files_digest)
            trial->key = XXH64(&sweep->files_digest, sizeof sweep->files_digest, trial->key);
        return true;
    }
    night_trial_release(trial);
    return false;
}

/* ---- the list ---- */

static size_t points_of(const json_t *grid, char *why)
{
    const char *name;
    json_t *values;
    size_t points = 1;
    json_object_foreach((json_t *)(uintptr_t)grid, name, values) {
        for (size_t i = 0; i < json_array_size(values); i++)
            if (!is_value(name, json_array_get(values, i)))
                return refuse(why, "grid.%.60s: value %zu is %s", name, i + 1,
                              json_is_null(json_array_get(values, i))
                                  ? "null; write a text such as \"none\""
                                  : "neither a number nor a short text; write a list as a text: \"[64,64]\""),
                       0;
        if (!json_array_size(values))
            return refuse(why, "grid.%.60s must be a list of values%s", name,
                          json_is_object(values) ? "; the setting lr within optim is \"optim.lr\"" : ""),
                   0;
        points *= json_array_size(values);
        if (points > NIGHT_TRIALS_MAX)
            return refuse(why, "more than %d trials", NIGHT_TRIALS_MAX), 0;
    }
    return points;
}

static json_t *point_of(const json_t *grid, size_t points, size_t g)
{
    const char *name;
    json_t *values, *point = json_object();
    json_object_foreach((json_t *)(uintptr_t)grid, name, values) {
        points /= json_array_size(values);
        json_object_set(point, lineage_param_canonical(name), json_array_get(values, g / points % json_array_size(values)));
    }
    return point;
}

/*
 * Reports a parent that comes later in the list as an error, because the night would otherwise look for it in the store
 * and not find it.
 */
static bool check_parent(const struct night_trial *trial, const json_t *trials, char *why)
{
    for (size_t i = 0; i < json_array_size(trials); i++) {
        const char *name = cli_json_string(json_array_get(trials, i), "name");
        if (trial->parent == NIGHT_PARENT_OTHER && name && strcmp(name, trial->parent_name) == 0)
            return refuse(why, "trial '%.100s': its parent '%.60s' does not come before it", trial->name, name);
    }
    return true;
}

static bool add_trial(struct night_sweep *sweep, const json_t *trial, const json_t *point, struct siblings siblings, char *why)
{
    struct night_trial *made = &sweep->list[sweep->n++];
    json_t *spec = base_spec(sweep->root);
    lay_trial(spec, trial);
    lay_params(spec, point);
    siblings.list = sweep->list;
    siblings.n = sweep->n - 1;
    if (!finish_trial(made, spec, base_name(sweep, trial), point, &siblings, why))
        return false;
    for (size_t i = 0; i < siblings.n; i++)
        if (siblings.list[i].key == made->key || strcmp(siblings.list[i].name, made->name) == 0)
            return refuse(why, "trials %zu and %zu, '%.100s', are the same or have one name", i, siblings.n, made->name);
    return true;
}

static bool expand_one(struct night_sweep *sweep, const json_t *trials, const json_t *grid, size_t points, bool grid_first,
                       char *why)
{
    size_t i = sweep->n, n = json_array_size(trials);
    size_t t = grid_first ? i / points : i % n, g = grid_first ? i % points : i / n;
    const json_t *trial = json_array_get(trials, t);
    const struct siblings siblings = {.from = grid_first ? g : i - t, .stride = grid_first ? points : 1};
    json_t *point = point_of(grid, points, g);
    bool added = check_object(trial, false, why) && add_trial(sweep, trial, point, siblings, why) &&
                 check_parent(&sweep->list[i], trials, why);
    json_decref(point);
    return added;
}

static bool expand(struct night_sweep *sweep, const json_t *trials, const json_t *grid, char *why)
{
    const char *order = cli_json_string(sweep->root, "order");
    size_t points = points_of(grid, why), n = points * json_array_size(trials);
    if (order && strcmp(order, "grid") != 0 && strcmp(order, "trials") != 0)
        return refuse(why, "order must be \"trials\" or \"grid\"");
    if (!points)
        return false;
    if (n > NIGHT_TRIALS_MAX)
        return refuse(why, "more than %d trials", NIGHT_TRIALS_MAX);
    sweep->list = calloc(n, sizeof *sweep->list);
    if (!sweep->list)
        return refuse(why, "out of memory");
    while (sweep->n < n)
        if (!expand_one(sweep, trials, grid, points, order && strcmp(order, "grid") == 0, why))
            return false;
    return true;
}

static bool read_list(struct night_sweep *sweep, char *why)
{
    json_t *trials = json_object_get(sweep->root, "trials"), *grid = json_object_get(sweep->root, "grid");
    if ((trials && !json_array_size(trials)) || (grid && !json_is_object(grid)))
        return refuse(why, trials && !json_array_size(trials) ? "trials must be a list of objects" : "grid must be an object");
    if (!trials && !grid && sweep->space.n > 0)
        return true;
    trials = trials ? json_incref(trials) : json_pack("[{}]");
    bool read = expand(sweep, trials, grid, why);
    json_decref(trials);
    return read;
}

/* In lists, and in objects of settings; elsewhere a boolean is an option. */
static void spell(json_t *value, bool settings)
{
    const char *name;
    json_t *inner, *text;
    void *next;
    size_t i;
    json_array_foreach(value, i, inner)
        if (json_is_boolean(inner) && (text = json_string(json_is_true(inner) ? "true" : "false")))
            json_array_set_new(value, i, text);
    json_object_foreach_safe(value, next, name, inner) {
        if (settings && json_is_boolean(inner))
            json_object_set_new(value, name, json_string(json_is_true(inner) ? "true" : "false"));
        else
            spell(inner, false);
    }
}

void night_spell_booleans(json_t *root)
{
    json_t *trial;
    size_t i;
    spell(json_object_get(root, "params"), true);
    spell(json_object_get(root, "grid"), false);
    spell(json_object_get(root, "ranges"), false);
    json_array_foreach(json_object_get(root, "trials"), i, trial)
        spell(json_object_get(trial, "params"), true);
}

int night_command_read(struct night_sweep *sweep)
{
    char why[NIGHT_WHY_MAX];
    const char *name = cli_json_string(sweep->root, "name");
    snprintf(sweep->name, sizeof sweep->name, "%s", name && *name ? name : "sweep");
    sweep->baseline_seeds = (size_t)json_integer_value(json_object_get(sweep->root, "baseline_seeds"));
    if (check_object(sweep->root, true, why) && (protected_names_add(sweep) || refuse(why, "out of memory")) &&
        read_list(sweep, why)) {
        sweep->files_digest = command_files_digest(sweep);
        return CLI_GO_ON;
    }
    for (size_t i = 0; i < sweep->n; i++)
        night_trial_release(&sweep->list[i]);
    sweep->n = 0;
    return cli_error(CLI_USAGE, "%s: %s", sweep->file, why);
}
