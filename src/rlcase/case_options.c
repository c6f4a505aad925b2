#include "case_options.h"

/* A flag of 0.5 is refused: read as GOOD it would silently change an advantage. */
uint8_t *case_ragged_flags(struct case_call *call, struct case_dim *b, const size_t **start)
{
    size_t *own = NULL;
    const double *flags = case_ragged(call, "step_flags", RL_CASE_FLOAT64, b, &own);
    *start = own;
    if (call->failed)
        return NULL;
    uint8_t *out = case_alloc(call, own[b->n], sizeof *out);
    for (size_t i = 0; out && i < own[b->n]; i++) {
        out[i] = flags[i] > 0;
        if (flags[i] != out[i])
            case_fail(call, "inputs.step_flags: flag %zu is not true or false", i);
    }
    return out;
}

/* Steals value, which is NULL for a number that JSON cannot represent. */
static void set_metric(struct case_call *call, json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) != 0)
        case_fail(call, "metric %s is not finite", name);
}

void case_put_metric_list(struct case_call *call, const struct case_metric *metrics, size_t n)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++)
        set_metric(call, object, metrics[i].name, case_real_value(metrics[i].value));
    case_put(call, "metrics", object);
}

struct rl_metrics case_metrics(struct case_call *call)
{
    struct rl_metric *items = case_alloc(call, RL_METRICS_ENOUGH, sizeof *items);
    return (struct rl_metrics){.items = items, .capacity = items ? RL_METRICS_ENOUGH : 0};
}

void case_add_metric(struct rl_metrics *metrics, const char *name, double value)
{
    if (metrics->n == metrics->capacity)
        return;
    struct rl_metric *item = &metrics->items[metrics->n++];
    snprintf(item->name, sizeof item->name, "%s", name);
    item->value = value;
}

void case_put_metrics(struct case_call *call, const struct rl_metrics *metrics)
{
    json_t *object = json_object();
    for (size_t i = 0; i < metrics->n && i < metrics->capacity; i++)
        set_metric(call, object, metrics->items[i].name, json_real(metrics->items[i].value));
    case_put(call, "metrics", object);
}

/* ---- The first token sets the shape, and every other token must agree with it. -1 means "no expert";
 * routers that may drop a token write -1.
 */

/* Element i of a list of n entries. */
static const json_t *entry(struct case_call *call, const char *name, const json_t *list, size_t i, size_t n)
{
    if (!json_is_array(list) || json_array_size(list) != n) {
        case_fail(call, "inputs.%s: a list is missing or does not have %zu entries", name, n);
        return NULL;
    }
    return json_array_get(list, i);
}

/* The type of an id is checked here; the core compares it with n_experts. */
static void read_place(struct case_call *call, const char *name, const json_t *place, const struct rl_routes *shape,
                       uint16_t *out)
{
    for (size_t k = 0; !call->failed && k < shape->top_k; k++) {
        const json_t *item = entry(call, name, place, k, shape->top_k);
        json_int_t id = json_integer_value(item);
        if (!json_is_integer(item) || id < -1 || id > RL_NO_EXPERT)
            case_fail(call, "inputs.%s has an element that is not an expert id", name);
        out[k] = id < 0 ? RL_NO_EXPERT : (uint16_t)id;
    }
}

static void read_token(struct case_call *call, const char *name, const json_t *token, const struct rl_routes *shape,
                       uint16_t *out)
{
    for (size_t l = 0; !call->failed && l < shape->n_layers; l++)
        read_place(call, name, entry(call, name, token, l, shape->n_layers), shape, out + l * shape->top_k);
}

/* Reads routes from memory, by the same rules as routes in JSON. */
static uint16_t *routes_of(struct case_call *call, const struct rl_case_array *array, size_t b, size_t t, struct rl_routes *shape)
{
    struct case_dim dims[] = {{b, true}, {t, true}, {0}, {0}};
    const int32_t *ids =
        case_array_as(call, array, RL_CASE_INT32, 4, (struct case_dim *const[]){&dims[0], &dims[1], &dims[2], &dims[3]});
    size_t n = b * t * dims[2].n * dims[3].n;
    uint16_t *experts = ids ? case_alloc(call, n, sizeof *experts) : NULL;
    shape->n_layers = dims[2].n;
    shape->top_k = dims[3].n;
    for (size_t i = 0; experts && i < n; i++) {
        if (ids[i] < -1 || ids[i] > RL_NO_EXPERT)
            case_fail(call, "inputs.%s has an element that is not an expert id", array->name);
        experts[i] = ids[i] < 0 ? RL_NO_EXPERT : (uint16_t)ids[i];
    }
    return experts;
}

/* n_experts cannot be derived from the routes, because the largest id may not have been chosen. */
struct rl_routes case_routes(struct case_call *call, const char *name, size_t b, size_t t)
{
    const json_t *rows = case_input(call, name);
    const json_t *first = json_array_get(json_array_get(rows, 0), 0);
    int64_t n_experts = case_integer(call, "n_experts");
    struct rl_routes r = {.n_layers = json_array_size(first),
                          .top_k = json_array_size(json_array_get(first, 0)),
                          .n_experts = n_experts > 0 ? (size_t)n_experts : 0};
    const struct rl_case_array *given = case_array(call, name);
    if (given) {
        r.experts = routes_of(call, given, b, t, &r);
        return r;
    }
    size_t size = r.n_layers * r.top_k;
    uint16_t *experts = case_alloc(call, b * t * size, sizeof *experts);
    if (!json_is_array(rows) || json_array_size(rows) != b) /* also without rows, where no entry is looked at */
        case_fail(call, "inputs.%s is not a list of %zu rows", name, b);
    for (size_t i = 0; !call->failed && i < b; i++) {
        const json_t *row = json_array_get(rows, i);
        if (!json_is_array(row) || json_array_size(row) != t)
            case_fail(call, "inputs.%s[%zu] is not a list of %zu positions", name, i, t);
        for (size_t j = 0; !call->failed && j < t; j++)
            read_token(call, name, json_array_get(row, j), &r, experts + (i * t + j) * size);
    }
    r.experts = experts;
    return r;
}

enum rl_replay case_replay(struct case_call *call)
{
    static const char *const names[] = {"none", "R2", "R3", NULL};
    return (enum rl_replay)case_choice_or(call, "replay", names);
}

/*
 * The thresholds may be a string, or a number for all options. The core takes text, because a
 * threshold may be a range ("0.5_2") and the text may list several. 17 digits reproduce the number.
 */
static const char *read_thresholds(struct case_call *call, const char *name)
{
    enum { DIGITS = 32 };
    const json_t *value = case_input(call, name);
    if (!json_is_number(value))
        return case_string_or(call, name, NULL);
    char *text = case_alloc(call, DIGITS, 1);
    if (text)
        snprintf(text, DIGITS, "%.17g", json_number_value(value));
    return text;
}

/* A cap, or the ends of IcePop's interval as text: "0.5_5". */
static void read_interval(struct case_call *call, struct rl_correction_options *o)
{
    const char *name = "rollout_is_threshold", *text = json_string_value(case_input(call, name));
    char *end = NULL;
    if (!text) {
        o->is_threshold = case_number(call, name);
        return;
    }
    o->is_threshold = strtod(text, &end);
    if (*end == '_') {
        o->is_lower = o->is_threshold;
        o->is_threshold = strtod(end + 1, &end);
    }
    if (!*text || *end || (strchr(text, '_') && !(o->is_lower > 0)))
        case_fail(call, "inputs.%s is '%.40s', not a number or LOWER_UPPER with LOWER above 0", name, text);
}

/*
 * A threshold is required only with a level, and has no default that would be right for both
 * levels.
 */
struct rl_correction_options case_correction_options(struct case_call *call)
{
    static const char *const levels[] = {"none", "token", "sequence", NULL};
    static const char *const measured[] = {"raw", "applied", NULL};
    struct rl_correction_options o = {.is = (enum rl_is_level)case_choice_or(call, "rollout_is", levels)}, off = {0};
    o.is_applied = case_choice_or(call, "rollout_is_metrics", measured) == 1;
    o.is_batch_normalize = case_bool_or(call, "rollout_is_batch_normalize", false);
    if (o.is != RL_IS_NONE || case_present(call, "rollout_is_threshold"))
        read_interval(call, o.is != RL_IS_NONE ? &o : &off);
    if (!case_input(call, "rollout_is")) { /* switched off by name, its settings are known to be unused */
        case_unused(call, "rollout_is_threshold");
        case_unused(call, "rollout_is_metrics");
        case_unused(call, "rollout_is_batch_normalize");
    }
    o.rs = case_string_or(call, "rollout_rs", NULL);
    o.rs_threshold = read_thresholds(call, "rollout_rs_threshold");
    if (!case_input(call, "rollout_rs"))
        case_unused(call, "rollout_rs_threshold");
    return o;
}

/*
 * A size must be positive if present. A missing size means "that of this batch", for which the core
 * uses 0.
 */
static double size_or_own(struct case_call *call, const char *name)
{
    double size = case_number_or(call, name, 0);
    if (case_present(call, name) && !(size > 0))
        case_fail(call, "inputs.%s is %g, not a positive number", name, size);
    return size;
}

struct rl_agg case_agg(struct case_call *call)
{
    static const char *const modes[] = {"token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm",
                                        NULL};
    return (struct rl_agg){
        .mode = (enum rl_agg_mode)case_choice(call, "loss_agg_mode", modes),
        .dp_size = size_or_own(call, "dp_size"),
        .batch_num_tokens = size_or_own(call, "batch_num_tokens"),
        .global_batch_size = size_or_own(call, "global_batch_size"),
        .loss_scale_factor = size_or_own(call, "loss_scale_factor"),
    };
}

/* Defaults are read from the core and not repeated here; the names are verl's. */
struct rl_loss_options case_loss_options(struct case_call *call)
{
    struct rl_loss_options o;
    rl_loss_options_init(&o);
    o.agg = case_agg(call);
    o.clip_low = case_number_or(call, "clip_ratio_low", o.clip_low);
    o.clip_high = case_number_or(call, "clip_ratio_high", o.clip_high);
    o.clip_c = case_number_or(call, "clip_ratio_c", o.clip_c);
    o.tau_pos = case_number_or(call, "tau_pos", o.tau_pos);
    o.tau_neg = case_number_or(call, "tau_neg", o.tau_neg);
    o.dro_beta = case_number_or(call, "dro_beta", o.dro_beta);
    o.vespo_k_pos = case_number_or(call, "vespo_k_pos", o.vespo_k_pos);
    o.vespo_lambda_pos = case_number_or(call, "vespo_lambda_pos", o.vespo_lambda_pos);
    o.vespo_k_neg = case_number_or(call, "vespo_k_neg", o.vespo_k_neg);
    o.vespo_lambda_neg = case_number_or(call, "vespo_lambda_neg", o.vespo_lambda_neg);
    return o;
}

struct rl_loss_options case_ppo_options(struct case_call *call)
{
    struct rl_loss_options o = case_loss_options(call);
    case_unused(call, "tau_pos");
    case_unused(call, "tau_neg");
    return o;
}
