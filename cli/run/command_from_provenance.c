

#include "run/command_settings.h"

/* Returns the concatenation of the three texts, owned by the trial. */
static const char *join(struct command_trial *trial, const char *a, const char *between, const char *b)
{
    size_t n = strlen(a) + strlen(between) + strlen(b) + 1;
    char *text = malloc(n);
    if (text)
        snprintf(text, n, "%s%s%s", a, between, b);
    return command_trial_own(trial, text);
}

static const char **new_list(struct command_trial *trial, size_t n)
{
    return command_trial_own(trial, calloc(n + 1, sizeof(char *)));
}

static bool read_files(struct command_trial *trial, const char *const **member, const json_t *list, const char *dir)
{
    const char **out = new_list(trial, json_array_size(list));
    size_t n = 0;
    for (size_t i = 0; out && i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name)
            out[n++] = name[0] == '/' ? name : join(trial, dir, "/", name);
    }
    *member = out;
    return out != NULL;
}

static bool read_environment(struct command_trial *trial, const json_t *object)
{
    const char **out = new_list(trial, json_object_size(object)), *name;
    size_t n = 0;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        const char *text = json_is_string(value) ? json_string_value(value) : getenv(name);
        if (out && text)
            out[n++] = join(trial, name, "=", text);
    }
    trial->environment = out;
    return out != NULL;
}

static bool read_params(struct command_trial *trial, const json_t *object)
{
    struct lineage_param *params = command_trial_own(trial, calloc(json_object_size(object) + 1, sizeof *params));
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
        if (params)
            params[trial->n_params++] = (struct lineage_param){
                name, json_is_number(value) ? json_number_value(value) : (double)NAN, json_string_value(value)};
    trial->params = params;
    return params != NULL;
}

/* A pattern that begins with {workdir} is left relative, because it becomes absolute when {workdir} is replaced. */
static bool read_artifacts(struct command_trial *trial, const json_t *list, const char *dir)
{
    struct command_artifact *artifacts = command_trial_own(trial, calloc(json_array_size(list) + 1, sizeof *artifacts));
    for (size_t i = 0; artifacts && i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *glob = cli_json_string(one, "glob");
        if (!glob)
            continue;
        artifacts[trial->n_artifacts++] =
            (struct command_artifact){glob[0] == '/' || glob[0] == '{' ? glob : join(trial, dir, "/", glob),
                                      json_number_value(json_object_get(one, "max_bytes"))};
    }
    trial->artifacts = artifacts;
    return artifacts != NULL;
}

/* The keys of the object are the commands whose output was recorded. */
static bool read_versions(struct command_trial *trial, const json_t *object)
{
    const char **out = new_list(trial, json_object_size(object)), *name;
    size_t n = 0;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
        if (out)
            out[n++] = name;
    trial->version_of = out;
    return out != NULL;
}

static bool read_setting(struct command_trial *trial, const struct command_setting *setting, const json_t *value, const char *dir)
{
    void *member = command_setting_member(trial, setting);
    switch (setting->kind) {
    case SETTING_TEXT:
    case SETTING_TEXTS:
    case SETTING_AMOUNT:
    case SETTING_COUNT:
    case SETTING_FLAG:
    case SETTING_WORDS: return command_setting_from_json(trial, setting, value);
    case SETTING_FILES: return read_files(trial, member, value, dir);
    case SETTING_PARAMS: return read_params(trial, value);
    case SETTING_ENVIRONMENT: return read_environment(trial, value);
    case SETTING_ARTIFACTS: return read_artifacts(trial, value, dir);
    case SETTING_RECORDED: return member != &trial->version_of || read_versions(trial, value);
    case SETTING_SEED:
        trial->has_seed = json_is_integer(value);
        trial->first_seed = trial->has_seed ? (uint64_t)json_integer_value(value) : 1;
        return true;
    }
    return true;
}

bool command_from_provenance(struct command_trial *trial, const json_t *run, const char *dir)
{
    const struct command_setting *setting;
    *trial = (struct command_trial){.dir = dir};
    if (!json_is_string(json_array_get(json_object_get(run, "command"), 0)))
        return cli_refuse(
            "its run.json has no command: it was put back from the refs of the repository, which only keep the code; run "
            "the command yourself with `lineage run -- ..`");
    if (json_is_true(json_object_get(run, "masked")))
        return cli_refuse("its command had a secret, which was not recorded; run it again with `lineage run`");
    for (size_t i = 0; (setting = command_setting_at(i)); i++)
        if (setting->recorded && !read_setting(trial, setting, json_object_get(run, setting->recorded), dir))
            return cli_no_memory(), false;
    return true;
}
