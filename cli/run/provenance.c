#include <ctype.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/render.h>

#include "git/git.h"
#include "run/run_parts.h"
#include "run/command_trial.h"
#include "support/running_files.h"
#include "support/secrets.h"

enum { VERSION_SECONDS = 30, VERSION_BYTES = 1 << 14 };

/* Variables that change results or speed and are not secret. */
static const char *const usual[] = {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "MKL_NUM_THREADS",   "OPENBLAS_NUM_THREADS",
                                    "PYTHONHASHSEED",       "VIRTUAL_ENV",     "CONDA_DEFAULT_ENV", NULL};

/* Whether the name [length] of a variable suggests that its value is secret. */
static bool provenance_is_secret(const char *name, size_t length)
{
    static const char *const words[] = {"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE", NULL};
    char upper[128] = "";
    for (size_t i = 0; i < length && i < sizeof upper - 1; i++)
        upper[i] = (char)toupper((unsigned char)name[i]);
    for (size_t i = 0; words[i]; i++)
        if (strstr(upper, words[i]))
            return true;
    return false;
}

/* The text with its secrets masked. NULL when out of memory: then the key is omitted. */
static json_t *masked(const char *text)
{
    char *safe = secret_masked(text);
    json_t *value = safe ? cli_json_text(safe) : NULL;
    free(safe);
    return value;
}

static void keep_variable(json_t *kept, const char *name)
{
    const char *value = getenv(name);
    if (value && !provenance_is_secret(name, strlen(name)))
        json_object_set_new(kept, name, masked(value));
}

static json_t *kept_environment(const struct command_trial *t)
{
    json_t *kept = json_object();
    for (size_t i = 0; usual[i]; i++)
        keep_variable(kept, usual[i]);
    for (size_t i = 0; t->keep_environment && t->keep_environment[i]; i++)
        keep_variable(kept, t->keep_environment[i]);
    return kept;
}

static bool has_secret(const char *text)
{
    char *safe = secret_masked(text);
    bool differs = !safe || strcmp(safe, text) != 0;
    free(safe);
    return differs;
}

/* The variables that --env sets. A value that looks secret is recorded as null. */
static json_t *given_environment(const struct command_trial *t)
{
    json_t *given = json_object();
    for (size_t i = 0; t->environment && t->environment[i]; i++) {
        const char *text = t->environment[i];
        size_t n = strcspn(text, "=");
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)n, text);
        bool secret = provenance_is_secret(text, n) || has_secret(text + n + 1);
        json_object_set_new(given, name, secret ? json_null() : cli_json_text(text + n + 1));
    }
    return given;
}

/* A word behind an option such as --api-key is masked as a whole. */
static json_t *texts(const char *const *list)
{
    json_t *array = json_array();
    for (size_t i = 0; list && list[i]; i++) {
        const char *option = i > 0 && list[i - 1][0] == '-' && !strchr(list[i - 1], '=') ? list[i - 1] : "";
        bool secret = list[i][0] != '-' && secret_name(option, strlen(option));
        json_array_append_new(array, secret ? json_string(SECRET_MASK) : masked(list[i]));
    }
    return array;
}

static json_t *artifacts(const struct command_trial *t)
{
    json_t *list = json_array();
    for (size_t i = 0; i < t->n_artifacts; i++)
        json_array_append_new(
            list, json_pack("{s:o, s:f}", "glob", cli_json_text(t->artifacts[i].glob), "max_bytes", t->artifacts[i].max_bytes));
    return list;
}

static json_t *versions(const struct command_trial *t)
{
    json_t *object = json_object();
    for (size_t i = 0; t->version_of && t->version_of[i]; i++) {
        const char *const argv[] = {"sh", "-c", t->version_of[i], NULL};
        size_t length;
        char *text = read_command(argv, NULL, VERSION_SECONDS, VERSION_BYTES, &length);
        while (text && length > 0 && isspace((unsigned char)text[length - 1]))
            text[--length] = '\0';
        json_object_set_new(object, t->version_of[i], text ? masked(text) : json_null());
        free(text);
    }
    return object;
}

/* Returns the value of a setting, or NULL if it is not set, in which case the key is omitted. */
static json_t *setting_json(const struct command_trial *t, const struct command_setting *setting)
{
    const void *value = command_setting_value(t, setting);
    double amount = 0;
    switch (setting->kind) {
    case SETTING_TEXT: {
        const char *text = *(const char *const *)value;
        return text ? masked(text) : NULL;
    }
    case SETTING_WORDS:
    case SETTING_TEXTS:
    case SETTING_FILES: return texts(*(const char *const *const *)value);
    case SETTING_AMOUNT: amount = *(const double *)value; break;
    case SETTING_COUNT: amount = (double)*(const size_t *)value; break;
    case SETTING_FLAG: return *(const bool *)value ? json_true() : NULL;
    case SETTING_SEED: return t->has_seed ? json_integer((json_int_t)t->first_seed) : NULL;
    case SETTING_PARAMS: return cli_json_params(t->params, t->n_params);
    case SETTING_ENVIRONMENT: return given_environment(t);
    case SETTING_ARTIFACTS: return artifacts(t);
    case SETTING_RECORDED: return value == &t->version_of ? versions(t) : kept_environment(t);
    }
    return amount > 0 ? cli_json_number(amount) : NULL;
}

static bool is_masked(const struct command_trial *t, const json_t *run)
{
    const json_t *words = json_object_get(run, "command");
    for (size_t i = 0; t->argv && t->argv[i]; i++) {
        const char *recorded = json_string_value(json_array_get(words, i));
        if (!recorded || (strstr(recorded, SECRET_MASK) && !strstr(t->argv[i], SECRET_MASK)))
            return true;
    }
    return (t->eval && has_secret(t->eval)) || (t->preflight && has_secret(t->preflight));
}

static void put_text(json_t *run, const char *key, const char *text)
{
    if (text)
        json_object_set_new(run, key, cli_json_text(text));
}

/* The layers in which the commands run, by their names. */
static json_t *layers(const struct sandbox *sandbox)
{
    json_t *list = json_array();
    const char *name;
    unsigned layer;
    for (size_t i = 0; (name = sandbox_layer_at(i, &layer)); i++)
        if (sandbox->layers & layer)
            json_array_append_new(list, json_string(name));
    return list;
}

static json_t *run_json(const struct command_trial *t)
{
    const struct command_setting *setting;
    json_t *run = json_object();
    char dir[PATH_MAX];
    for (size_t i = 0; (setting = command_setting_at(i)); i++) {
        json_t *value = setting->recorded ? setting_json(t, setting) : NULL;
        if (value)
            json_object_set_new(run, setting->recorded, value);
        if (setting->kind == SETTING_WORDS) {
            if (is_masked(t, run))
                json_object_set_new(run, "masked", json_true());
            put_text(run, "directory", t->dir ? t->dir : getcwd(dir, sizeof dir));
            put_text(run, "rerun_of", t->rerun_of);
        } else if (command_setting_value(t, setting) == &t->keep_environment) {
            conditions_machine(run);
        }
    }
    return run;
}

/* Appends "; WORDS: A, B and 3 more". */
static void add_names(char *text, size_t size, const char *words, const json_t *names, size_t shown)
{
    const json_t *name;
    size_t i, n = strlen(text);
    json_array_foreach(names, i, name)
        if (n < size && i < shown)
            n += (size_t)snprintf(text + n, size - n, "%s%s%s%.60s", i ? ", " : "; ", i ? "" : words, i ? "" : ": ",
                                  json_string_value(name));
    if (n < size && json_array_size(names) > shown)
        snprintf(text + n, size - n, " and %zu more", json_array_size(names) - shown);
}

/* Says which files were copied, so that nobody finds out later that a private file is in the store. */
static void say_copied(const json_t *git)
{
    const json_t *secret = json_object_get(git, "secret_files"), *outputs = json_object_get(git, "outputs");
    json_int_t copied = json_integer_value(json_object_get(git, "untracked"));
    const size_t n = json_array_size(outputs);
    char text[1000], words[64];
    if (!copied && !json_array_size(secret))
        return;
    snprintf(text, sizeof text, "copied %" JSON_INTEGER_FORMAT " untracked file%s to provenance", copied, copied == 1 ? "" : "s");
    snprintf(words, sizeof words, "%zu that %s like output %s not count as code", n, n == 1 ? "looks" : "look",
             n == 1 ? "does" : "do");
    add_names(text, sizeof text, words, outputs, 4);
    add_names(text, sizeof text, "left out as secret", secret, 8);
    cli_say(text);
}

/* A night's own file says what its trials are; to their code it belongs only if they read it. Notes its path in the repository, which
 * comparisons of code leave out; "" if the trial names it. */
static void note_plan(json_t *git, const struct command_trial *t)
{
    char path[PATH_MAX];
    const char *top = cli_json_string(git, "top");
    const char *below = top && *top && t->plan && realpath(t->plan, path) ? work_tree_below(top, path) : NULL;
    if (below)
        json_object_set_new(git, "plan", cli_json_text(code_is_named(t, path) ? "" : below));
}

/* The state of the repository, with the name of the ref that keeps it. */
static json_t *record_git(const char *dir, const char *workdir, struct lineage_store *store, const struct command_trial *t)
{
    char pool[PATH_MAX];
    char *provenance = NULL;
    struct lineage_error err;
    if (t->rerun_of || lineage_store_path(&provenance, store, LINEAGE_PLACE_PROVENANCE, &err) != LINEAGE_OK)
        return NULL;
    snprintf(pool, sizeof pool, "%s/" PROVENANCE_POOL, provenance);
    lineage_free(provenance);
    json_t *git =
        work_tree_diff_write(dir, t->dir ? t->dir : ".", lineage_store_dir(store), pool, lineage_store_secret_files(store));
    if (!git && repository_is_mute(pool, t->dir ? t->dir : "."))
        return json_pack("{s:o}", "left_out", json_sprintf("all of it, as git does not answer for the repository %s", pool));
    if (!git && repository_has_no_files(t->dir ? t->dir : "."))
        return json_pack("{s:s}", "left_out", "all of it, as the directory is in the files of git itself, not in a work tree");
    if (git && !t->no_refs)
        code_ref_name(git, workdir);
    if (git)
        note_plan(git, t);
    if (git)
        code_change_find(git, store, t, dir);
    return git;
}

bool provenance_write(json_t **recorded, const char *workdir, struct lineage_store *store, const struct command_trial *t,
                      const struct sandbox *sandbox, json_t *conditions)
{
    char dir[PATH_MAX], path[PATH_MAX];
    *recorded = NULL;
    int n = snprintf(dir, sizeof dir, "%s/" RUNNING_PROVENANCE, workdir);
    if (n < 0 || (size_t)n >= sizeof dir || mkdir(dir, 0700) != 0)
        return cli_refuse("cannot make %s: %s", dir, strerror(errno));
    json_t *run = run_json(t);
    cli_json_set(run, "sandbox_layers", t->sandbox ? layers(sandbox) : NULL, "sandbox_hidden",
                 t->sandbox && sandbox->layers & SANDBOX_MOUNTS ? texts(sandbox->hidden) : NULL, NULL);
    if (conditions)
        json_object_set(run, "conditions", conditions);
    json_t *git = record_git(dir, workdir, store, t);
    if (json_object_get(git, "commit"))
        json_object_set(run, "git", git);
    *recorded = git;
    const char *left = cli_json_string(git, "left_out");
    if (left)
        cli_error(CLI_NO, "the code of this trial is not kept as a whole; left out: %s", left);
    if (!t->quiet)
        say_copied(git);
    n = snprintf(path, sizeof path, "%s/run.json", dir);
    FILE *out = n > 0 && (size_t)n < sizeof path ? cli_private_file(path) : NULL;
    if (out)
        cli_json_print(out, run, true);
    json_decref(run);
    if (out && fclose(out) == 0)
        return true;
    return cli_refuse("cannot write %s: %s", path, strerror(errno));
}
