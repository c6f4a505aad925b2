/*
 * append_batch.c: statistics of one training batch, computed by the training core. The dump is a JSON object:
 * token_level_rewards, response_mask, turn_id [B][T], group_index [B], gamma, alpha, beta (clip_beta), and
 * optionally epsilon and norm_adv_by_std; or a case of `lineage core a2tgpo_advantage` that holds them as inputs.
 */
#include <stdlib.h>

#include <rlcore/a2tgpo.h>

#include "commands/append_request.h"
#include "core/core_real.h"

struct batch_dump {
    struct core_call call;
    struct rl_batch batch;
    struct rl_a2tgpo_options options;
    const double *rewards;
};

/* The first of two spellings that is there. */
static const char *spelling(const struct core_call *call, const char *name, const char *other)
{
    return core_present(call, name) || !core_present(call, other) ? name : other;
}

static void read_arrays(struct batch_dump *dump)
{
    struct core_call *call = &dump->call;
    struct core_dim b = {0}, t = {0};
    dump->batch.mask = core_mask(call, "response_mask", &b, &t);
    dump->batch.turn = core_ids(call, spelling(call, "turn_id", "turn_ids"), &b, &t);
    dump->batch.group = core_integers(call, spelling(call, "group_index", "prompt_groups"), &b);
    dump->rewards = core_reals(call, "token_level_rewards", &b, &t);
    dump->batch.n_rows = b.n;
    dump->batch.n_tokens = t.n;
}

static void read_dump(struct batch_dump *dump)
{
    struct core_call *call = &dump->call;
    rl_a2tgpo_options_init(&dump->options);
    dump->options.mode = RL_A2TGPO_TURN_GROUP_V1D;
    dump->options.gamma = core_number(call, "gamma");
    dump->options.alpha = core_number(call, "alpha");
    dump->options.clip_beta = core_number(call, spelling(call, "clip_beta", "beta"));
    dump->options.epsilon = core_number_or(call, "epsilon", dump->options.epsilon);
    dump->options.norm_adv_by_std = core_bool_or(call, "norm_adv_by_std", dump->options.norm_adv_by_std);
    read_arrays(dump);
}

static bool take_clip_scale(struct append_request *request, struct batch_dump *dump)
{
    struct core_call *call = &dump->call;
    struct rl_a2tgpo_stats stats;
    enum rl_status status;
    double *advantages = core_alloc(call, dump->batch.n_rows * dump->batch.n_tokens, sizeof *advantages);
    double *clip_scale = core_alloc(call, dump->batch.n_rows * dump->batch.n_tokens, sizeof *clip_scale);
    if (call->failed)
        return false;
    do
        status = rl_a2tgpo_advantage(&dump->batch, &dump->options, dump->rewards, advantages, clip_scale, &stats,
                                     &call->ws, &call->err);
    while (core_again(call, status));
    request->trial.ig_clip_scale_mean = (struct lineage_number){true, stats.ig_clip_scale_mean};
    request->trial.ig_clip_scale_std = (struct lineage_number){true, stats.ig_clip_scale_std};
    return !call->failed;
}

static bool take_turns(struct append_request *request, struct batch_dump *dump)
{
    struct core_call *call = &dump->call;
    struct rl_turn_stat stats[APPEND_MAX_TURNS];
    size_t n = 0;
    size_t *start = core_alloc(call, dump->batch.n_rows + 1, sizeof *start);
    if (!start || core_again(call, rl_turn_starts(&dump->batch, start, &call->err)) || call->failed)
        return false;
    struct rl_turns turns = {dump->batch.n_rows, start, dump->batch.group};
    double *values = core_alloc(call, start[dump->batch.n_rows], sizeof *values);
    if (!values ||
        core_again(call, rl_turn_rewards(&dump->batch, start, dump->rewards, values, NULL, &call->err)) ||
        call->failed ||
        core_again(call, rl_turn_statistics(&turns, values, stats, APPEND_MAX_TURNS, &n, &call->err)) || call->failed)
        return false;
    for (size_t i = 0; i < n && i < APPEND_MAX_TURNS; i++)
        request->turns[i] = (struct lineage_turn_stat){(uint32_t)i, stats[i].mean, stats[i].std, stats[i].count};
    request->trial.turns = request->turns;
    request->trial.n_turns = n < APPEND_MAX_TURNS ? n : APPEND_MAX_TURNS;
    return true;
}

/* The same per turn index in the telemetry, beside what --telemetry or the JSON says. */
static bool add_telemetry(struct append_request *request)
{
    json_t *root = request->telemetry ? json_loads(request->telemetry, 0, NULL) : json_object();
    json_t *turns = json_array();
    for (size_t i = 0; i < request->trial.n_turns; i++)
        json_array_append_new(turns, json_pack("{s:i, s:f, s:f, s:I}", "turn", (int)request->turns[i].turn, "mean",
                                               request->turns[i].mean, "std", request->turns[i].std, "n",
                                               (json_int_t)request->turns[i].count));
    bool ok = json_is_object(root) && json_object_set_new(root, "info_gain", turns) == 0 &&
              append_set_telemetry(request, root);
    if (!ok)
        cli_error(CLI_USAGE, "append: telemetry is not a JSON object");
    json_decref(root);
    return ok;
}

static bool take_params(struct append_request *request, const struct rl_a2tgpo_options *options)
{
    return append_set_param(request, "alpha", options->alpha) &&
           append_set_param(request, "beta", options->clip_beta) && append_set_param(request, "gamma", options->gamma);
}

static bool take_batch(struct append_request *request, const char *path)
{
    struct batch_dump dump = {0};
    json_t *root = cli_json_load(path);
    const json_t *inputs = json_object_get(root, "inputs");
    if (!root)
        return false;
    core_call_init(&dump.call, json_is_object(inputs) ? inputs : root);
    read_dump(&dump);
    bool ok = !dump.call.failed && take_clip_scale(request, &dump) && take_turns(request, &dump) &&
              take_params(request, &dump.options) && add_telemetry(request);
    if (dump.call.failed)
        cli_error(CLI_USAGE, "append: %s: %s", path, dump.call.err.text);
    core_call_release(&dump.call);
    json_decref(root);
    return ok;
}

append_batch_fn *const append_take_batch = take_batch;
