/*
 * command_from_json.c: the settings of a command's trial from JSON: from an object of a sweep, which was checked, or from run.json, to run
 * an earlier trial again. A value of a wrong type counts as missing.
 */
#include "run/command_trial.h"

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

static bool read_texts(struct command_trial *trial, const char *const **member, const json_t *list, const char *dir)
{
    const char **out = new_list(trial, json_array_size(list));
    size_t n = 0;
    for (size_t i = 0; out && i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text)
            out[n++] = !dir || text[0] == '/' ? text : join(trial, dir, "/", text);
    }
    *member = out;
    return out != NULL;
}

/* A text is run by the shell. */
static bool read_words(struct command_trial *trial, const json_t *value)
{
    const char **words = json_is_string(value) ? new_list(trial, 3) : NULL;
    if (!json_is_string(value))
        return read_texts(trial, &trial->argv, value, NULL);
    if (words) {
        words[0] = "sh";
        words[1] = "-c";
        words[2] = json_string_value(value);
    }
    trial->argv = words;
    return words != NULL;
}

/* What was not recorded, because it looked secret, has the value that it has now. */
static bool read_environment(struct command_trial *trial, const json_t *object, const char *const *more)
{
    const char **out = new_list(trial, json_object_size(object) + cli_texts_length(more)), *name;
    size_t n = 0;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        const char *text = json_is_string(value) ? json_string_value(value) : getenv(name);
        if (out && text && !(out[n++] = join(trial, name, "=", text)))
            return false;
    }
    for (size_t i = 0; out && i < cli_texts_length(more); i++)
        out[n++] = more[i];
    trial->environment = out;
    return out != NULL;
}

/* In a sweep, a parameter called seed is the seed of the run. */
static bool read_params(struct command_trial *trial, const json_t *object, bool of_sweep)
{
    struct lineage_param *params = command_trial_own(trial, calloc(json_object_size(object) + 1, sizeof *params));
    const json_t *seed = of_sweep ? json_object_get(object, "seed") : NULL;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
        if (params && (!of_sweep || strcmp(name, "seed") != 0))
            params[trial->n_params++] = (struct lineage_param){
                name, json_is_number(value) ? json_number_value(value) : (double)NAN, json_string_value(value)};
    trial->params = params;
    if (json_is_number(seed)) {
        trial->has_seed = true;
        trial->first_seed = (uint64_t)json_number_value(seed);
    }
    return params != NULL;
}

/*
 * A sweep has an object of bytes by pattern, run.json a list. There, a pattern that begins with {workdir} is left relative, because it
 * becomes absolute when {workdir} is replaced.
 */
static bool read_artifacts(struct command_trial *trial, json_t *value, const char *dir)
{
    const size_t most = json_array_size(value) + json_object_size(value);
    struct command_artifact *artifacts = command_trial_own(trial, calloc(most + 1, sizeof *artifacts));
    const char *glob;
    json_t *one;
    size_t i;
    trial->artifacts = artifacts;
    if (!artifacts)
        return false;
    json_object_foreach(value, glob, one)
        artifacts[trial->n_artifacts++] = (struct command_artifact){glob, json_number_value(one)};
    json_array_foreach(value, i, one)
        if ((glob = cli_json_string(one, "glob")))
            artifacts[trial->n_artifacts++] =
                (struct command_artifact){glob[0] == '/' || glob[0] == '{' ? glob : join(trial, dir, "/", glob),
                                          json_number_value(json_object_get(one, "max_bytes"))};
    return true;
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

bool command_setting_from_json(struct command_trial *trial, const struct command_setting *setting, json_t *value,
                               const struct command_source *source)
{
    void *member = command_setting_member(trial, setting);
    switch (setting->kind) {
    case SETTING_TEXT: *(const char **)member = json_string_value(value); return true;
    case SETTING_AMOUNT: *(double *)member = json_number_value(value); return true;
    case SETTING_COUNT: *(size_t *)member = (size_t)fmax(0, json_number_value(value)); return true;
    case SETTING_FLAG: *(bool *)member = json_is_true(value); return true;
    case SETTING_TEXTS: return read_texts(trial, member, value, NULL);
    case SETTING_FILES: return read_texts(trial, member, value, source->dir);
    case SETTING_WORDS: return read_words(trial, value);
    case SETTING_PARAMS: return read_params(trial, value, !source->dir);
    case SETTING_ENVIRONMENT: return read_environment(trial, value, source->environment);
    case SETTING_ARTIFACTS: return read_artifacts(trial, value, source->dir);
    case SETTING_RECORDED: return member != &trial->version_of || read_versions(trial, value);
    case SETTING_SEED:
        trial->has_seed = json_is_integer(value);
        trial->first_seed = trial->has_seed ? (uint64_t)json_integer_value(value) : trial->first_seed;
        return true;
    }
    return true;
}

bool command_from_sweep(struct command_trial *trial, const json_t *spec, const char *const *environment)
{
    const struct command_setting *setting;
    const struct command_source source = {.environment = environment};
    *trial = (struct command_trial){0};
    for (size_t i = 0; (setting = command_setting_at(i)); i++)
        if (setting->key && !command_setting_from_json(trial, setting, json_object_get(spec, setting->key), &source))
            return false;
    if (!json_object_get(spec, "grace_seconds"))
        trial->settings.grace_seconds = COMMAND_GRACE_SECONDS;
    if (!json_object_get(spec, "score_minutes"))
        trial->settings.score_minutes = COMMAND_SCORE_MINUTES;
    return true;
}

bool command_from_provenance(struct command_trial *trial, const json_t *run, const char *dir)
{
    const struct command_setting *setting;
    const struct command_source source = {.dir = dir};
    *trial = (struct command_trial){.dir = dir, .first_seed = 1};
    if (!json_is_string(json_array_get(json_object_get(run, "command"), 0)))
        return cli_refuse(
            "its run.json has no command: it was put back from the refs of the repository, which only keep the code; run "
            "the command yourself with `lineage run -- ..`");
    if (json_is_true(json_object_get(run, "masked")))
        return cli_refuse("its command had a secret, which was not recorded; run it again with `lineage run`");
    for (size_t i = 0; (setting = command_setting_at(i)); i++)
        if (setting->recorded && !command_setting_from_json(trial, setting, json_object_get(run, setting->recorded), &source))
            return cli_no_memory(), false;
    return true;
}
