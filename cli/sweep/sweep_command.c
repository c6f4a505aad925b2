#include "sweep/night_sweep.h"

#include "run/command_settings.h"

/* Reads the command. A string is run by the shell. */
static bool read_words(struct command_trial *trial, const struct command_setting *setting, const json_t *value)
{
    if (!json_is_string(value))
        return command_setting_from_json(trial, setting, value);
    const char **words = command_trial_own(trial, calloc(4, sizeof *words));
    if (!words)
        return false;
    words[0] = "sh";
    words[1] = "-c";
    words[2] = json_string_value(value);
    trial->argv = words;
    return true;
}

static bool read_environment(struct command_trial *trial, const json_t *object, const char *const *more)
{
    const char *name;
    json_t *value;
    size_t n = 0, n_more = 0;
    while (more && more[n_more])
        n_more++;
    const char **environment = command_trial_own(trial, calloc(json_object_size(object) + n_more + 1, sizeof *environment));
    if (!environment)
        return false;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        size_t size = strlen(name) + json_string_length(value) + 2;
        char *text = command_trial_own(trial, malloc(size));
        if (!text)
            return false;
        snprintf(text, size, "%s=%s", name, json_string_value(value));
        environment[n++] = text;
    }
    for (size_t i = 0; i < n_more; i++)
        environment[n++] = more[i];
    trial->environment = environment;
    return true;
}

static bool read_artifacts(struct command_trial *trial, const json_t *object)
{
    struct command_artifact *artifacts = command_trial_own(trial, calloc(json_object_size(object) + 1, sizeof *artifacts));
    const char *glob;
    json_t *bytes;
    if (!artifacts)
        return false;
    json_object_foreach((json_t *)(uintptr_t)object, glob, bytes)
        artifacts[trial->n_artifacts++] = (struct command_artifact){glob, json_number_value(bytes)};
    trial->artifacts = artifacts;
    return true;
}

/* A parameter called seed is the seed of the run. */
static bool read_params(struct command_trial *trial, const json_t *object)
{
    struct lineage_param *params = command_trial_own(trial, calloc(json_object_size(object) + 1, sizeof *params));
    const char *name;
    json_t *value;
    if (!params)
        return false;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
        if (strcmp(name, "seed") != 0)
            params[trial->n_params++] = (struct lineage_param){
                name, json_is_number(value) ? json_number_value(value) : (double)NAN, json_string_value(value)};
    trial->params = params;
    const json_t *seed = json_object_get(object, "seed");
    if (json_is_number(seed)) {
        trial->has_seed = true;
        trial->first_seed = (uint64_t)json_number_value(seed);
    }
    return true;
}

static bool read_setting(struct command_trial *trial, const struct command_setting *setting, const json_t *value,
                         const char *const *environment)
{
    switch (setting->kind) {
    case SETTING_TEXT:
    case SETTING_TEXTS:
    case SETTING_FILES:
    case SETTING_AMOUNT:
    case SETTING_COUNT:
    case SETTING_FLAG: return command_setting_from_json(trial, setting, value);
    case SETTING_WORDS: return read_words(trial, setting, value);
    case SETTING_PARAMS: return read_params(trial, value);
    case SETTING_ENVIRONMENT: return read_environment(trial, value, environment);
    case SETTING_ARTIFACTS: return read_artifacts(trial, value);
    case SETTING_RECORDED: return true;
    case SETTING_SEED:
        trial->has_seed = value != NULL;
        trial->first_seed = (uint64_t)json_number_value(value);
        return true;
    }
    return true;
}

bool sweep_command_read(struct command_trial *trial, const json_t *spec, const char *const *environment)
{
    const struct command_setting *setting;
    *trial = (struct command_trial){0};
    for (size_t i = 0; (setting = command_setting_at(i)); i++)
        if (setting->key && !read_setting(trial, setting, json_object_get(spec, setting->key), environment))
            return false;
    if (!json_object_get(spec, "grace_seconds"))
        trial->settings.grace_seconds = COMMAND_GRACE_SECONDS;
    if (!json_object_get(spec, "score_minutes"))
        trial->settings.score_minutes = COMMAND_SCORE_MINUTES;
    return true;
}
