/*
 * read_ray.c: the folder of an experiment of Ray Tune. Each trial has a folder with params.json, result.json (a JSON object a report)
 * and, if it died, error.txt. The states of experiment_state-*.json are used where it is there.
 */
#include <unistd.h>

#include "histories/readers.h"

#define TAGS "ray/tune/" /* in front of the names in its event files */

struct trial {
    json_t *history, *run; /* run: NULL until its first report */
    const char *key;       /* its folder; NULL if result.json was given alone */
    bool changed;          /* its reports have several settings */
};

/* What Ray itself reports beside the metrics. */
static bool is_own(const char *name)
{
    static const char own[] =
        " timestamp time_this_iter_s time_total_s time_since_restore done training_iteration trial_id date pid"
        " hostname node_ip config checkpoint_dir_name iterations_since_restore timesteps_total"
        " timesteps_since_restore episodes_total experiment_id experiment_tag should_checkpoint warmup_time"
        " node_id ";
    const size_t n = strlen(name);
    for (const char *at = own; n && !strchr(name, ' ') && (at = strstr(at, name)); at++)
        if (at[-1] == ' ' && at[n] == ' ')
            return true;
    return false;
}

static void add_metrics(struct trial *trial, const char *prefix, json_t *object, double step)
{
    const char *name;
    json_t *value;
    double number;
    json_object_foreach(object, name, value) {
        char path[256], tag[300];
        snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "/" : "", name);
        if (!*prefix && is_own(name))
            continue;
        if (json_is_object(value) && strlen(path) < 200) {
            add_metrics(trial, path, value, step);
        } else if (history_number(&number, value)) {
            snprintf(tag, sizeof tag, TAGS "%s", path);
            json_object_set_new(json_object_get(trial->history, "aliases"), tag, json_string(path));
            history_add_point_at(trial->run, path, step, number);
        }
    }
}

static void set_params(struct trial *trial, json_t *params)
{
    json_object_clear(json_object_get(trial->run, "params"));
    history_add_param(trial->run, "", json_incref(params));
}

/* The run of a folder has the trial's id as its key, so that the folder and result.json alone give the same row. */
static bool take_report(void *context, json_t *report)
{
    struct trial *trial = context;
    const char *id = json_string_value(json_object_get(report, "trial_id"));
    const double ended = json_number_value(json_object_get(report, "timestamp")),
                 total = json_number_value(json_object_get(report, "time_total_s"));
    if (!trial->run)
        trial->run = history_add_run(trial->history, id ? id : trial->key ? trial->key : "");
    if (!json_object_get(trial->run, "started") && ended > 0)
        history_set_time(trial->run, "started", ended - total);
    if (ended > 0)
        history_set_time(trial->run, "ended", ended);
    json_t *config = json_object_get(report, "config");
    const json_t *before = json_object_get(trial->run, "config");
    const bool changes = config && !json_equal(before, config);
    if (before && changes) {
        trial->changed = true;
        history_set_text(trial->run, "notes",
                         "its settings changed while it ran, as population-based training does it; these are the last ones");
    }
    if (changes)
        set_params(trial, config);
    json_object_set(trial->run, "config", config);
    history_set_time(trial->run, "seconds", total);
    add_metrics(trial, "", report, json_number_value(json_object_get(report, "training_iteration")));
    return true;
}

/* A trial that died before its first report has its id in the name of its folder only: f_80ee5_00002_2_k=2_2026-11-28_10-00-16. */
static const char *id_of_folder(char out[32], const char *name)
{
    for (const char *at = name; (at = strchr(at, '_')); at++) {
        const size_t hex = strspn(at + 1, "0123456789abcdef"),
                     digits = at[1 + hex] == '_' ? strspn(at + 2 + hex, "0123456789") : 0;
        if (hex >= 5 && hex <= 8 && digits == 5 && at[2 + hex + digits] == '_') {
            snprintf(out, 32, "%.*s", (int)(hex + 1 + digits), at + 1);
            return out;
        }
    }
    return name;
}

/* If the settings changed, those of the last report belong to its score. params.json still names them, because a report of RLlib
 * has all defaults, too. */
static bool take_params(void *context, json_t *params)
{
    struct trial *trial = context;
    char id[32];
    const char *name;
    json_t *value;
    if (!trial->run)
        trial->run = history_add_run(trial->history, id_of_folder(id, trial->key));
    json_t *config = json_object_get(trial->run, "config");
    set_params(trial, params);
    json_object_foreach(params, name, value)
        if (trial->changed && json_object_get(config, name))
            history_add_param(trial->run, name, json_incref(json_object_get(config, name)));
    return true;
}

static bool read_trial(json_t *history, FTSENT *params, char why[HISTORY_WHY_MAX])
{
    const int n = (int)(params->fts_pathlen - params->fts_namelen);
    char result[PATH_MAX], error[PATH_MAX];
    struct trial trial = {.history = history, .key = params->fts_parent->fts_name};
    snprintf(result, sizeof result, "%.*sresult.json", n, params->fts_path);
    snprintf(error, sizeof error, "%.*serror.txt", n, params->fts_path);
    if (access(result, F_OK) == 0 && !history_each_value(result, take_report, &trial, why))
        return false;
    if (!history_each_value(params->fts_path, take_params, &trial, why))
        return false;
    if (trial.run && access(error, F_OK) == 0)
        history_set_text(trial.run, "state", "failed");
    history_set_text(trial.run, "name", trial.key);
    return true;
}

/* The trials of experiment_state-*.json are texts of JSON; other members are pickles. */
static bool take_states(void *context, json_t *state)
{
    json_t *trials = json_object_get(state, "trial_data"), *trial;
    size_t i;
    if (!trials)
        trials = json_object_get(state, "checkpoints");
    json_array_foreach(trials, i, trial) {
        const char *text = json_string_value(json_is_array(trial) ? json_array_get(trial, 0) : trial);
        json_t *object = text ? history_json(text) : NULL;
        const char *id = json_string_value(json_object_get(object, "trial_id"));
        if (id)
            json_object_set(context, id, json_object_get(object, "status"));
        json_decref(object);
    }
    return true;
}

static void set_states(json_t *history, const json_t *states)
{
    json_t *run;
    size_t i;
    json_array_foreach(json_object_get(history, "runs"), i, run) {
        const char *word = json_string_value(json_object_get(states, json_string_value(json_object_get(run, "key"))));
        const char *state = word ? history_state(word) : NULL;
        if (state)
            history_set_text(run, "state", state);
    }
}

static bool is_state(const FTSENT *entry)
{
    return entry->fts_info == FTS_F && strncmp(entry->fts_name, "experiment_state", 16) == 0 && strstr(entry->fts_name, ".json");
}

/* The folder of one trial has its state in that of the experiment, above it. */
static bool states_above(json_t *states, const char *path, char why[HISTORY_WHY_MAX])
{
    char above[PATH_MAX];
    snprintf(above, sizeof above, "%.*s/params.json", PATH_MAX - 20, path);
    if (access(above, F_OK) != 0)
        return true;
    snprintf(above, sizeof above, "%.*s/..", PATH_MAX - 20, path);
    FTS *tree = history_tree(above, why);
    bool good = tree != NULL;
    for (FTSENT *entry; good && (entry = history_entry(tree, 1));)
        if (is_state(entry))
            good = history_each_value(entry->fts_path, take_states, states, why);
    history_leave(tree);
    return good;
}

json_t *read_ray(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    FTS *tree = history_tree(path, why);
    json_t *history = history_new("ray"), *states = json_object();
    bool good = tree != NULL && states_above(states, path, why);
    (void)options;
    for (FTSENT *entry; good && (entry = history_entry(tree, 3));) { /* deeper ones are checkpoints */
        if (entry->fts_info == FTS_F && strcmp(entry->fts_name, "params.json") == 0)
            good = read_trial(history, entry, why);
        else if (is_state(entry))
            good = history_each_value(entry->fts_path, take_states, states, why);
    }
    history_leave(tree);
    set_states(history, states);
    json_decref(states);
    if (good && !json_array_size(json_object_get(history, "runs")))
        good = history_fail(why, "%.300s has no trial of Ray Tune", path);
    return history_done(history, NULL, NULL, good);
}

/* How a trial ended is in the files beside its result.json. */
json_t *read_ray_result(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    char folder[PATH_MAX], params[PATH_MAX + 16];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + (slash == path) : 1, slash ? path : ".");
    snprintf(params, sizeof params, "%s/params.json", folder);
    if (access(params, F_OK) == 0)
        return read_ray(folder, options, why);
    struct trial trial = {.history = history_new("ray")};
    bool good = history_each_value(path, take_report, &trial, why);
    if (good && !trial.run)
        good = history_fail(why, "%.300s has no report", path);
    return history_done(trial.history, NULL, NULL, good);
}
