/* case_losses_real.c: `lineage core` for the kernels of losses and their corrections, in both precisions. */
#include <rlcore/a2tgpo.h>
#include <rlcore/compose.h>
#include <rlcore/diagnostics.h>
#include <rlcore/distill.h>
#include <rlcore/loss.h>
#include <rlcore/offpolicy.h>
#include <rlcore/stream_loss.h>

#include "case_options.h"
#include "case_real.h"

/*
 * ---- `lineage core agg_loss`: aggregation alone, so that a case can distinguish a wrong mean from a
 * wrong loss.
 */

void case_agg_loss(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_agg agg = case_agg(call);
    struct rl_batch batch = {.mask = case_mask(call, "loss_mask", &b, &t)};
    const real *losses = case_reals(call, "loss_mat", &b, &t);
    real *d_losses = case_alloc_batch(call, b.n, t.n, sizeof *d_losses);
    double loss = 0;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, losses);
    CASE_RUN(call, rl_agg_loss(laid, &agg, losses, d_losses, &loss, &call->ws, &call->err));
    case_put_number(call, "loss", loss);
    case_put_reals(call, "d_loss_mat", d_losses, b.n, t.n);
}

/* ---- `lineage core policy_loss`, all losses of rlcore/loss.h by name. */

/* The metrics that a loss reports. */
enum metrics { NONE, KL_ONLY, ALL };

/*
 * The losses, in the order of the names below. A loss without a ratio (gpg) needs no old policy and
 * reports no distance to one.
 */
static const struct {
    rl_policy_loss *run;
    enum metrics metrics;
} losses[] = {{rl_ppo_loss, ALL},     {rl_gspo_loss, ALL},          {rl_cispo_loss, ALL},    {rl_sapo_loss, ALL},
              {rl_gpg_loss, NONE},    {rl_reinforce_loss, KL_ONLY}, {rl_geo_mean_loss, ALL}, {rl_dppo_tv_loss, ALL},
              {rl_dppo_kl_loss, ALL}, {rl_dro_loss, KL_ONLY},       {rl_vespo_loss, KL_ONLY}};

static const char *const names[] = {"vanilla",  "gspo",    "cispo",   "sapo", "gpg",   "reinforce",
                                    "geo_mean", "dppo_tv", "dppo_kl", "dro",  "vespo", NULL};

static void put_metrics(struct case_call *call, const struct rl_loss_result *out, enum metrics metrics)
{
    case_put_number(call, "loss", out->loss);
    if (metrics != NONE)
        case_put_number(call, "ppo_kl", out->ppo_kl);
    if (metrics == ALL) {
        case_put_number(call, "pg_clipfrac", out->pg_clipfrac);
        case_put_number(call, "pg_clipfrac_lower", out->pg_clipfrac_lower);
    }
}

/* The definitions of two losses fix the aggregation. */
static void warn_of_sizes(struct case_call *call, const struct rl_agg *agg, rl_policy_loss *loss)
{
    const char *fixed = loss == rl_sapo_loss ? "sapo" : loss == rl_geo_mean_loss ? "geo_mean" : NULL;
    if (fixed && agg->mode != RL_AGG_SEQ_MEAN_TOKEN_MEAN)
        case_warn(call, "inputs.loss_agg_mode has no effect: %s is always seq-mean-token-mean", fixed);
    if (loss == rl_geo_mean_loss && (agg->dp_size > 1 || agg->global_batch_size > 0))
        case_warn(call, "dp_size and global_batch_size have no effect: geo_mean is a mean over the rows of its part");
}

void case_policy_loss(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    int loss = case_choice(call, "loss", names);
    struct rl_loss_options options = case_loss_options(call);
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    struct rl_loss_input in = {
        .log_prob = case_reals(call, "log_prob", &b, &t),
        .old_log_prob = losses[loss].metrics == NONE ? case_reals_or_null(call, "old_log_prob", &b, &t)
                                                     : case_reals(call, "old_log_prob", &b, &t),
        .advantages = case_reals(call, "advantages", &b, &t),
        .weights = case_reals_or_null(call, "rollout_is_weights", &b, &t),
        .clip_scale = case_reals_or_null(call, "ig_clip_scale", &b, &t),
    };
    real *d_log_prob = case_alloc_batch(call, b.n, t.n, sizeof *d_log_prob);
    struct rl_loss_result out;
    const struct rl_batch *laid =
        CASE_LAY_OUT(call, batch, b.n, t.n, in.log_prob, in.old_log_prob, in.advantages, in.weights, in.entropy, in.clip_scale);
    CASE_RUN(call, losses[loss].run(laid, &in, &options, d_log_prob, &out, &call->ws, &call->err));
    if (call->failed)
        return;
    put_metrics(call, &out, losses[loss].metrics);
    warn_of_sizes(call, &options.agg, losses[loss].run);
    case_put_reals(call, "d_log_prob", d_log_prob, b.n, t.n);
}

/* ---- `lineage core value_loss`. */

void case_value_loss(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_agg agg = case_agg(call);
    double cliprange = case_number(call, "cliprange_value");
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *vpreds = case_reals(call, "vpreds", &b, &t);
    const real *values = case_reals(call, "values", &b, &t);
    const real *returns = case_reals(call, "returns", &b, &t);
    real *d_vpreds = case_alloc_batch(call, b.n, t.n, sizeof *d_vpreds);
    struct rl_value_result out = {0};
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, vpreds, values, returns);
    CASE_RUN(call, rl_value_loss(laid, &agg, cliprange, vpreds, values, returns, d_vpreds, &out, &call->ws, &call->err));
    case_put_number(call, "loss", out.loss);
    case_put_number(call, "vf_clipfrac", out.vf_clipfrac);
    case_put_reals(call, "d_vpreds", d_vpreds, b.n, t.n);
}

/* ---- `lineage core a2tgpo_turn_loss`. */

/* dynamic_clip = false ignores a scale that is present, so that one case can run both losses. */
void case_a2tgpo_turn_loss(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_turn_loss_options options = {.mode = case_agg(call).mode,
                                           .clip_low = case_number(call, "cliprange_low"),
                                           .clip_high = case_number(call, "cliprange_high")};
    bool dynamic = case_bool_or(call, "dynamic_clip", true);
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t), .turn = case_ids(call, "turn_id", &b, &t)};
    struct rl_loss_input in = {.log_prob = case_reals(call, "log_prob", &b, &t),
                               .old_log_prob = case_reals(call, "old_log_prob", &b, &t),
                               .advantages = case_reals(call, "advantages", &b, &t)};
    const real *scale = case_reals_or_null(call, "ig_clip_scale", &b, &t);
    real *d_log_prob = case_alloc_batch(call, b.n, t.n, sizeof *d_log_prob);
    real *turn_ratio = case_alloc_batch(call, b.n, t.n, sizeof *turn_ratio);
    struct rl_loss_result out = {0};
    const struct rl_batch *laid =
        CASE_LAY_OUT(call, batch, b.n, t.n, in.log_prob, in.old_log_prob, in.advantages, NULL, NULL, scale);
    CASE_RUN(call, rl_a2tgpo_turn_loss(laid, &in, dynamic ? scale : NULL, &options, d_log_prob, turn_ratio, &out, &call->ws,
                                       &call->err));
    case_put_number(call, "loss", out.loss);
    case_put_number(call, "pg_clipfrac", out.pg_clipfrac);
    case_put_number(call, "pg_clipfrac_lower", out.pg_clipfrac_lower);
    case_put_number(call, "ppo_kl", out.ppo_kl);
    case_put_reals(call, "d_log_prob", d_log_prob, b.n, t.n);
    case_put_reals(call, "turn_ratio", turn_ratio, b.n, t.n);
}

/* ---- `lineage core kl_penalty`. */

/* Estimators have several names: papers write k1, verl writes kl, and cases contain either. */
static const struct {
    const char *name;
    enum rl_kl kind;
} kl_kinds[] = {{"k1", RL_KL_K1},  {"kl", RL_KL_K1}, {"abs", RL_KL_ABS},      {"k2", RL_KL_K2},
                {"mse", RL_KL_K2}, {"k3", RL_KL_K3}, {"low_var_kl", RL_KL_K3}};

/*
 * A name that ends in `+` selects the straight-through form, as in verl: the value of one estimator
 * with the gradient of another (rlcore/loss.h).
 */
static enum rl_kl read_kind(struct case_call *call, bool *straight_through)
{
    const char *name = case_string(call, "kl_penalty");
    size_t length = strlen(name);
    *straight_through = length > 0 && name[length - 1] == '+';
    length -= *straight_through;
    for (size_t i = 0; i < sizeof kl_kinds / sizeof *kl_kinds; i++)
        if (strlen(kl_kinds[i].name) == length && strncmp(kl_kinds[i].name, name, length) == 0)
            return kl_kinds[i].kind;
    case_fail(call,
              "inputs.kl_penalty is '%.40s'; known are: k1 kl abs k2 mse k3 low_var_kl, "
              "each also with + appended",
              name);
    return RL_KL_K1;
}

void case_kl_penalty(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    bool straight_through = false;
    enum rl_kl kind = read_kind(call, &straight_through);
    const real *log_prob = case_reals(call, "log_prob", &b, &t);
    const real *ref = case_reals(call, "ref_log_prob", &b, &t);
    struct rl_batch batch = {.n_rows = b.n, .n_tokens = t.n};
    if (case_present(call, "response_mask"))
        batch.mask = case_mask(call, "response_mask", &b, &t);
    const real *old = case_present(call, "old_log_prob") ? case_reals(call, "old_log_prob", &b, &t) : NULL;
    if (old && straight_through)
        case_fail(call, "inputs.old_log_prob: with it the gradient is that of k2 times the ratio; leave out the +");
    real *kl = case_alloc(call, b.n * t.n, sizeof *kl);
    real *d_log_prob = case_alloc(call, b.n * t.n, sizeof *d_log_prob);
    if (old)
        CASE_RUN(call, rl_unbiased_kl(&batch, kind, log_prob, ref, old, kl, d_log_prob, &call->err));
    else if (batch.mask)
        CASE_RUN(call, rl_token_kl(&batch, kind, straight_through, log_prob, ref, kl, d_log_prob, &call->err));
    else
        CASE_RUN(call, rl_kl_penalty(kind, straight_through, b.n * t.n, log_prob, ref, kl, d_log_prob, &call->err));
    case_put_reals(call, "kl", kl, b.n, t.n);
    case_put_reals(call, "d_log_prob", d_log_prob, b.n, t.n);
}

/*
 * ---- `lineage core prime_loss`; its inputs are lists of lists of unequal
 * lengths.
 *
 * Sequences are never padded: prime-rl packs them end to end, and its metrics are one value per
 * sequence.
 */

/* The sequences of a case; the first input sets their lengths. */
struct sequences {
    struct case_dim n;
    size_t *start;
};

/* Reads an input; returns NULL for null. */
static real *read_ragged(struct case_call *call, const char *name, struct sequences *s)
{
    return case_present(call, name) ? case_ragged(call, name, OWN_TYPE, &s->n, &s->start) : NULL;
}

/* Any value other than 0 and 1 becomes 2, which the core refuses with its position. */
static uint8_t *read_mask(struct case_call *call, struct sequences *s)
{
    real *values = read_ragged(call, "loss_mask", s);
    uint8_t *mask = case_alloc(call, s->start[s->n.n], sizeof *mask);
    if (!values)
        case_fail(call, "inputs.loss_mask is missing");
    for (size_t i = 0; values && mask && i < s->start[s->n.n]; i++)
        mask[i] = values[i] == 0 ? 0 : values[i] == 1 ? 1 : 2;
    return mask;
}

static struct rl_stream_options read_stream_options(struct case_call *call)
{
    static const char *const kinds[] = {"default", "ipo", NULL};
    struct rl_stream_options o;
    rl_stream_options_init(&o);
    o.kind = (enum rl_stream_kind)case_choice(call, "rl_loss", kinds);
    o.dppo_mask_low = case_number_or(call, "dppo_mask_low", o.dppo_mask_low);
    o.dppo_mask_high = case_number_or(call, "dppo_mask_high", o.dppo_mask_high);
    o.ipo_threshold = case_number_or(call, "ipo_threshold", o.ipo_threshold);
    o.adv_tau = case_number_or(call, "adv_tau", o.adv_tau);
    o.kl_tau = case_number_or(call, "kl_tau", o.kl_tau);
    o.rl_scale = case_number_or(call, "rl_scale", 1);
    o.ce_scale = case_number_or(call, "ce_scale", 1);
    o.ref_kl_scale = case_number_or(call, "ref_kl_scale", 1);
    return o;
}

/* Append a metric of one sequence. */
static void add_metric(json_t *object, const char *name, double value)
{
    json_t *list = json_object_get(object, name);
    if (!list) {
        list = json_array();
        json_object_set_new(object, name, list);
    }
    json_array_append_new(list, json_real(value));
}

static json_t *metrics_json(const struct rl_stream_metrics *metrics, size_t n, enum rl_stream_kind kind)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++) {
        const struct rl_stream_metrics *m = &metrics[i];
        if (m->rl_ran) {
            add_metric(object, "masked_mismatch_kl", m->masked_mismatch_kl);
            add_metric(object, "unmasked_mismatch_kl", m->unmasked_mismatch_kl);
            add_metric(object, "is_masked", m->is_masked);
        }
        if (m->rl_ran && kind == RL_STREAM_DPPO) {
            add_metric(object, "is_masked_low", m->is_masked_low);
            add_metric(object, "is_masked_high", m->is_masked_high);
            add_metric(object, "masked_advantage_positive", m->masked_advantage_positive);
            add_metric(object, "masked_advantage_negative", m->masked_advantage_negative);
        }
        if (m->ce_ran)
            add_metric(object, "nll", m->nll);
        if (m->ref_kl_ran) {
            add_metric(object, "ref_kl/masked_mismatch_kl", m->ref_masked_mismatch_kl);
            add_metric(object, "ref_kl/unmasked_mismatch_kl", m->ref_unmasked_mismatch_kl);
            add_metric(object, "ref_kl/is_masked", m->ref_is_masked);
            add_metric(object, "ref_kl", m->ref_kl);
        }
    }
    return object;
}

void case_stream_loss(struct case_call *call)
{
    struct sequences s = {0};
    const real *trainer = case_ragged(call, "trainer_logprobs", OWN_TYPE, &s.n, &s.start);
    if (call->failed)
        return;
    struct rl_stream_options options = read_stream_options(call);
    struct rl_sequences sequences = {s.n.n, s.start, read_mask(call, &s)};
    struct rl_streams streams = {.trainer = trainer,
                                 .inference = read_ragged(call, "inference_logprobs", &s),
                                 .advantages = read_ragged(call, "advantages", &s),
                                 .ref = read_ragged(call, "ref_logprobs", &s),
                                 .rl_weights = read_ragged(call, "rl_weights", &s),
                                 .ce_weights = read_ragged(call, "ce_weights", &s),
                                 .ref_kl_weights = read_ragged(call, "ref_kl_weights", &s)};
    real *gradient = case_alloc(call, s.start[s.n.n], sizeof *gradient);
    struct rl_stream_metrics *metrics = case_alloc(call, s.n.n, sizeof *metrics);
    struct rl_stream_result result;
    struct rl_stream_counts counts;
    if (!call->failed && (!streams.inference || !streams.advantages))
        case_fail(call, "inputs.%s is missing", streams.inference ? "advantages" : "inference_logprobs");
    CASE_RUN(call, rl_stream_loss(&sequences, &streams, &options, gradient, metrics, &result, &call->err));
    if (call->failed)
        return;
    /* Each component is a separate result, because two errors can cancel in their sum. */
    case_put_number(call, "loss", result.loss);
    case_put(call, "components", json_pack("{s:f, s:f, s:f}", "rl", result.rl, "ce", result.ce, "ref_kl", result.ref_kl));
    case_put_ragged(call, "d_trainer_logprobs", OWN_TYPE, gradient, s.start, s.n.n);
    rl_stream_count(&sequences, &streams, &counts);
    case_put(call, "counts",
             json_pack("{s:I, s:I, s:I}", "rl", (json_int_t)counts.rl, "ce", (json_int_t)counts.ce, "ref_kl",
                       (json_int_t)counts.ref_kl));
    case_put(call, "metrics", metrics_json(metrics, s.n.n, options.kind));
}

/* ---- `lineage core distillation`. */

void case_distill_cut(struct case_call *call)
{
    struct case_dim b = {0}, full = {0};
    const real *log_prob = case_reals(call, "full_log_prob", &b, &full);
    const int64_t *given = case_integers(call, "prompt_lengths", &b);
    int64_t n_tokens = case_integer(call, "n_tokens");
    if (n_tokens < 0 || (uint64_t)n_tokens > full.n)
        case_fail(call, "inputs.n_tokens is %lld, not from 0 to the %zu tokens of a row", (long long)n_tokens, full.n);
    if (call->failed)
        return;
    size_t *prompt = case_alloc(call, b.n, sizeof *prompt);
    real *out = case_alloc(call, b.n * (size_t)n_tokens, sizeof *out);
    for (size_t i = 0; !call->failed && i < b.n; i++) {
        if (given[i] < 0)
            case_fail(call, "inputs.prompt_lengths[%zu] is negative", i);
        prompt[i] = (size_t)given[i];
    }
    CASE_RUN(call, rl_distill_cut(b.n, (size_t)n_tokens, full.n, prompt, log_prob, out, &call->err));
    case_put_reals(call, "teacher_log_prob", out, b.n, (size_t)n_tokens);
}

/* All settings are required: a good threshold depends on the task. */
void case_distill(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *log_prob = case_reals(call, "log_prob", &b, &t);
    const real *teacher = case_reals(call, "teacher_log_prob", &b, &t);
    const real *rl_advantages = case_reals(call, "rl_advantages", &b, &t);
    batch.group = case_integers(call, "group_index", &b);
    const double *rewards = case_numbers(call, "rewards", &b);
    int64_t horizon = case_integer(call, "horizon"), n_selected = case_integer_or(call, "eligible_tokens", 0);
    if (horizon < 0)
        case_fail(call, "inputs.horizon is negative");
    if (n_selected < 0 || (case_present(call, "eligible_tokens") && !n_selected))
        case_fail(call, "inputs.eligible_tokens is not a positive number");
    struct rl_distill_options options = {
        .pass_rate_threshold = case_number(call, "pass_rate_threshold"),
        .horizon = (size_t)horizon,
        .normalise = case_bool(call, "normalise"),
        .kd_coef = case_number(call, "kd_coef"),
        .n_selected = (size_t)n_selected,
        .dp_size = case_number_or(call, "dp_size", 1),
        .pass_rate = case_present(call, "pass_rate") ? case_numbers(call, "pass_rate", &b) : NULL,
    };
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, log_prob, teacher, rl_advantages);
    real *advantages = case_alloc_batch(call, b.n, t.n, sizeof *advantages);
    real *d_log_prob = case_alloc_batch(call, b.n, t.n, sizeof *d_log_prob);
    double *pass_rate = case_alloc(call, b.n, sizeof *pass_rate);
    uint8_t *eligible = case_alloc(call, b.n, sizeof *eligible);
    json_t *list = json_array();
    struct rl_distill_result result = {0};
    CASE_RUN(call, rl_distill(laid, &options, log_prob, teacher, rl_advantages, rewards, advantages, d_log_prob, pass_rate,
                              eligible, &result, &call->ws, &call->err));
    for (size_t i = 0; !call->failed && i < b.n; i++)
        json_array_append_new(list, json_boolean(eligible[i]));
    case_put(call, "eligible", list);
    case_put_reals(call, "advantages", advantages, b.n, t.n);
    case_put_reals(call, "d_log_prob", d_log_prob, b.n, t.n);
    case_put_numbers(call, "pass_rate", pass_rate, b.n);
    case_put(call, "eligible_tokens", json_integer((json_int_t)result.n_selected));
    case_put_number(call, "kd_loss", result.kd_loss);
}

/* ---- `lineage core diagnostics`. */

/*
 * The number of clamped ratios is a result too, because a maximum equal to the clamp is not a
 * measured value.
 */
static void put_diagnostics(struct case_call *call, const struct rl_diagnostics *d)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"kl", d->kl},
                   {"k3", d->k3},
                   {"chi2_token", d->chi2_token},
                   {"chi2_seq", d->chi2_seq},
                   {"ess", d->ess},
                   {"ratio_mean", d->ratio_mean},
                   {"ratio_min", d->ratio_min},
                   {"ratio_max", d->ratio_max},
                   {"clip_low_fraction", d->clip_low},
                   {"clip_high_fraction", d->clip_high}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        case_put_number(call, numbers[i].name, numbers[i].value);
    case_put_numbers(call, "ratio_percentiles", d->ratio_percentile, RL_PERCENTILES);
    case_put(call, "n_tokens", json_integer((json_int_t)d->n_tokens));
    case_put(call, "n_rows", json_integer((json_int_t)d->n_rows));
    case_put(call, "n_clamped", json_integer((json_int_t)d->n_clamped));
}

void case_diagnostics(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *train = case_reals(call, "train_log_prob", &b, &t);
    const real *rollout = case_reals(call, "rollout_log_prob", &b, &t);
    /* The default is PPO's own clip range (arXiv 1707.06347), as in the losses. */
    double low = case_number_or(call, "clip_ratio_low", 0.2);
    double high = case_number_or(call, "clip_ratio_high", 0.2);
    struct rl_diagnostics d;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, train, rollout);
    CASE_RUN(call, rl_diagnose(laid, train, rollout, low, high, &d, &call->ws, &call->err));
    if (!call->failed)
        put_diagnostics(call, &d);
}

/* ---- `lineage core bypass_loss` and `decoupled_loss`. */

/*
 * The list of metrics is emptied before each run, because a kernel that asked for more scratch
 * memory may have written some.
 */
void case_bypass_loss(struct case_call *call)
{
    static const char *const kinds[] = {"ppo_clip", "reinforce", NULL};
    struct case_dim b = {0}, t = {0};
    enum rl_bypass_kind kind = (enum rl_bypass_kind)case_choice(call, "loss_type", kinds);
    struct rl_loss_options options = case_ppo_options(call);
    struct rl_correction_options correction = case_correction_options(call);
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *log_prob = case_reals(call, "log_prob", &b, &t);
    const real *rollout = case_reals(call, "rollout_log_prob", &b, &t);
    const real *advantages = case_reals(call, "advantages", &b, &t);
    struct rl_metrics metrics = case_metrics(call);
    real *d_log_prob = case_alloc_batch(call, b.n, t.n, sizeof *d_log_prob);
    struct rl_loss_result out;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, log_prob, rollout, advantages);
    CASE_RUN(call, (metrics.n = 0, rl_bypass_loss(laid, kind, &correction, &options, log_prob, rollout, advantages, d_log_prob,
                                                  &out, &metrics, &call->ws, &call->err)));
    if (call->failed)
        return;
    case_add_metric(&metrics, "ppo_kl", out.ppo_kl);
    if (kind == RL_BYPASS_PPO_CLIP) {
        case_add_metric(&metrics, "pg_clipfrac", out.pg_clipfrac);
        case_add_metric(&metrics, "pg_clipfrac_lower", out.pg_clipfrac_lower);
    }
    case_put_number(call, "loss", out.loss);
    case_put_reals(call, "d_log_prob", d_log_prob, b.n, t.n);
    case_put_metrics(call, &metrics);
}

/* Without importance weights it stores null, because an array of ones would mean that all weights were 1. */
static void put_decoupled(struct case_call *call, const struct rl_loss_result *out, const real *weights, const uint8_t *mask,
                          const real *d_log_prob, size_t b, size_t t)
{
    case_put_number(call, "loss", out->loss);
    case_put_number(call, "ppo_kl", out->ppo_kl);
    case_put_number(call, "pg_clipfrac", out->pg_clipfrac);
    case_put_number(call, "pg_clipfrac_lower", out->pg_clipfrac_lower);
    if (weights)
        case_put_reals(call, "rollout_is_weights", weights, b, t);
    else
        case_put(call, "rollout_is_weights", json_null());
    case_put_mask(call, "modified_response_mask", mask, b, t);
    case_put_reals(call, "d_log_prob", d_log_prob, b, t);
}

/* Options are read before arrays, so that their mistakes are reported first. */
void case_decoupled_loss(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_loss_options options = case_ppo_options(call);
    struct rl_correction_options correction = case_correction_options(call);
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *log_prob = case_reals(call, "log_prob", &b, &t);
    const real *proximal = case_reals(call, "proximal_log_prob", &b, &t);
    const real *rollout = case_reals(call, "rollout_log_prob", &b, &t);
    const real *advantages = case_reals(call, "advantages", &b, &t);
    struct rl_metrics metrics = case_metrics(call);
    real *weights = case_alloc_batch(call, b.n, t.n, sizeof *weights);
    real *d_log_prob = case_alloc_batch(call, b.n, t.n, sizeof *d_log_prob);
    uint8_t *mask = case_alloc_batch(call, b.n, t.n, sizeof *mask);
    struct rl_loss_result out;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, log_prob, proximal, rollout, advantages);
    CASE_RUN(call, (metrics.n = 0, rl_decoupled_loss(laid, &correction, &options, log_prob, proximal, rollout, advantages,
                                                     weights, mask, d_log_prob, &out, &metrics, &call->ws, &call->err)));
    if (call->failed)
        return;
    put_decoupled(call, &out, correction.is == RL_IS_NONE ? NULL : weights, mask, d_log_prob, b.n, t.n);
    case_put_metrics(call, &metrics);
}

/* ---- `lineage core rollout_correction` and `offpolicy_metrics`. */

static struct rl_opsm_options read_opsm(struct case_call *call)
{
    static const char *const units[] = {"row", "turn", NULL};
    struct rl_opsm_options o = {.lower = case_number_or(call, "lower", 0),
                                .upper = case_number_or(call, "upper", INFINITY),
                                .per_token = case_bool_or(call, "per_token", false),
                                .negative_only = case_bool_or(call, "negative_only", false)};
    if (case_present(call, "unit"))
        o.unit = (enum rl_opsm_unit)case_choice(call, "unit", units);
    return o;
}

/*
 * Inputs that the chosen form does not read are not required: turns only with unit = turn,
 * advantages only with negative_only.
 */
void case_opsm(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *train = case_reals(call, "train_log_prob", &b, &t);
    const real *rollout = case_reals(call, "rollout_log_prob", &b, &t);
    struct rl_opsm_options options = read_opsm(call);
    if (options.unit == RL_OPSM_TURN)
        batch.turn = case_ids(call, "turn_id", &b, &t);
    const real *advantages = options.negative_only ? case_reals(call, "advantages", &b, &t) : NULL;
    uint8_t *mask = case_alloc_batch(call, b.n, t.n, sizeof *mask);
    real *ratio = case_alloc_batch(call, b.n, t.n, sizeof *ratio);
    struct rl_opsm_result result = {0};
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, train, rollout, advantages);
    CASE_RUN(call, rl_opsm(laid, &options, train, rollout, advantages, mask, ratio, &result, &call->err));
    case_put_mask(call, "modified_response_mask", mask, b.n, t.n);
    case_put_reals(call, "ratio", ratio, b.n, t.n);
    case_put(call, "n_units", json_integer((json_int_t)result.n_units));
    case_put(call, "n_dropped", json_integer((json_int_t)result.n_dropped));
    case_put(call, "n_tokens_dropped", json_integer((json_int_t)result.n_tokens_dropped));
}

struct two_policies {
    const struct rl_batch *batch;
    const real *train, *rollout;
};

static struct two_policies read_policies(struct case_call *call, struct case_dim *b, struct case_dim *t)
{
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", b, t)};
    struct two_policies p = {.train = case_reals(call, "train_log_prob", b, t),
                             .rollout = case_reals(call, "rollout_log_prob", b, t)};
    p.batch = CASE_LAY_OUT(call, batch, b->n, t->n, p.train, p.rollout);
    return p;
}

void case_offpolicy_metrics(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct two_policies p = read_policies(call, &b, &t);
    struct rl_metrics metrics = case_metrics(call);
    CASE_RUN(call, rl_offpolicy_metrics(p.batch, p.train, p.rollout, &metrics, &call->err));
    case_put_metrics(call, &metrics);
}

/* The mask is a result even if nothing was rejected, because the loss must be taken over it. */
void case_rollout_correction(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct two_policies p = read_policies(call, &b, &t);
    struct rl_correction_options options = case_correction_options(call);
    struct rl_metrics metrics = case_metrics(call);
    real *weights = case_alloc_batch(call, b.n, t.n, sizeof *weights);
    uint8_t *mask = case_alloc_batch(call, b.n, t.n, sizeof *mask);
    CASE_RUN(call, (metrics.n = 0, rl_rollout_correction(p.batch, &options, p.train, p.rollout, weights, mask, &metrics,
                                                         &call->ws, &call->err)));
    if (call->failed)
        return;
    /* Stores null, because weights that were not computed must not look like weights of 1. */
    if (options.is == RL_IS_NONE)
        case_put(call, "rollout_is_weights", json_null());
    else
        case_put_reals(call, "rollout_is_weights", weights, b.n, t.n);
    case_put_mask(call, "modified_response_mask", mask, b.n, t.n);
    case_put_metrics(call, &metrics);
}

/*
 * ---- `lineage core compose_corrections`.
 *
 * Every factor of the composed loss is a separate result: if only the product of three ratios were
 * returned, a wrong one could not be identified.
 */

struct compose_case {
    struct rl_batch batch;
    struct rl_compose_input in;
    struct rl_compose_options options;
    struct rl_compose_output out;
    struct rl_routes routes[3]; /* sampler, training, used */
    struct case_dim b, t;
};

/* OPSM is on if the case has a bound; a switch of its own could contradict the bounds. */
static void read_compose_opsm(struct case_call *call, struct rl_compose_options *o)
{
    static const char *const units[] = {"row", "turn", NULL};
    o->use_opsm = case_present(call, "opsm_lower") || case_present(call, "opsm_upper");
    o->opsm.lower = case_number_or(call, "opsm_lower", 0);
    o->opsm.upper = case_number_or(call, "opsm_upper", INFINITY);
    o->opsm.per_token = case_bool_or(call, "opsm_per_token", false);
    o->opsm.negative_only = case_bool_or(call, "opsm_negative_only", false);
    o->opsm.unit = (enum rl_opsm_unit)case_choice_or(call, "opsm_unit", units);
    if (!case_input(call, "opsm_lower") && !case_input(call, "opsm_upper")) {
        case_unused(call, "opsm_per_token");
        case_unused(call, "opsm_negative_only");
        case_unused(call, "opsm_unit");
    }
}

/*
 * Missing caps have the core's defaults. Which factors exist follows from the log-probs of the
 * case.
 */
static struct rl_compose_options read_compose_options(struct case_call *call)
{
    struct rl_compose_options o;
    rl_compose_options_of(&o, NULL);
    o.loss = case_ppo_options(call);
    o.backend_cap = case_number_or(call, "backend_cap", o.backend_cap);
    o.staleness_cap = case_number_or(call, "staleness_cap", o.staleness_cap);
    o.per_turn = case_bool_or(call, "per_turn", false);
    o.replay = case_replay(call);
    read_compose_opsm(call, &o);
    return o;
}

/* Absent routes stay NULL: the core then neither compares nor checks them. */
static void read_routes(struct case_call *call, struct compose_case *c)
{
    const char *const routes[] = {"sampler_routes", "training_routes", "used_routes"};
    const struct rl_routes **const to[] = {&c->in.data.sampler_routes, &c->in.data.training_routes, &c->in.data.used_routes};
    for (size_t i = 0; i < 3; i++) {
        if (!case_present(call, routes[i]))
            continue;
        if (call->start)
            case_fail(call, "inputs.%s: routes are of padded batches, this one is ragged", routes[i]);
        c->routes[i] = case_routes(call, routes[i], c->b.n, c->t.n);
        *to[i] = &c->routes[i];
    }
}

static void read_compose(struct case_call *call, struct compose_case *c)
{
    struct case_dim *b = &c->b, *t = &c->t;
    c->batch.mask = case_mask(call, "response_mask", b, t);
    c->in.log_prob = case_reals(call, "log_prob", b, t);
    c->in.proximal = case_reals_or_null(call, "proximal_log_prob", b, t);
    c->in.behaviour = case_reals_or_null(call, "behaviour_log_prob", b, t);
    c->in.sampler = case_reals_or_null(call, "sampler_log_prob", b, t);
    c->in.advantages = case_reals(call, "advantages", b, t);
    c->in.clip_scale = case_reals_or_null(call, "ig_clip_scale", b, t);
    c->options = read_compose_options(call);
    if (case_present(call, "tool_mask"))
        c->in.data.tool = case_mask(call, "tool_mask", b, t);
    if (case_present(call, "turn_id"))
        c->batch.turn = case_ids(call, "turn_id", b, t);
    read_routes(call, c);
}

/* Every factor has an array; a factor that does not apply is 1. */
static void make_room(struct case_call *call, struct compose_case *c)
{
    size_t b = c->b.n, t = c->t.n;
    c->out.mask = case_alloc_batch(call, b, t, sizeof *c->out.mask);
    c->out.d_log_prob = case_alloc_batch(call, b, t, sizeof *c->out.d_log_prob);
    c->out.backend = case_alloc_batch(call, b, t, sizeof *c->out.backend);
    c->out.staleness = case_alloc_batch(call, b, t, sizeof *c->out.staleness);
    c->out.ratio = case_alloc_batch(call, b, t, sizeof *c->out.ratio);
}

static void put_compose_metrics(struct case_call *call, const struct rl_compose_result *r)
{
    const struct case_metric metrics[] = {{"ppo_kl", r->loss.ppo_kl},
                                          {"pg_clipfrac", r->loss.pg_clipfrac},
                                          {"pg_clipfrac_lower", r->loss.pg_clipfrac_lower},
                                          {"ratio_mean", r->loss.ratio_mean},
                                          {"ratio_min", r->loss.ratio_min},
                                          {"ratio_max", r->loss.ratio_max},
                                          {"ratio_clamped", (double)r->loss.n_clamped},
                                          {"backend_mean", r->backend.mean},
                                          {"backend_min", r->backend.min},
                                          {"backend_max", r->backend.max},
                                          {"backend_capped", r->backend.capped},
                                          {"backend_clamped", (double)r->backend.n_clamped},
                                          {"staleness_mean", r->staleness.mean},
                                          {"staleness_min", r->staleness.min},
                                          {"staleness_max", r->staleness.max},
                                          {"staleness_capped", r->staleness.capped},
                                          {"staleness_clamped", (double)r->staleness.n_clamped},
                                          {"weight_mean", r->weight_mean},
                                          {"weight_ess", r->weight_ess},
                                          {"opsm_dropped", (double)r->opsm.n_dropped},
                                          {"opsm_tokens_dropped", (double)r->opsm.n_tokens_dropped},
                                          {"route_agreement", r->routes.share},
                                          {"route_exact", r->routes.exact}};
    case_put_metric_list(call, metrics, sizeof metrics / sizeof *metrics);
}

void case_compose_loss(struct case_call *call)
{
    struct compose_case c = {0};
    struct rl_compose_result result;
    read_compose(call, &c);
    make_room(call, &c);
    const struct rl_batch *laid = CASE_LAY_OUT(call, c.batch, c.b.n, c.t.n, c.in.log_prob, c.in.proximal, c.in.behaviour,
                                               c.in.sampler, c.in.advantages, c.in.clip_scale);
    CASE_RUN(call, rl_compose_loss(laid, &c.in, &c.options, &c.out, &result, &call->ws, &call->err));
    if (call->failed)
        return;
    case_put_number(call, "loss", result.loss.loss);
    case_put_reals(call, "d_log_prob", c.out.d_log_prob, c.b.n, c.t.n);
    case_put_reals(call, "backend", c.out.backend, c.b.n, c.t.n);
    case_put_reals(call, "staleness", c.out.staleness, c.b.n, c.t.n);
    case_put_reals(call, "ratio", c.out.ratio, c.b.n, c.t.n);
    case_put_mask(call, "modified_response_mask", c.out.mask, c.b.n, c.t.n);
    put_compose_metrics(call, &result);
}
