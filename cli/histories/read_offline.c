/*
 * read_offline.c: what trackers keep when their server is not reached: Comet's archive after unzip (experiment.json, messages.json) and
 * Neptune's .neptune/offline/RUN (metadata.json, data-N.log). Neither records how a run ended: what is there was ended by its library.
 */
#include <strings.h>

#include "histories/readers.h"

/* A value without a step is the next one of its curve. */
static void add_value(json_t *run, json_t *counts, const char *name, const json_t *step, double value)
{
    const json_int_t n = json_integer_value(json_object_get(counts, name));
    json_object_set_new(counts, name, json_integer(n + 1));
    history_add_point(run, name, json_is_integer(step) ? json_integer_value(step) : n, value);
}

struct offline {
    json_t *run, *counts; /* counts: of the values of each metric */
};

/* What the library adds itself are the machine (`sys.`), the duration and the step (a parameter that is not logged by hand). */
static bool take_message(void *context, json_t *message)
{
    struct offline *o = context;
    const json_t *payload = json_object_get(message, "payload"), *metric = json_object_get(payload, "metric"),
                 *one = json_object_get(payload, "param"),
                 *param = one ? one : json_object_get(payload, "params"); /* of a list */
    const char *name = cli_json_string(metric, "metricName"), *part = cli_json_string(payload, "context"),
               *key = cli_json_string(payload, "key");
    const char *source = cli_json_string(param, "source"), *setting = cli_json_string(param, "paramName");
    double value;
    char full[256];
    if (name && strncmp(name, "sys.", 4) != 0 && strcmp(name, "process duration") != 0 &&
        history_number(&value, json_object_get(metric, "metricValue"))) {
        snprintf(full, sizeof full, "%.100s%s%.150s", part ? part : "", part ? "_" : "", name);
        add_value(o->run, o->counts, full, json_object_get(metric, "step"), value);
    } else if (setting && !(source && strcmp(source, "auto-logged") == 0)) {
        history_add_param(o->run, setting, json_incref(json_object_get(param, "paramValue")));
    } else if (key && strcmp(key, "Name") == 0) {
        history_set_text(o->run, "name", cli_json_string(payload, cli_json_string(payload, "val") ? "val" : "value"));
    }
    return true;
}

bool take_comet(struct run_file *file, json_t *experiment)
{
    char path[PATH_MAX];
    const char *id = cli_json_string(experiment, "offline_id");
    struct offline o = {.run = history_add_run(file->history, id ? id : file->folder), .counts = json_object()};
    const json_t *started = json_object_get(experiment, "start_time"), *ended = json_object_get(experiment, "stop_time");
    history_set_time(o.run, "started", json_is_number(started) ? json_number_value(started) / 1000 : (double)NAN);
    history_set_time(o.run, "ended", json_is_number(ended) ? json_number_value(ended) / 1000 : (double)NAN);
    snprintf(path, sizeof path, "%.*smessages.json", file->length, file->path);
    const bool good = history_each_value(path, take_message, &o, file->why);
    json_decref(o.counts);
    return good;
}

/* Writes the parts of a path from the first on, joined by '/'. */
static void join(char out[256], const json_t *path, size_t first)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = first; i < json_array_size(path) && n < 255; i++) {
        const char *part = json_string_value(json_array_get(path, i));
        n += (size_t)snprintf(out + n, 256 - n, "%s%.100s", i > first ? "/" : "", part ? part : "");
    }
}

/* A number is a setting in the usual places of settings, and else a metric with one value; a text is a setting. */
static bool take_operation(void *context, json_t *line)
{
    static const char *const settings[] = {"parameters",   "params", "hyperparameters", "hparams", "config",
                                           "model_params", "args"};
    struct offline *o = context;
    const json_t *obj = json_object_get(line, "obj"), *path = json_object_get(obj, "path"), *item;
    json_t *value = json_object_get(obj, "value");
    const char *type = cli_json_string(obj, "type"), *first = json_string_value(json_array_get(path, 0)),
               *second = json_string_value(json_array_get(path, 1));
    size_t i, place = 0, n = sizeof settings / sizeof *settings;
    double number;
    char name[256];
    const double at = json_number_value(json_object_get(line, "at"));
    if (!json_object_get(o->run, "started"))
        history_set_time(o->run, "started", at);
    history_set_time(o->run, "ended", at);
    if (!type || !first || strcmp(first, "monitoring") == 0 || strcmp(first, "source_code") == 0)
        return true;
    if (strcmp(first, "sys") == 0) {
        if (second && strcmp(second, "name") == 0 && json_is_string(value) && strcmp(json_string_value(value), "Untitled") != 0)
            history_set_text(o->run, "name", json_string_value(value));
        else if (second && strcmp(second, "failed") == 0 && json_is_true(value))
            history_set_text(o->run, "state", "failed");
        return true;
    }
    while (place < n && strcasecmp(first, settings[place]) != 0)
        place++;
    join(name, path, place < n ? 1 : 0);
    if (strcmp(type, "LogFloats") == 0) {
        json_array_foreach(json_object_get(obj, "values"), i, item)
            if (history_number(&number, json_object_get(item, "value")))
                add_value(o->run, o->counts, name, json_object_get(item, "step"), number);
    } else if (strncmp(type, "Assign", 6) == 0 && *name) {
        if (place == n && !json_is_string(value) && history_number(&number, value))
            history_set_metric(o->run, name, number);
        else
            history_add_param(o->run, name, json_incref(value));
    }
    return true;
}

/* The number of the data file that follows the one with number `first` in the folder; -1: none. The order of names is another one. */
static long next_file(const char *folder, long first, char why[HISTORY_WHY_MAX])
{
    long next = -1;
    FTS *tree = history_tree(folder, why);
    for (FTSENT *entry; (entry = history_entry(tree, INT_MAX));) {
        const long number = strncmp(entry->fts_name, "data-", 5) == 0 ? strtol(entry->fts_name + 5, NULL, 10) : -1;
        next = number > first && (next < 0 || number < next) ? number : next;
    }
    history_leave(tree);
    return next;
}

/* The operations of a run are in files that are numbered by their first one. */
bool take_neptune(struct run_file *file, json_t *metadata)
{
    const char *id = cli_json_string(metadata, "containerId");
    char folder[PATH_MAX], data[PATH_MAX + 32];
    struct offline o = {.run = history_add_run(file->history, id ? id : file->folder), .counts = json_object()};
    bool good = true;
    snprintf(folder, sizeof folder, "%.*s", file->length - 1, file->path);
    history_set_text(file->history, "caution",
                     "neptune does not store values that are nan or infinite: a run that ended with one has the value before it");
    for (long n = -1; good && (n = next_file(folder, n, file->why)) >= 0;) {
        snprintf(data, sizeof data, "%s/data-%ld.log", folder, n);
        good = history_each_value(data, take_operation, &o, file->why);
    }
    json_decref(o.counts);
    return good;
}
