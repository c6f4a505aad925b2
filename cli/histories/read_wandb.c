/*
 * read_wandb.c: JSON of Weights & Biases: answers of its GraphQL API, and what programs write from its Python API: a list of runs,
 * an object with such a list, or one run a line.
 *
 * A config is an object or, in answers of the API, the text of one, with {"value": .., "desc": ..} for each setting. Names that
 * begin with an underscore are those of W&B itself; of them only _runtime is read. A `history` of a run is a list of objects, or
 * of their texts, with _step.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "histories/readers.h"

enum { FILE_BYTES = 1 << 30, DEPTH = 12 };

/* Returns the first of the members that the run has; the API and the Python library name them differently. */
static const json_t *member_of(const json_t *run, const char *const *names)
{
    const json_t *value = NULL;
    for (; *names && !value; names++)
        value = json_object_get(run, *names);
    return json_is_null(value) ? NULL : value;
}

static const char *text_of(const json_t *run, const char *const *names)
{
    return json_string_value(member_of(run, names));
}

/* Returns the object or list, a new reference, that is a member of the run or the text of one. */
static json_t *structure_of(const json_t *run, const char *const *names)
{
    const json_t *value = member_of(run, names);
    return json_is_string(value) ? json_loadb(json_string_value(value), json_string_length(value), 0, NULL) : json_incref((json_t *)(uintptr_t)value);
}

static const char *state_of(const char *state)
{
    static const char *const states[][2] = {{"finished", "finished"}, {"failed", "failed"}, {"crashed", "failed"}, {"killed", "killed"},
                                            {"preempted", "killed"}};
    for (size_t i = 0; state && i < sizeof states / sizeof *states; i++)
        if (strcmp(state, states[i][0]) == 0)
            return states[i][1];
    return state ? "running" : "finished";
}

static void add_config(json_t *run, json_t *config)
{
    const char *name;
    json_t *value;
    json_object_foreach(config, name, value) {
        json_t *wrapped = json_is_object(value) && json_object_get(value, "value") && json_object_size(value) <= 2
                              ? json_object_get(value, "value") : value;
        if (name[0] != '_')
            history_add_param(run, name, json_incref(wrapped));
    }
}

static void add_summary(json_t *run, const char *prefix, json_t *summary, int depth)
{
    const char *name;
    json_t *value;
    json_object_foreach(summary, name, value) {
        char path[256];
        snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", name);
        if (name[0] == '_')
            continue;
        if (json_is_number(value))
            history_set_metric(run, path, json_number_value(value));
        else if (json_is_object(value) && depth < DEPTH && !json_object_get(value, "_type")) /* pictures and tables have one */
            add_summary(run, path, value, depth + 1);
    }
}

static void add_step(json_t *run, json_t *step, size_t i)
{
    const json_t *number = json_object_get(step, "_step");
    const char *name;
    json_t *value;
    json_object_foreach(step, name, value)
        if (name[0] != '_' && json_is_number(value))
            history_add_point(run, name, json_is_integer(number) ? json_integer_value(number) : (json_int_t)i, json_number_value(value));
}

static void add_history(json_t *run, json_t *history)
{
    size_t i;
    json_t *step;
    json_array_foreach(history, i, step) {
        json_t *read = json_is_string(step) ? json_loads(json_string_value(step), 0, NULL) : json_incref(step);
        add_step(run, read, i);
        json_decref(read);
    }
}

static const char *const ids[] = {"id", "_id", "run_id", "name", NULL}, *const names[] = {"displayName", "display_name", "name", NULL},
                         *const states[] = {"state", NULL}, *const notes[] = {"notes", "description", NULL},
                         *const begins[] = {"createdAt", "created_at", NULL}, *const ends[] = {"heartbeatAt", "heartbeat_at", "updatedAt", NULL},
                         *const configs[] = {"config", NULL}, *const summaries[] = {"summaryMetrics", "summary_metrics", "summary", NULL},
                         *const histories[] = {"history", "sampledHistory", NULL};

/* In answers of the API `id` is a long text in base 64, and `name` the short text in addresses. */
static const char *key_of(const json_t *run)
{
    const char *name = json_string_value(json_object_get(run, "name")), *display = json_string_value(json_object_get(run, "displayName"));
    const char *key = name && display ? name : text_of(run, ids);
    return key ? key : "";
}

static void add_run(json_t *history, const json_t *from)
{
    json_t *run = history_add_run(history, key_of(from));
    json_t *config = structure_of(from, configs), *summary = structure_of(from, summaries), *steps = structure_of(from, histories);
    const json_t *runtime = json_object_get(summary, "_runtime");
    const double started = history_time(text_of(from, begins), false);
    history_set_text(run, "name", text_of(from, names));
    history_set_text(run, "notes", text_of(from, notes));
    history_set_text(run, "state", state_of(text_of(from, states)));
    history_set_time(run, "started", started);
    history_set_time(run, "ended", json_is_number(runtime) ? started + json_number_value(runtime) : history_time(text_of(from, ends), false));
    add_config(run, config);
    add_history(run, steps);
    add_summary(run, "", summary, 0);
    json_decref(config);
    json_decref(summary);
    json_decref(steps);
}

static bool is_run(const json_t *value)
{
    return json_is_object(value) && (member_of(value, configs) || member_of(value, summaries)) && *key_of(value);
}

/* Adds every run in the value, however deep an answer of the API has it. */
static void add_runs(json_t *history, const json_t *value, int depth)
{
    const char *name;
    json_t *inner;
    size_t i;
    if (is_run(value)) {
        add_run(history, value);
    } else if (json_is_array(value) && depth < DEPTH) {
        json_array_foreach(value, i, inner)
            add_runs(history, inner, depth + 1);
    } else if (json_is_object(value) && depth < DEPTH) {
        json_object_foreach((json_t *)(uintptr_t)value, name, inner)
            add_runs(history, inner, depth + 1);
    }
}

json_t *read_wandb(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    size_t length, at = 0, line = 1;
    json_error_t error = {.line = 0};
    char *text = history_file_text(path, FILE_BYTES, &length, why);
    json_t *history = text ? history_new("wandb") : NULL;
    (void)options;
    while (text && history && at + strspn(text + at, " \t\r\n") < length) {
        json_t *value = json_loadb(text + at, length - at, JSON_DISABLE_EOF_CHECK, &error);
        if (!value) {
            history_fail(why, "%.300s:%zu: %.150s", path, line + (size_t)(error.line > 0 ? error.line - 1 : 0), error.text);
            json_decref(history);
            history = NULL;
            break;
        }
        add_runs(history, value, 0);
        json_decref(value);
        for (size_t end = at + (size_t)error.position; at < end; at++)
            line += text[at] == '\n';
    }
    free(text);
    if (history && !json_array_size(json_object_get(history, "runs"))) {
        history_fail(why, "%.300s has no run: an object with an id or a name, and a config or a summary", path);
        json_decref(history);
        history = NULL;
    }
    return history;
}
