/*
 * append_batch.c: `append --batch`: statistics of one training batch, computed by the training core.
 *
 * The dump is a JSON object with token_level_rewards, response_mask, turn_id [B][T], group_index [B], gamma, alpha,
 * beta (or clip_beta), and optionally epsilon and norm_adv_by_std. A case of `lineage core a2tgpo_advantage`, which has
 * these members under `inputs`, works too.
 */

#include <rlcase/case.h>

#include "commands/append_request.h"

/* Renames the spellings that dumps of the first version used. If both spellings are given, the core's own name wins. */
static json_t *canonical(const json_t *inputs)
{
    static const char *const names[][2] = {{"turn_id", "turn_ids"}, {"group_index", "prompt_groups"}, {"clip_beta", "beta"}};
    json_t *out = json_copy((json_t *)(uintptr_t)inputs);
    for (size_t i = 0; out && i < sizeof names / sizeof *names; i++)
        if (!json_object_get(out, names[i][0]))
            json_object_set(out, names[i][0], json_object_get(out, names[i][1]));
    return out;
}

/* Checks that these settings are present: the core would replace missing ones by its defaults, and the row would
 * describe another run. */
static bool has_settings(const json_t *inputs, const char *path)
{
    static const char *const names[] = {"gamma", "alpha", "clip_beta"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!json_is_number(json_object_get(inputs, names[i])))
            return cli_refuse("append: %s: inputs.%s is %s", path, names[i],
                              json_object_get(inputs, names[i]) ? "not a number" : "missing");
    return true;
}

/* The members of a dump that a kernel takes; a dump may have others, and settings of another kernel. */
static json_t *inputs_of(const char *family, const json_t *dump)
{
    json_t *list = core_kernels(), *out = json_object(), *kernel, *input;
    size_t i, k;
    json_array_foreach(list, i, kernel)
        if (strcmp(cli_json_string(kernel, "family"), family) == 0)
            json_array_foreach(json_object_get(kernel, "inputs"), k, input) {
                const char *name = cli_json_string(input, "name");
                if (json_object_get(dump, name))
                    json_object_set(out, name, json_object_get(dump, name));
            }
    json_decref(list);
    return out;
}

/* Runs a kernel and returns its results. Prints a message and returns NULL on failure. */
static json_t *run_kernel(const char *family, const json_t *dump, const char *path)
{
    size_t length = 0;
    json_t *inputs = inputs_of(family, dump);
    char *values = cli_json_compact(inputs, &length);
    struct rl_case *done = NULL;
    struct rl_error err = {RL_EINVAL, "out of memory"};
    json_t *results = NULL;
    if (values && rl_case_run_json(&done, family, false, values, &err) == RL_OK)
        results = json_loads(rl_case_values(done), 0, NULL);
    if (!results)
        cli_error(CLI_USAGE, "append: %s: %s", path, err.text);
    rl_case_release(done);
    free(values);
    json_decref(inputs);
    return results;
}

static double number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static bool take_clip_scale(struct append_request *request, json_t *inputs, const char *path)
{
    /* This mode replaces the dump's, because clip scales of different rows can be compared only if all are computed in
     * the same way. */
    json_object_set_new(inputs, "info_gain_norm_mode", json_string("turn-group-v1d"));
    json_t *results = run_kernel("a2tgpo_advantage", inputs, path);
    request->trial.ig_clip_scale_mean = (struct lineage_number){true, number(results, "ig_clip_scale_mean")};
    request->trial.ig_clip_scale_std = (struct lineage_number){true, number(results, "ig_clip_scale_std")};
    json_decref(results);
    return results != NULL;
}

static bool take_turns(struct append_request *request, const json_t *inputs, const char *path)
{
    static const char *const names[] = {"mean", "std", "count"};
    json_t *results = run_kernel("turn_statistics", inputs, path);
    size_t n = json_array_size(json_object_get(results, "mean"));
    /* Turns that do not fit into a row are dropped; dumps with that many turns are rare. */
    n = n < APPEND_MAX_TURNS ? n : APPEND_MAX_TURNS;
    for (size_t i = 0; i < n; i++) {
        double values[3];
        for (int k = 0; k < 3; k++)
            values[k] = json_number_value(json_array_get(json_object_get(results, names[k]), i));
        request->turns[i] = (struct lineage_turn_stat){(uint32_t)i, values[0], values[1], (uint64_t)values[2]};
    }
    request->trial.turns = request->turns;
    request->trial.n_turns = n;
    json_decref(results);
    return results != NULL;
}

/* Adds the statistics of each turn to the telemetry that --telemetry or the JSON gave. */
static bool add_telemetry(struct append_request *request)
{
    json_t *root = request->telemetry ? json_loads(request->telemetry, 0, NULL) : json_object();
    json_t *turns = json_array();
    for (size_t i = 0; i < request->trial.n_turns; i++)
        json_array_append_new(turns, json_pack("{s:i, s:f, s:f, s:I}", "turn", (int)request->turns[i].turn, "mean",
                                               request->turns[i].mean, "std", request->turns[i].std, "n",
                                               (json_int_t)request->turns[i].count));
    bool ok = json_is_object(root) && json_object_set_new(root, "info_gain", turns) == 0 && append_set_telemetry(request, root);
    if (!ok)
        cli_error(CLI_USAGE, "append: telemetry is not a JSON object");
    json_decref(root);
    return ok;
}

/* The settings come from the dump, because settings typed by hand would sooner or later differ from the run's. */
static bool take_params(struct append_request *request, const json_t *inputs)
{
    return append_set_param(request, "alpha", number(inputs, "alpha")) &&
           append_set_param(request, "beta", number(inputs, "clip_beta")) &&
           append_set_param(request, "gamma", number(inputs, "gamma"));
}

static bool take_batch(struct append_request *request, const char *path)
{
    json_t *root = cli_json_load(path);
    const json_t *member = json_object_get(root, "inputs");
    if (!root)
        return false;
    json_t *inputs = canonical(json_is_object(member) ? member : root);
    bool ok = has_settings(inputs, path) && take_clip_scale(request, inputs, path) && take_turns(request, inputs, path) &&
              take_params(request, inputs) && add_telemetry(request);
    json_decref(inputs);
    json_decref(root);
    return ok;
}

/* This is a pointer, because append_without_core.c defines it as NULL for the program without the training core;
 * `append` then hands over to lineage-train. */
append_batch_fn *const append_take_batch = take_batch;
