#include "run/command_trial.h"

#include "run/run_parts.h"

size_t command_options_list(struct poptOption *table, struct command_options *options)
{
    const struct command_setting *setting;
    size_t n = 0;
    for (size_t i = 0; (setting = command_setting_at(i)); i++)
        if (setting->option)
            table[n++] = command_setting_option(setting, &options->given[i]);
    return n;
}

/* Accepts one parameter fewer than the maximum, because the seed becomes a parameter, too. */
static bool read_params(struct command_trial *trial, struct command_options *options, char **list)
{
    size_t n = cli_texts_length((const char *const *)list);
    if (n > TRIAL_PARAMS_MAX - 1)
        return cli_refuse("run: more than %d parameters", TRIAL_PARAMS_MAX - 1);
    struct lineage_param *params = command_trial_own(trial, calloc(n + 1, sizeof *params));
    char(*names)[LINEAGE_NAME_MAX] = command_trial_own(trial, calloc(n + 1, sizeof *names));
    if (!params || !names)
        return cli_no_memory(), false;
    for (size_t i = 0; i < n; i++) {
        const char *value;
        if (!cli_assignment_parse(names[i], &value, "param", list[i]) ||
            !cli_value_parse(&params[i], &options->texts, names[i], value))
            return false;
        if (!lineage_param_name_ok(names[i]))
            return cli_refuse("--param '%s': the name of a parameter is letters, digits, _ . -", names[i]);
        params[i].name = lineage_param_canonical(names[i]);
    }
    trial->params = params;
    trial->n_params = n;
    return true;
}

/* Parses GLOB:MAXBYTES, split at the last colon. If no number follows that colon, it is part of the file name. */
static bool read_artifacts(struct command_trial *trial, char **list)
{
    size_t n = cli_texts_length((const char *const *)list);
    struct command_artifact *artifacts = command_trial_own(trial, calloc(n + 1, sizeof *artifacts));
    if (!artifacts)
        return cli_no_memory(), false;
    for (size_t i = 0; i < n; i++) {
        char *colon = strrchr(list[i], ':');
        artifacts[i].glob = list[i];
        if (!colon || colon[1] == '\0' || strspn(colon + 1, "0123456789.e+") != strlen(colon + 1))
            continue;
        *colon = '\0';
        if (!cli_measure_parse(&artifacts[i].max_bytes, CLI_BYTES, "artifact", colon + 1))
            return false;
    }
    trial->artifacts = artifacts;
    trial->n_artifacts = n;
    return true;
}

/* Rejects a file that does not exist, because it is most likely a typing error, and a directory, whose files are not read. */
static bool check_files(const char *option, char **list)
{
    struct protected_digest digest;
    for (char **path = list; path && *path; path++)
        if (!protected_file_digest(&digest, *path))
            return cli_refuse("--%s %s: %s", option, *path, errno == EINVAL ? "it is not a regular file" : strerror(errno));
    return true;
}

/*
 * Checks the variables before anything starts, because otherwise a typing error would only show in the behaviour of the
 * command.
 */
static bool check_environment(const char *option, char **list)
{
    for (char **set = list; set && *set; set++)
        if (!strchr(*set, '=') || **set == '=')
            return cli_refuse("--%s '%s' is not NAME=VALUE", option, *set);
    return true;
}

/* Checks patterns and rules before the command runs, which may take hours. */
static bool check_texts(const struct command_setting *setting, char **list)
{
    char why[700];
    for (char **text = list; text && *text; text++)
        if (!command_setting_check(setting, *text, why, sizeof why))
            return cli_refuse("%s", why);
    return true;
}

static bool read_seed(struct command_trial *trial, const char *text)
{
    size_t seed = 1;
    if (text && !cli_count_parse(&seed, "seed", text))
        return false;
    trial->has_seed = text != NULL;
    trial->first_seed = seed;
    return true;
}

static bool read_count(size_t *count, const char *option, const char *text)
{
    if (text && !cli_count_parse(count, option, text))
        return false;
    if (text && *count == 0)
        return cli_refuse("--%s wants a number from 1 on", option);
    return true;
}

bool command_options_read(struct command_trial *trial, struct command_options *options)
{
    const struct command_setting *setting;
    bool good = true;
    trial->settings.grace_seconds = COMMAND_GRACE_SECONDS;
    trial->settings.score_minutes = COMMAND_SCORE_MINUTES;
    for (size_t i = 0; good && (setting = command_setting_at(i)); i++) {
        void *member = command_setting_member(trial, setting);
        char *text = options->given[i].text, **list = options->given[i].list;
        if (!setting->option)
            continue;
        switch (setting->kind) {
        case SETTING_TEXT:
            *(const char **)member = text;
            good = !text || check_texts(setting, (char *[]){text, NULL});
            break;
        case SETTING_AMOUNT:
            good = !text || cli_measure_parse(member, strcmp(setting->option, "memory") == 0 ? CLI_BYTES : CLI_SECONDS,
                                              setting->option, text);
            break;
        case SETTING_COUNT: good = read_count(member, setting->option, text); break;
        case SETTING_FLAG: *(bool *)member = options->given[i].flag; break;
        case SETTING_SEED: good = read_seed(trial, text); break;
        case SETTING_PARAMS: good = read_params(trial, options, list); break;
        case SETTING_ARTIFACTS: good = read_artifacts(trial, list); break;
        case SETTING_FILES: good = check_files(setting->option, list); break;
        case SETTING_ENVIRONMENT: good = check_environment(setting->option, list); break;
        case SETTING_TEXTS: good = check_texts(setting, list); break;
        case SETTING_RECORDED:
        case SETTING_WORDS: break;
        }
        if (command_setting_is_list(setting) && setting->kind != SETTING_PARAMS && setting->kind != SETTING_ARTIFACTS)
            *(const char *const **)member = (const char *const *)list;
    }
    char why[200];
    if (good && !command_trial_check(trial, false, why, sizeof why))
        return cli_refuse("run: %s", why);
    return good;
}
