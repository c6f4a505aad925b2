/*
 * tool_running.c: the tool `running`: the trials that run now, so that an agent neither plans one of them again nor waits
 * for one that was killed.
 */

#include "mcp/page.h"
#include "mcp/tools.h"
#include "support/running_trials.h"

/* METRICS: of one trial; further ones are left out. */
enum { METRICS = 8, PARAMS = 32, NAME = 160 };

static const struct mcp_argument arguments[] = {{"limit", MCP_COUNT, false, "default 20", 1, MCP_MAX_ROWS, NULL}, {.name = NULL}};

static void set_number(json_t *object, const char *name, double value, bool known)
{
    if (known && isfinite(value))
        json_object_set_new(object, name, cli_json_number(floor(value)));
}

static json_t *metrics_json(const struct running_trial *trial)
{
    json_t *metrics = json_object(), *value;
    const char *name;
    json_object_foreach(trial->metrics, name, value)
        if (json_object_size(metrics) < METRICS && strlen(name) < NAME)
            mcp_set_named(metrics, name, cli_json_number(json_number_value(value)));
    return metrics;
}

static json_t *params_json(const struct running_trial *trial)
{
    json_t *params = json_object(), *value;
    const char *name;
    json_object_foreach(trial->params, name, value)
        if (json_object_size(params) < PARAMS && strlen(name) < NAME && (json_is_number(value) || json_is_string(value)))
            mcp_set_named(params, name,
                          json_is_string(value) ? mcp_cell(json_string_value(value), NAME)
                                                : cli_json_number(json_number_value(value)));
    return params;
}

/* Members that are unknown are left out. */
static json_t *trial_json(const struct running_trial *t)
{
    json_t *object = json_pack("{s:o, s:o}", "name", mcp_cell(t->name, NAME), "phase", mcp_cell(t->phase, 60));
    json_t *metrics = metrics_json(t), *params = params_json(t);
    if (*t->job)
        json_object_set_new(object, "trial", mcp_cell(t->job, 80));
    set_number(object, "step", t->step, t->step > 0);
    set_number(object, "steps", t->steps, t->steps > 0);
    set_number(object, "running_s", t->elapsed, true);
    set_number(object, "left_s", t->left, true);
    if (json_object_size(metrics))
        json_object_set(object, "metrics", metrics);
    if (json_object_size(params))
        json_object_set(object, "params", params);
    if (*t->hypothesis)
        json_object_set_new(object, "hypothesis", mcp_cell(t->hypothesis, NAME));
    json_decref(params);
    json_decref(metrics);
    if (!t->claim)
        return object;
    cli_json_set(object, "worker", mcp_cell(t->claim->worker, 80), "night", mcp_cell(t->claim->night, 80), "attempt",
                 json_integer((json_int_t)t->claim->attempt), NULL);
    set_number(object, "lease_s", t->claim->left, true);
    return object;
}

static json_t *call_running(struct mcp_call *call)
{
    struct running_trials trials = {.n = 0};
    struct lineage_error err;
    size_t limit = mcp_count_argument(call, "limit", MCP_DEFAULT_ROWS);
    json_t *result = NULL, *list = json_array();
    if (running_trials_load(&trials, call->server->store, &err) == LINEAGE_OK) {
        for (size_t i = 0; i < trials.n && i < limit; i++)
            json_array_append_new(list, trial_json(&trials.list[i]));
        result = json_pack("{s:o, s:O}", "shown", mcp_shown(json_array_size(list), trials.n), "trials", list);
    } else {
        mcp_store_trouble(call, &err);
    }
    json_decref(list);
    running_trials_release(&trials);
    return result;
}

const struct mcp_tool mcp_tool_running = {
    .name = "running",
    .title = "What runs now",
    .description = "The running trials: parameters, step, latest metrics, seconds so far and left, worker. Phase `killed`: "
                   "nothing watches it any more.",
    .arguments = arguments,
    .output = "\"shown\":{\"type\":\"string\"},\"trials\":{\"type\":\"array\"}",
    .needed = "\"shown\",\"trials\"",
    .call = call_running,
};
