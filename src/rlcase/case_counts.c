/* case_counts.c: `lineage core` for the kernels of plans, counts, schedules and texts, which have one precision. */
#include <rlcore/adca.h>
#include <rlcore/correction_plan.h>
#include <rlcore/envelope.h>
#include <rlcore/length.h>
#include <rlcore/offpolicy.h>
#include <rlcore/passk.h>
#include <rlcore/process.h>
#include <rlcore/routing.h>

#include "case_call.h"
#include "case_options.h"
#include "case_real.h"

/* ---- `lineage core prm_schedule`. */

static void put_booleans(struct case_call *call, const char *name, const bool *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_boolean(values[i]));
    case_put(call, name, list);
}

void case_adca_skip_rows(struct case_call *call)
{
    static const char *const names[] = {"none", "skip_small_adv", "skip_all_neg", NULL};
    struct case_dim b = {0};
    int kind = case_choice(call, "skip_type", names);
    const double *outcomes = case_numbers(call, "outcomes", &b), *overall = NULL;
    if (kind == RL_ADCA_SKIP_SMALL_ADV)
        overall = case_numbers(call, "overall_advantages", &b);
    bool *skipped = case_alloc(call, b.n, sizeof *skipped), *good = case_alloc(call, b.n, sizeof *good);
    uint8_t *flag = case_alloc(call, b.n, sizeof *flag);
    if (call->failed)
        return;
    CASE_RUN(call, rl_adca_skip_rows((enum rl_adca_skip)kind, b.n, overall, outcomes, skipped, flag, &call->err));
    if (call->failed)
        return;
    for (size_t i = 0; i < b.n; i++)
        good[i] = flag[i] == 1;
    put_booleans(call, "skipped", skipped, b.n);
    put_booleans(call, "flag", good, b.n);
}

/* Writes null instead of 0 if the attribution does not apply, because 0 is a possible alpha. */
static void put_applied(struct case_call *call, bool applied, double alpha)
{
    double scale = case_number_or(call, "neg_unconsistent_scale", 0.2);
    case_put(call, "applied", json_boolean(applied));
    case_put(call, "alpha_t", applied ? json_real(alpha) : json_null());
    case_put(call, "neg_unconsistent_scale", applied ? json_real(fabs(scale)) : json_null());
}

/*
 * Stores the rates of the flags by outcome. The outcome of a trajectory is the sum over its tokens,
 * wherever the reward is.
 */
/* Outcomes are sums of what the caller gives, so a message names that. */
static void sum_rewards(struct case_call *call, const double *rewards, size_t rows, size_t tokens, double *outcomes)
{
    for (size_t i = 0; i < rows * tokens && !call->failed; i++) {
        outcomes[i / tokens] += rewards[i];
        if (!isfinite(rewards[i]))
            case_fail(call, "inputs.token_level_rewards[%zu][%zu] is %g, not a finite number", i / tokens, i % tokens,
                      rewards[i]);
        else if (!isfinite(outcomes[i / tokens]))
            case_fail(call, "inputs.token_level_rewards[%zu]: their sum overflows", i / tokens);
    }
}

static void put_rates(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_adca_flag_rates r;
    const size_t *start;
    const double *rewards = case_reals(call, "token_level_rewards", &b, &t);
    const uint8_t *flags = case_ragged_flags(call, &b, &start);
    double *outcomes = case_alloc(call, b.n, sizeof *outcomes);
    if (call->failed)
        return;
    sum_rewards(call, rewards, b.n, t.n, outcomes);
    if (call->failed)
        return;
    CASE_RUN(call, rl_adca_count_flags(b.n, outcomes, flags, start, &r, &call->err));
    if (call->failed)
        return;
    const struct case_metric metrics[] = {
        {"prm/pos_traj_bad_rate", r.pos_bad}, {"prm/pos_traj_good_rate", r.pos_good}, {"prm/neg_traj_good_rate", r.neg_good},
        {"prm/neg_traj_bad_rate", r.neg_bad}, {"prm/good_steps_total", r.good_total}, {"prm/bad_steps_total", r.bad_total},
    };
    case_put_metric_list(call, metrics, sizeof metrics / sizeof *metrics);
}

/* Without alpha_progress the progress is NaN, and the schedule counts steps. */
void case_adca_schedule(struct case_call *call)
{
    const struct rl_adca_schedule schedule = {
        .enable = case_bool(call, "enable"),
        .global_step = case_integer(call, "global_step"),
        .prm_steps = case_integer(call, "prm_steps"),
        .alpha = case_number(call, "alpha"),
        .cosine_decay = case_bool_or(call, "alpha_cosine_decay_enable", false),
        .alpha_min = case_number_or(call, "alpha_min", 0),
        .progress = case_number_or(call, "alpha_progress", NAN),
        .total_steps = case_integer_or(call, "total_steps", 0),
    };
    if (!case_input(call, "alpha_cosine_decay_enable")) {
        case_unused(call, "alpha_min");
        case_unused(call, "alpha_progress");
        case_unused(call, "total_steps");
    }
    bool metrics = case_bool_or(call, "enable_adca_metric", false) || schedule.enable, applied;
    double alpha;
    CASE_RUN(call, rl_adca_schedule_at(&schedule, &applied, &alpha, &call->err));
    if (call->failed)
        return;
    put_applied(call, applied, alpha);
    if (metrics)
        put_rates(call);
    else
        case_put_metric_list(call, NULL, 0);
}

/* ---- `lineage core correction_tree`. */

/* A case contains several questions, so that it can show both sides of the limit. */
void case_staleness_admission(struct case_call *call)
{
    struct case_dim n = {0};
    int64_t *generated = case_integers(call, "generated", &n), *batch_size = case_integers(call, "batch_size", &n);
    int64_t *version = case_integers(call, "policy_version", &n), *staleness = case_integers(call, "max_staleness", &n);
    json_t *list = json_array();
    for (size_t i = 0; !call->failed && i < n.n; i++) {
        bool admit;
        CASE_RUN(call, rl_staleness_admit(generated[i], batch_size[i], version[i], staleness[i], &admit, &call->err));
        if (!call->failed)
            json_array_append_new(list, json_boolean(admit));
    }
    case_put(call, "admit", list);
}

/*
 * Cases are read by people, so settings are words instead of booleans: "asynchronous" is clearer
 * than true.
 */
static struct rl_setting read_setting(struct case_call *call)
{
    static const char *const engines[] = {"same", "different", NULL};
    static const char *const synchronies[] = {"synchronous", "asynchronous", NULL};
    static const char *const models[] = {"dense", "moe", NULL};
    static const char *const trajectories[] = {"single", "agentic", NULL};
    static const char *const ratios[] = {"token", "sequence", NULL};
    return (struct rl_setting){.other_engine = case_choice(call, "engine", engines) == 1,
                               .asynchronous = case_choice(call, "synchrony", synchronies) == 1,
                               .mixture = case_choice(call, "model", models) == 1,
                               .agentic = case_choice(call, "trajectory", trajectories) == 1,
                               .sequence_ratios =
                                   case_present(call, "ratio_level") && case_choice(call, "ratio_level", ratios) == 1,
                               .epochs = case_number_or(call, "epochs", 1),
                               .global_batch = case_number(call, "global_batch"),
                               .mini_batch = case_number(call, "mini_batch")};
}

/*
 * Every correction has a reason, including corrections that are not needed, because "why not?" is
 * asked as often.
 */
static void put_plan(struct case_call *call, const struct rl_correction_plan *plan)
{
    json_t *needed = json_array(), *reasons = json_object();
    for (int i = 0; i < RL_CORRECTIONS; i++) {
        const char *name = rl_correction_name((enum rl_correction)i);
        if (plan->advice[i].needed)
            json_array_append_new(needed, json_string(name));
        json_object_set_new(reasons, name, json_string(plan->advice[i].reason));
    }
    case_put(call, "needed", needed);
    case_put(call, "reasons", reasons);
    case_put_number(call, "off_policiness", plan->off_policiness);
    case_put(call, "replay", json_string(rl_replay_name(plan->replay)));
    const double caps[] = {plan->cap_low, plan->cap_high, plan->cap_loose};
    case_put_numbers(call, "usual_caps", caps, 3);
}

void case_correction_plan(struct case_call *call)
{
    struct rl_setting setting = read_setting(call);
    struct rl_correction_plan plan;
    if (!(setting.epochs >= 1) || floor(setting.epochs) != setting.epochs)
        case_fail(call, "inputs.epochs is %g, not a whole number from 1 on", setting.epochs);
    CASE_RUN(call, rl_correction_plan(&setting, &plan, &call->err));
    if (!call->failed)
        put_plan(call, &plan);
}

/* ---- `lineage core envelope`. */

/* Defaults follow from the size of the model; a case replaces the numbers that it knows better. */
static struct rl_envelope_run read_run(struct case_call *call)
{
    static const char *const trainings[] = {"none", "lora", "all", NULL};
    struct rl_envelope_run run;
    double parameters = case_number(call, "parameters");
    int training = case_present(call, "training") ? case_choice(call, "training", trainings) : RL_TRAIN_LORA;
    if (training == RL_TRAIN_ALL)
        rl_envelope_small(&run, parameters, 0);
    else
        rl_envelope_lora(&run, parameters);
    run.training = (enum rl_training)training;
    const struct {
        const char *name;
        double *value;
    } fields[] = {{"bytes_per_parameter", &run.bytes_per_parameter},
                  {"lora_factor", &run.lora_factor},
                  {"optimizer_states", &run.optimizer_states},
                  {"optimizer_bytes", &run.optimizer_bytes},
                  {"activation_bytes", &run.activation_bytes},
                  {"n_layers", &run.n_layers},
                  {"kv_width", &run.kv_width},
                  {"kv_bytes", &run.kv_bytes},
                  {"context", &run.context},
                  {"sequences", &run.sequences},
                  {"gain_forward_bytes", &run.gain_forward_bytes},
                  {"retriever_bytes", &run.retriever_bytes}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *fields[i].value = case_number_or(call, fields[i].name, *fields[i].value);
    return run;
}

/*
 * A measured cache replaces the computed one, because frameworks page and share memory that the
 * formula counts in full.
 */
void case_envelope(struct case_call *call)
{
    struct rl_envelope_run shape = read_run(call);
    double bytes[RL_ENVELOPE_PARTS] = {0}, capacity = case_number(call, "capacity_bytes");
    struct rl_envelope out;
    CASE_RUN(call, rl_envelope_measure(&shape, bytes, &call->err));
    bytes[RL_ENVELOPE_KV_CACHE] = case_number_or(call, "kv_cache_bytes", bytes[RL_ENVELOPE_KV_CACHE]);
    CASE_RUN(call, rl_envelope_judge(bytes, capacity, &out, &call->err));
    if (call->failed)
        return;
    json_t *parts = json_object();
    for (int i = 0; i < RL_ENVELOPE_PARTS; i++)
        json_object_set_new(parts, rl_envelope_part_name((enum rl_envelope_part)i), case_real_value(bytes[i]));
    case_put(call, "bytes", parts);
    case_put_number(call, "total_bytes", out.total);
    case_put(call, "fits", json_boolean(out.fits));
    case_put(call, "largest", json_string(rl_envelope_part_name(out.largest)));
    case_put(call, "message", json_string(out.text));
}

/* ---- `lineage core episode_starts`. */

void case_marginal_utility(struct case_call *call)
{
    struct case_dim n = {0};
    const double *values = case_numbers(call, "prefix_values", &n);
    double *utilities = case_alloc(call, n.n, sizeof *utilities);
    CASE_RUN(call, rl_marginal_utility(n.n, values, utilities, &call->err));
    case_put_numbers(call, "utilities", utilities, n.n - 1);
}

static const char *const *read_markers(struct case_call *call, size_t *n)
{
    const json_t *list = case_input(call, "markers");
    const char **markers = NULL;
    *n = json_array_size(list);
    if (!json_is_array(list))
        case_fail(call, "inputs.markers is not a list of texts");
    else
        markers = case_alloc(call, *n, sizeof *markers);
    for (size_t i = 0; markers && i < *n; i++) {
        markers[i] = json_string_value(json_array_get(list, i));
        if (!markers[i] || !*markers[i])
            case_fail(call, "inputs.markers[%zu] is not a text, or is empty", i);
    }
    return markers;
}

/* Offsets are checked here because the core reads the text up to the last of them. */
static size_t *read_offsets(struct case_call *call, size_t length, struct case_dim *n)
{
    const int64_t *given = case_integers(call, "token_offsets", n);
    size_t *token = given ? case_alloc(call, n->n, sizeof *token) : NULL;
    if (token && !n->n)
        case_fail(call, "inputs.token_offsets is empty; its last entry is the end of the text");
    for (size_t i = 0; token && !call->failed && i < n->n; i++) {
        if (given[i] < 0 || (uint64_t)given[i] > length || (i && given[i] < given[i - 1]))
            case_fail(call, "inputs.token_offsets[%zu] is %lld; offsets ascend from 0 to the %zu bytes of the text", i,
                      (long long)given[i], length);
        token[i] = (size_t)given[i];
    }
    if (token && !call->failed && token[n->n - 1] != length)
        case_fail(call, "inputs.token_offsets ends at %zu, not at the %zu bytes of the text", token[n->n - 1], length);
    return token;
}

void case_episode_starts(struct case_call *call)
{
    struct rl_episode_options options;
    struct case_dim n = {0};
    rl_episode_options_init(&options);
    const char *text = case_string(call, "text");
    size_t *token = read_offsets(call, text ? strlen(text) : 0, &n), n_episodes = 0;
    if (case_present(call, "markers"))
        options.markers = read_markers(call, &options.n_markers);
    int64_t most = case_integer_or(call, "max_tokens", (int64_t)options.max_tokens);
    if (most < 0)
        case_fail(call, "inputs.max_tokens is negative; 0 means no limit");
    options.max_tokens = (size_t)most;
    size_t *starts = case_alloc(call, n.n, sizeof *starts);
    if (call->failed)
        return;
    CASE_RUN(call, rl_episode_starts(text, n.n - 1, token, &options, starts, &n_episodes, &call->err));
    json_t *list = json_array();
    for (size_t i = 0; !call->failed && i < n_episodes; i++)
        json_array_append_new(list, json_integer((json_int_t)starts[i]));
    case_put(call, "episode_starts", list);
}

/* ---- `lineage core length_penalty` and `length_anchor`. */

/*
 * Reads anchor [n]. An entry of null means that the prompt has no anchor, and null in place of the
 * list that no prompt has one. The core uses NaN for it, which JSON does not have.
 */
static double *read_anchors(struct case_call *call, size_t n)
{
    const struct rl_case_array *given = case_array(call, "anchor");
    if (given)
        return case_array_as(call, given, RL_CASE_FLOAT64, 1, (struct case_dim *const[]){&(struct case_dim){n, true}});
    const json_t *list = case_input(call, "anchor");
    double *out = case_alloc(call, n, sizeof *out);
    if (case_present(call, "anchor") && (!json_is_array(list) || json_array_size(list) != n))
        case_fail(call, "inputs.anchor is not a list of %zu entries", n);
    for (size_t i = 0; !call->failed && i < n; i++) {
        const json_t *item = json_array_get(list, i);
        if (item && !json_is_null(item) && !json_is_number(item))
            case_fail(call, "inputs.anchor[%zu] is not a number or null", i);
        out[i] = json_is_number(item) ? json_number_value(item) : NAN;
    }
    return out;
}

/* Group and anchor are read only for the kind of penalty that uses them. */
void case_length_penalty(struct case_call *call)
{
    static const char *const kinds[] = {"uniform", "group", "anchor", "step", NULL};
    int kind = case_choice(call, "kind", kinds);
    double coef = case_number_or(call, "coef", rl_length_coef((enum rl_length_penalty)kind));
    struct case_dim n = {0};
    struct rl_length_input in = {.rewards = case_numbers(call, "rewards", &n), .lengths = case_numbers(call, "lengths", &n)};
    in.n = n.n;
    if (kind == RL_LENGTH_GROUP)
        in.group = case_integers(call, "group_index", &n);
    if (kind == RL_LENGTH_ANCHOR || kind == RL_LENGTH_STEP)
        in.anchor = read_anchors(call, n.n);
    double *out = case_alloc(call, n.n, sizeof *out);
    if (call->failed)
        return;
    CASE_RUN(call, rl_length_penalty((enum rl_length_penalty)kind, coef, &in, out, &call->ws, &call->err));
    case_put_numbers(call, "rewards", out, n.n);
}

/* A JSON list of anchors has null where a prompt has none, because JSON has no NaN. */
static void put_anchors(struct case_call *call, const double *anchor, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, isnan(anchor[i]) ? json_null() : case_real_value(anchor[i]));
    case_put(call, "anchor", list);
}

/* Updates the anchor of the prompt of row `first` from all its rows, and writes it to all of them. */
static void update_prompt(struct case_call *call, const int64_t *group, const struct rl_length_input *in, double *anchor,
                          double *rows, size_t first)
{
    size_t n = 0;
    double *lengths = rows + in->n, value = anchor[first];
    for (size_t i = first; !call->failed && i < in->n; i++) {
        if (group[i] != group[first])
            continue;
        if (anchor[i] != value && !(isnan(anchor[i]) && isnan(value)))
            case_fail(call, "inputs.anchor[%zu] differs from that of row %zu, which has the same prompt", i, first);
        rows[n] = in->rewards[i];
        lengths[n++] = in->lengths[i];
    }
    CASE_RUN(call, rl_length_anchor(n, rows, lengths, &value, &call->err));
    for (size_t i = first; i < in->n; i++)
        if (group[i] == group[first])
            anchor[i] = value;
}

void case_length_anchor(struct case_call *call)
{
    struct case_dim n = {0};
    struct rl_length_input in = {.rewards = case_numbers(call, "rewards", &n)};
    in.lengths = case_numbers(call, "lengths", &n);
    const int64_t *group =
        case_present(call, "group_index") ? case_integers(call, "group_index", &n) : case_alloc(call, n.n, sizeof *group);
    const double *given = call->failed ? NULL : read_anchors(call, n.n);
    double *anchor = case_alloc(call, n.n, sizeof *anchor), *rows = case_alloc(call, n.n, 2 * sizeof *rows);
    in.n = n.n;
    for (size_t i = 0; !call->failed && i < n.n; i++)
        anchor[i] = given[i];
    for (size_t i = 0; !call->failed && i < n.n; i++) {
        size_t first = 0;
        while (group[first] != group[i])
            first++;
        if (first == i)
            update_prompt(call, group, &in, anchor, rows, i);
    }
    if (!call->failed)
        put_anchors(call, anchor, n.n);
}

/* ---- `lineage core passk | passk_beta | passk_beta_fit | passk_more | passk_reward`. */

/*
 * Stores the result of each problem and their mean, because the mean alone would hide a problem
 * that an estimator gets wrong.
 */
void case_passk(struct case_call *call)
{
    static const char *const estimators[] = {"unbiased", "bernoulli", NULL};
    int estimator = case_choice(call, "estimator", estimators);
    struct case_dim p = {0}, n_k = {0};
    const int64_t *n = case_integers(call, "n", &p), *c = case_integers(call, "c", &p);
    const int64_t *k = case_integers(call, "k", &n_k);
    double *each = case_alloc(call, p.n * n_k.n, sizeof *each);
    double *mean = case_alloc(call, n_k.n, sizeof *mean);
    CASE_RUN(call, rl_passk((enum rl_passk)estimator, p.n, n, c, n_k.n, k, each, mean, &call->err));
    case_put_reals(call, "per_problem", each, p.n, n_k.n);
    case_put_numbers(call, "mean", mean, n_k.n);
}

/* Stores passk [K] at the requested k, for a Beta distribution that was either fitted or given. */
static void put_curve(struct case_call *call, double alpha, double beta)
{
    struct case_dim n_k = {0};
    const int64_t *k = case_integers(call, "k", &n_k);
    double *passk = case_alloc(call, n_k.n, sizeof *passk);
    CASE_RUN(call, rl_passk_beta(alpha, beta, n_k.n, k, passk, &call->err));
    case_put_numbers(call, "passk", passk, n_k.n);
}

void case_passk_beta(struct case_call *call)
{
    double alpha = case_number(call, "alpha"), beta = case_number(call, "beta");
    put_curve(call, alpha, beta);
}

void case_passk_beta_fit(struct case_call *call)
{
    struct case_dim p = {0};
    const int64_t *n = case_integers(call, "n", &p), *c = case_integers(call, "c", &p);
    struct rl_beta_fit fit;
    CASE_RUN(call, rl_passk_beta_fit(p.n, n, c, &fit, &call->err));
    if (call->failed)
        return;
    case_put_number(call, "alpha", fit.alpha);
    case_put_number(call, "beta", fit.beta);
    case_put_number(call, "log_likelihood", fit.log_likelihood);
    if (case_present(call, "k"))
        put_curve(call, fit.alpha, fit.beta);
}

/* A round is 1 by default, because what a problem still needs depends on its last answer. */
void case_passk_more(struct case_call *call)
{
    struct case_dim p = {0};
    const int64_t *n = case_integers(call, "n", &p), *c = case_integers(call, "c", &p);
    struct rl_passk_sampling sampling = {.enough = case_integer_or(call, "enough", 2),
                                         .budget = case_integer(call, "budget"),
                                         .round = case_integer_or(call, "round", 1)};
    int64_t *more = case_alloc(call, p.n, sizeof *more);
    json_t *list = json_array();
    CASE_RUN(call, rl_passk_more(&sampling, p.n, n, c, more, &call->err));
    for (size_t i = 0; !call->failed && i < p.n; i++)
        json_array_append_new(list, json_integer((json_int_t)more[i]));
    case_put(call, "more", list);
}

void case_passk_reward(struct case_call *call)
{
    struct case_dim n = {0};
    const double *rewards = case_numbers(call, "rewards", &n);
    int64_t k = case_integer(call, "k");
    double *out = case_alloc(call, n.n, sizeof *out);
    if (!call->failed && k < 1)
        case_fail(call, "inputs.k is %lld, below 1", (long long)k);
    CASE_RUN(call, rl_passk_reward(n.n, rewards, (size_t)k, out, &call->err));
    case_put_numbers(call, "rewards", out, n.n);
}

/* ---- `lineage core routing_replay` and `routes_carry`. */

static void put_replay(struct case_call *call)
{
    enum rl_replay replay;
    double n, global = case_number(call, "global_batch"), mini = case_number(call, "mini_batch");
    CASE_RUN(call, rl_replay_choose(global, mini, &replay, &n, &call->err));
    if (call->failed)
        return;
    case_put_number(call, "off_policiness", n);
    case_put(call, "replay", json_string(rl_replay_name(replay)));
}

static void compare(struct case_call *call, const struct rl_batch *batch, const struct rl_routes *a, const struct rl_routes *b)
{
    double *per_layer = case_alloc(call, a->n_layers, sizeof *per_layer);
    double *per_token = case_alloc(call, batch->n_rows * batch->n_tokens, sizeof *per_token);
    struct rl_route_agreement out = {0};
    CASE_RUN(call, rl_routes_compare(batch, a, b, per_layer, per_token, &out, &call->ws, &call->err));
    case_put_number(call, "agreement", out.share);
    case_put_number(call, "exact", out.exact);
    case_put_numbers(call, "agreement_per_layer", per_layer, a->n_layers);
    case_put_reals(call, "agreement_per_token", per_token, batch->n_rows, batch->n_tokens);
}

/* Chooses a replay only if the case has the inputs for it, and checks a replay likewise. */
void case_routing_replay(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    struct rl_routes sampler = case_routes(call, "sampler_routes", b.n, t.n);
    struct rl_routes used = case_routes(call, "used_routes", b.n, t.n);
    if (!call->failed)
        compare(call, &batch, &sampler, &used);
    if (case_present(call, "global_batch"))
        put_replay(call);
    if (!call->failed && case_bool_or(call, "check_replayed", false))
        CASE_RUN(call, rl_routes_replayed(&batch, &used, &sampler, &call->err));
}

/* The [L][E] experts of a carried token; -1: none. */
static json_t *carried_token(const uint16_t *experts, const struct rl_routes *shape)
{
    json_t *token = json_array();
    for (size_t l = 0; l < shape->n_layers; l++) {
        json_t *layer = json_array();
        for (size_t k = 0; k < shape->top_k; k++, experts++)
            json_array_append_new(layer, json_integer(*experts == RL_NO_EXPERT ? -1 : *experts));
        json_array_append_new(token, layer);
    }
    return token;
}

void case_routes_carry(struct case_call *call)
{
    struct case_dim b = {0}, t = {0}, n = {0};
    case_mask(call, "response_mask", &b, &t);
    const int64_t *given = case_integers(call, "source", &n);
    struct rl_routes routes = case_routes(call, "routes", b.n, t.n);
    size_t *source = case_alloc(call, n.n, sizeof *source), size = routes.n_layers * routes.top_k;
    uint16_t *out = case_alloc(call, n.n, size * sizeof *out);
    json_t *list = json_array();
    for (size_t i = 0; !call->failed && i < n.n; i++)
        source[i] = given[i] == -1 ? SIZE_MAX : (size_t)given[i];
    CASE_RUN(call, rl_routes_carry(&routes, b.n * t.n, source, n.n, out, &call->err));
    for (size_t i = 0; !call->failed && i < n.n; i++)
        json_array_append_new(list, carried_token(out + i * size, &routes));
    case_put(call, "routes", list);
}
