/*
 * case_compose_real.c: `lineage core compose_corrections`.
 *
 * Every factor of the composed loss is a separate result: if only the product of three ratios were
 * returned, a wrong one could not be identified.
 */

#include <rlcore/compose.h>

#include "case_options.h"
#include "case_real.h"

struct compose_case {
    struct rl_batch batch;
    struct rl_compose_input in;
    struct rl_compose_options options;
    struct rl_compose_output out;
    struct rl_routes routes[3]; /* sampler, training, used */
    struct case_dim b, t;
};

/*
 * OPSM is on if the case has a bound. There is no separate switch, which could contradict the
 * bounds.
 */
static void read_opsm(struct case_call *call, struct rl_compose_options *o)
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
static struct rl_compose_options read_options(struct case_call *call)
{
    struct rl_compose_options o;
    rl_compose_options_of(&o, NULL);
    o.loss = case_ppo_options(call);
    o.backend_cap = case_number_or(call, "backend_cap", o.backend_cap);
    o.staleness_cap = case_number_or(call, "staleness_cap", o.staleness_cap);
    o.per_turn = case_bool_or(call, "per_turn", false);
    o.replay = case_replay(call);
    read_opsm(call, &o);
    return o;
}

/* Absent routes stay NULL: the core then neither compares nor checks them. */
static void read_routes(struct case_call *call, struct compose_case *c)
{
    const char *const names[] = {"sampler_routes", "training_routes", "used_routes"};
    const struct rl_routes **const to[] = {&c->in.data.sampler_routes, &c->in.data.training_routes, &c->in.data.used_routes};
    for (size_t i = 0; i < 3; i++) {
        if (!case_present(call, names[i]))
            continue;
        if (call->start)
            case_fail(call, "inputs.%s: routes are of padded batches, this one is ragged", names[i]);
        c->routes[i] = case_routes(call, names[i], c->b.n, c->t.n);
        *to[i] = &c->routes[i];
    }
}

static void read_case(struct case_call *call, struct compose_case *c)
{
    struct case_dim *b = &c->b, *t = &c->t;
    c->batch.mask = case_mask(call, "response_mask", b, t);
    c->in.log_prob = case_reals(call, "log_prob", b, t);
    c->in.proximal = case_reals_or_null(call, "proximal_log_prob", b, t);
    c->in.behaviour = case_reals_or_null(call, "behaviour_log_prob", b, t);
    c->in.sampler = case_reals_or_null(call, "sampler_log_prob", b, t);
    c->in.advantages = case_reals(call, "advantages", b, t);
    c->in.clip_scale = case_reals_or_null(call, "ig_clip_scale", b, t);
    c->options = read_options(call);
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

static void put_metrics(struct case_call *call, const struct rl_compose_result *r)
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
    read_case(call, &c);
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
    put_metrics(call, &result);
}
