/*
 * read_searches.c: trackers and searches that keep JSON files: the folder of Sacred's FileStorageObserver (N/run.json, config.json,
 * metrics.json), that of a search of Keras Tuner (oracle.json, trial_N/trial.json), SMAC3's runhistory.json, HpBandSter's results.json
 * and configs.json, and the folders of ClearML's offline tasks (task.json, metrics.jsonl); and what `dvc exp show --json` prints.
 */
#include <unistd.h>

#include "histories/readers.h"

/* Sets *value to what the file beside this one has, or to NULL if it is not there. Returns false with the reason if it is damaged. */
static bool read_beside(json_t **value, const struct run_file *s, const char *name)
{
    char path[PATH_MAX];
    *value = NULL;
    snprintf(path, sizeof path, "%.*s%s", s->length, s->path, name);
    return access(path, F_OK) != 0 || history_first_value(path, value, s->why);
}

/* An id that other folders have, too, tells runs apart with the time at which the run began. */
static json_t *add_run(struct run_file *s, const char *id, double started)
{
    char key[300];
    snprintf(key, sizeof key, "%.200s@%.6f", id, started);
    json_t *run = history_add_run(s->history, key);
    history_set_time(run, "started", started);
    return run;
}

/* ---- Sacred ---- */

/* A number of NumPy is an object: {"dtype": "float32", "py/object": "numpy.float32", "value": 0.25}. Times are UTC. */
static void add_result(json_t *run, const char *name, json_t *result)
{
    const char *member;
    json_t *value;
    double number;
    char path[256];
    if (json_object_get(result, "py/object"))
        result = json_object_get(result, "value");
    if (history_number(&number, result))
        history_set_metric(run, name, number);
    json_object_foreach(result, member, value) {
        snprintf(path, sizeof path, "%s.%s", name, member);
        if (strlen(path) < 200)
            add_result(run, path, value);
    }
}

static void add_curves(json_t *run, json_t *metrics)
{
    const char *name;
    json_t *curve;
    double number;
    json_object_foreach(metrics, name, curve)
        for (size_t i = 0; i < json_array_size(json_object_get(curve, "values")); i++)
            if (history_number(&number, json_array_get(json_object_get(curve, "values"), i)))
                history_add_point_at(run, name, json_number_value(json_array_get(json_object_get(curve, "steps"), i)), number);
}

bool take_sacred(struct run_file *s, json_t *value)
{
    const char *started = cli_json_string(value, "start_time"), *ended = cli_json_string(value, "stop_time"),
               *name = cli_json_string(json_object_get(value, "experiment"), "name");
    const json_t *trace = json_object_get(value, "fail_trace");
    json_t *config, *metrics = NULL;
    char text[300];
    const bool good = read_beside(&config, s, "config.json") && read_beside(&metrics, s, "metrics.json");
    if (good) {
        json_t *run = add_run(s, s->folder, history_time(started ? started : "", false));
        snprintf(text, sizeof text, "%.200s %.80s", name ? name : "run", s->folder);
        history_set_text(run, "name", text);
        history_set_notes(run, json_string_value(json_array_get(trace, json_array_size(trace) - 1)));
        history_set_time(run, "ended", history_time(ended ? ended : "", false));
        history_set_state(run, cli_json_member(value, "status"), "failed");
        history_add_param(run, "", json_incref(config));
        add_result(run, "result", json_object_get(value, "result"));
        add_curves(run, metrics);
    }
    json_decref(config);
    json_decref(metrics);
    return good;
}

/* ---- Keras Tuner ---- */

/* A value of a metric is that of several executions, of which the mean counts. */
static void add_observations(struct run_file *s, json_t *run, const char *name, const json_t *metric, const json_t *score)
{
    const json_t *observations = json_object_get(metric, "observations"), *observation, *value;
    const char *direction = cli_json_string(metric, "direction");
    size_t i, k;
    json_array_foreach(observations, i, observation) {
        const json_t *values = json_object_get(observation, "value");
        double sum = 0, number;
        json_array_foreach(values, k, value)
            sum += history_number(&number, value) ? number : 0;
        if (json_array_size(values))
            history_add_point_at(run, name, json_number_value(json_object_get(observation, "step")),
                                 sum / (double)json_array_size(values));
        if (direction && json_is_number(score) && sum / (double)json_array_size(values) == json_number_value(score))
            history_set_direction(s->history, "score", strcmp(direction, "max") == 0);
    }
    if (direction)
        history_set_direction(s->history, name, strcmp(direction, "max") == 0);
}

bool take_keras(struct run_file *s, json_t *value)
{
    const char *id = cli_json_string(value, "trial_id"), *started = id ? cli_json_string(s->starts, id) : NULL, *name;
    json_t *metric, *score = json_object_get(value, "score");
    double number;
    json_t *run = add_run(s, id ? id : s->folder, history_time(started ? started : "", true));
    char place[PATH_MAX], key[PATH_MAX + 300];
    const char *project = started ? NULL : history_place(place, s->path, (size_t)s->length, true);
    if (project) { /* a silent search records no time: its folder tells the trials of two apart */
        snprintf(key, sizeof key, "%s/%s", project, id ? id : s->folder);
        json_object_set(run, "old_key", json_object_get(run, "key")); /* of rows that earlier versions imported */
        json_object_set_new(run, "weak", json_true()); /* two projects may end in the same two folders */
        history_set_text(run, "key", key);
    }
    history_set_text(run, "name", s->folder);
    history_set_notes(run, cli_json_string(value, "message"));
    history_set_state(run, cli_json_member(value, "status"), "failed");
    history_add_param(run, "", json_incref(json_object_get(json_object_get(value, "hyperparameters"), "values")));
    json_object_foreach(json_object_get(json_object_get(value, "metrics"), "metrics"), name, metric)
        add_observations(s, run, name, metric, score);
    if (history_number(&number, score))
        history_set_metric(run, "score", number);
    history_set_text(s->history, "score", "score");
    return true;
}

/* ---- the Trainer of Hugging Face ---- */

/* A run leaves checkpoint-N/trainer_state.json, each with all steps before, and perhaps one in its own folder: the one with most steps
 * counts. A search has its settings in it; otherwise they are in a pickle, but for two. */
bool take_trainer(struct run_file *s, json_t *value)
{
    static const char *const told[] = {"metrics", "curves", "steps"}, *const settings[] = {"num_train_epochs",
                                                                                           "train_batch_size"};
    const json_t *control = json_object_get(json_object_get(value, "stateful_callbacks"), "TrainerControl"), *line;
    const json_int_t step = json_integer_value(json_object_get(value, "global_step"));
    char place[PATH_MAX], folder[PATH_MAX];
    const char *name;
    json_t *logged;
    double number;
    size_t i;
    snprintf(folder, sizeof folder, "%.*s.", s->length, s->path);
    const char *slash = realpath(folder, place) ? strrchr(place, '/') : NULL,
               *key = slash ? history_place(place, s->path, (size_t)s->length, strncmp(slash, "/checkpoint-", 12) == 0) : NULL;
    if (!key)
        return history_fail(s->why, "cannot resolve %.300s", s->path), false;
    json_t *run = history_run_of(s->history, s->starts, place);
    if (step < json_integer_value(json_object_get(run, "last")))
        return true;
    json_object_set_new(run, "last", json_integer(step));
    json_object_set_new(run, "weak", json_true()); /* each project has an `output` */
    for (i = 0; i < sizeof told / sizeof *told; i++)
        json_object_clear(json_object_get(run, told[i]));
    history_set_text(run, "key", key);
    history_set_text(run, "name", key);
    history_set_text(run, "name", cli_json_string(value, "trial_name"));
    const bool ended = step >= json_integer_value(json_object_get(value, "max_steps")) ||
                       json_is_true(json_object_get(json_object_get(control, "args"), "should_training_stop"));
    history_set_text(run, "state", ended ? "finished" : "running");
    for (i = 0; i < sizeof settings / sizeof *settings; i++)
        history_add_param(run, settings[i], json_incref(json_object_get(value, settings[i])));
    history_add_param(run, "", json_incref(json_object_get(value, "trial_params")));
    json_array_foreach(json_object_get(value, "log_history"), i, line) {
        const double at = json_number_value(json_object_get(line, "step"));
        json_object_foreach((json_t *)(uintptr_t)line, name, logged) {
            if (strcmp(name, "train_runtime") == 0)
                history_set_time(run, "seconds", json_number_value(logged));
            else if (strcmp(name, "step") != 0 && strcmp(name, "epoch") != 0 && history_number(&number, logged))
                history_add_point_at(run, name, at, number);
        }
    }
    return true;
}

/* ---- SMAC3 ---- */

/* One evaluation of a configuration: with a seed, and with an instance or a budget if there are any. */
static void add_evaluation(struct run_file *s, const json_t *configs, json_t *evaluation)
{
    static const char *const states[] = {"running", "finished", "failed", "failed", "failed"};
    static const char *const also[] = {"seed", "instance", "budget"};
    const json_int_t state = json_integer_value(json_object_get(evaluation, "status"));
    char id[32], name[64];
    double number;
    size_t i;
    json_t *cost = json_object_get(evaluation, "cost"), *part;
    snprintf(id, sizeof id, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(evaluation, "config_id")));
    json_t *run = add_run(s, id, json_number_value(json_object_get(evaluation, "starttime")));
    snprintf(name, sizeof name, "configuration %s", id);
    history_set_text(run, "name", name);
    history_set_time(run, "ended", json_number_value(json_object_get(evaluation, "endtime")));
    history_set_text(run, "state", state >= 0 && state < 5 ? states[state] : "failed");
    history_set_notes(run, cli_json_string(json_object_get(evaluation, "additional_info"), "traceback"));
    history_add_param(run, "", json_incref(json_object_get(configs, id)));
    for (i = 0; i < sizeof also / sizeof *also; i++)
        history_add_param(run, also[i], json_incref(json_object_get(evaluation, also[i])));
    if (history_number(&number, cost))
        history_set_metric(run, "cost", number);
    history_set_direction(s->history, "cost", false);
    json_array_foreach(cost, i, part) {
        snprintf(name, sizeof name, "cost_%zu", i);
        if (history_number(&number, part))
            history_set_metric(run, name, number);
        history_set_direction(s->history, name, false);
    }
}

bool take_smac(struct run_file *s, json_t *value)
{
    size_t i;
    json_t *evaluation;
    json_array_foreach(json_object_get(value, "data"), i, evaluation)
        add_evaluation(s, json_object_get(value, "configs"), evaluation);
    return true;
}

/* ---- HpBandSter ---- */

struct bandster {
    json_t *history, *configs; /* configs: the settings by the text of their id */
};

static char *id_text(json_t *line)
{
    return json_dumps(json_array_get(line, 0), JSON_COMPACT);
}

/* A line of configs.json is [ID, settings, info]. */
static bool take_config(void *context, json_t *line)
{
    char *id = id_text(line);
    if (id)
        json_object_set(context, id, json_array_get(line, 1));
    free(id);
    return true;
}

/* A line of results.json is [ID, budget, times, result or null, exception or null]; a configuration has a line for each budget. */
static bool take_evaluation(void *context, json_t *line)
{
    struct bandster *b = context;
    const json_t *budget = json_array_get(line, 1), *times = json_array_get(line, 2);
    json_t *result = json_array_get(line, 3), *info = json_object_get(result, "info");
    char *id = id_text(line), key[200];
    double loss;
    snprintf(key, sizeof key, "%.100s/%g", id ? id : "", json_number_value(budget));
    json_t *run = history_add_run(b->history, key);
    history_add_param(run, "", json_incref(json_object_get(b->configs, id ? id : "")));
    history_add_param(run, "budget", json_real(json_number_value(budget)));
    history_set_time(run, "started", json_number_value(json_object_get(times, "started")));
    history_set_time(run, "ended", json_number_value(json_object_get(times, "finished")));
    if (history_number(&loss, json_object_get(result, "loss")))
        history_set_metric(run, "loss", loss);
    else
        history_set_text(run, "state", "failed");
    if (json_is_object(info))
        history_add_metrics(run, "", info, false);
    history_set_notes(run, json_string_value(json_array_get(line, 4)));
    free(id);
    return true;
}

bool take_hpbandster(struct run_file *s, json_t *value)
{
    struct bandster b = {s->history, json_object()};
    char path[PATH_MAX];
    (void)value;
    snprintf(path, sizeof path, "%.*sconfigs.json", s->length, s->path);
    const bool good =
        history_each_value(path, take_config, b.configs, s->why) && history_each_value(s->path, take_evaluation, &b, s->why);
    history_set_direction(s->history, "loss", false);
    history_set_text(s->history, "score", "loss");
    json_decref(b.configs);
    return good;
}

/* ---- ClearML ---- */

struct task {
    json_t *run;
    double started, ended; /* nan: no value was reported */
};

/* A line is a list of values. Scalars are named by their plot and their curve. */
static bool take_scalars(void *context, json_t *line)
{
    struct task *task = context;
    json_t *scalar;
    size_t i;
    double number;
    char name[256];
    json_array_foreach(line, i, scalar) {
        const char *metric = cli_json_string(scalar, "metric"), *variant = cli_json_string(scalar, "variant"),
                   *type = cli_json_string(scalar, "type");
        const double time = json_number_value(json_object_get(scalar, "timestamp")) / 1000;
        if (!type || strcmp(type, "training_stats_scalar") != 0 || !history_number(&number, json_object_get(scalar, "value")))
            continue;
        snprintf(name, sizeof name, "%.120s/%.120s", metric ? metric : "", variant ? variant : "");
        history_add_point(task->run, name, json_integer_value(json_object_get(scalar, "iter")), number);
        task->started = isnan(task->started) ? time : task->started;
        task->ended = time;
    }
    return true;
}

/* The settings are in sections, of which General is the usual one. An offline task has no state: one with the last lines ended. */
bool take_clearml(struct run_file *s, json_t *value)
{
    char path[PATH_MAX];
    const char *section, *name, *id = cli_json_string(value, "id");
    json_t *settings, *setting;
    struct task task = {.run = history_add_run(s->history, id ? id : s->folder), .started = (double)NAN, .ended = (double)NAN};
    history_set_text(task.run, "name", cli_json_string(value, "name"));
    json_object_foreach(json_object_get(value, "hyperparams"), section, settings)
        json_object_foreach(settings, name, setting) {
            char key[256];
            snprintf(key, sizeof key, "%.100s%s%.150s", strcmp(section, "General") == 0 ? "" : section,
                     strcmp(section, "General") == 0 ? "" : ".", name);
            history_add_param_text(task.run, key, cli_json_string(setting, "value") ? cli_json_string(setting, "value") : "");
        }
    snprintf(path, sizeof path, "%.*smetrics.jsonl", s->length, s->path);
    const bool good = history_each_value(path, take_scalars, &task, s->why);
    history_set_time(task.run, "started", task.started);
    history_set_time(task.run, "ended", task.ended);
    json_object_foreach(json_object_get(task.run, "metrics"), name, setting)
        if (json_is_number(setting) && json_number_value(setting) == 0)
            history_set_text(s->history, "caution",
                             "a value of 0 may have been nan or infinite, which clearml stores as 0: look at such a curve");
    return good;
}

/* ---- DVC ---- */

/* Settings and metrics are in files, whose names are left out. The work tree is none of the runs, nor is a commit without metrics. */
static void add_experiment(json_t *history, json_t *experiment)
{
    const char *rev = cli_json_string(experiment, "rev"), *name = cli_json_string(experiment, "name"), *file;
    json_t *data = json_object_get(experiment, "data"), *part;
    const char *started = cli_json_string(data, "timestamp");
    const bool failed = json_is_object(json_object_get(experiment, "error"));
    if (!rev || !data || strcmp(rev, "workspace") == 0)
        return;
    json_t *run = history_add_run(history, rev);
    history_set_text(run, "name", name ? name : rev);
    history_set_time(run, "started", history_time(started ? started : "", true));
    if (failed)
        history_set_text(run, "state", "failed");
    json_object_foreach(json_object_get(data, "params"), file, part)
        history_add_param(run, "", json_incref(json_object_get(part, "data")));
    json_object_foreach(json_object_get(data, "metrics"), file, part)
        history_add_metrics(run, "", json_object_get(part, "data"), false);
    if (failed || json_object_size(json_object_get(run, "metrics")))
        return;
    history_leave_out(history, "commits without metrics");
    json_array_remove(json_object_get(history, "runs"), json_array_size(json_object_get(history, "runs")) - 1);
}

/* A commit has experiments; an experiment has its newest revision first, and behind it the checkpoints before. */
static bool take_dvc(void *context, json_t *value)
{
    size_t i;
    json_t *inner;
    if (json_is_object(value))
        add_experiment(context, value);
    json_array_foreach(value, i, inner)
        take_dvc(context, inner);
    json_array_foreach(json_object_get(value, "experiments"), i, inner)
        take_dvc(context, json_array_get(json_object_get(inner, "revs"), 0));
    return true;
}

json_t *read_dvc(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    json_t *history = history_without_ends("dvc"); /* but for those that failed in its queue */
    (void)options;
    bool good = history_each_value(path, take_dvc, history, why);
    if (good && !json_array_size(json_object_get(history, "runs")))
        good = history_fail(why, "%.300s has no experiment with metrics", path);
    return history_done(history, NULL, NULL, good);
}
