/*
 * The names in events become names in telemetry and in rows, and stay there for years. They equal the names of the
 * struct members, so that a number has the same name everywhere from the trainer's header to a query.
 */
#include "recipe/recipe_request.h"

#include <rlcore/adca.h>

struct member {
    const char *name;
    size_t offset;
};

#define MEMBER(name) {#name, offsetof(struct trainer_iteration, name)}

static const struct member reals[] = {MEMBER(reward),      MEMBER(turns),           MEMBER(malformed),   MEMBER(truncated),
                                      MEMBER(left_out),    MEMBER(response_tokens), MEMBER(loss),        MEMBER(grad_norm),
                                      MEMBER(entropy),     MEMBER(clip_fraction),   MEMBER(kl),          MEMBER(learning_rate),
                                      MEMBER(mismatch_kl), MEMBER(mismatch_ess),    MEMBER(weight_mean), MEMBER(rejected),
                                      MEMBER(staleness),   MEMBER(generation_s),    MEMBER(gain_s),      MEMBER(scoring_s),
                                      MEMBER(update_s)},
                           counts[] = {MEMBER(sampled_tokens), MEMBER(gain_tokens), MEMBER(trained_tokens)};

/* Leaves out numbers that are not finite, which JSON does not have. */
static void set_real(json_t *line, const char *name, double value)
{
    if (isfinite(value))
        json_object_set_new(line, name, json_real(value));
}

static void set_count(json_t *line, const char *name, uint64_t value)
{
    json_object_set_new(line, name, json_integer((json_int_t)value));
}

/* Leaves out turns that no rollout reached. */
static void set_turns(json_t *line, const struct trainer_turn_gain *gain, int32_t n)
{
    json_t *turns = json_array();
    for (int32_t i = 0; i < n; i++)
        if (gain[i].count)
            json_array_append_new(turns, json_pack("{s:i, s:f, s:f, s:I}", "turn", (int)i, "mean", gain[i].mean, "std",
                                                   gain[i].std, "n", (json_int_t)gain[i].count));
    json_object_set_new(line, "turns", turns);
}

/* The mean information gain of every turn that a rollout reached. */
static void set_gains(json_t *line, const struct trainer_turn_gain *gain, int32_t n)
{
    char name[32];
    for (int32_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "info_gain_t%d", (int)i);
        if (gain[i].count)
            set_real(line, name, gain[i].mean);
    }
}

/* Metrics of one environment of a mixed run, named by its place in the recipe: env0/reward, env1/loss, .. */
static void set_env(json_t *line, int32_t i, const struct trainer_part *part)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"reward", part->reward}, {"loss", part->loss}, {"kl", part->kl}};
    char name[32];
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        snprintf(name, sizeof name, "env%d/%s", (int)i, all[k].name);
        set_real(line, name, all[k].value);
    }
}

/* The components of the loss, if one of them is not the policy loss, which is then the whole loss. */
static void set_components(json_t *line, const struct trainer_iteration *it)
{
    static const char *const names[] = {"rl", "ce", "ref_kl"};
    char name[32];
    if (it->component[1].tokens == 0 && it->component[2].tokens == 0)
        return;
    for (int i = 0; i < TRAINER_N_COMPONENTS; i++) {
        if (it->component[i].tokens == 0)
            continue;
        snprintf(name, sizeof name, "loss/%s", names[i]);
        set_real(line, name, it->component[i].loss);
        snprintf(name, sizeof name, "kl/%s", names[i]);
        set_real(line, name, it->component[i].kl);
    }
}

/* prime-rl's names, so that one dashboard shows runs of both. */
static void set_streams(json_t *line, const struct trainer_streams *s)
{
    const struct {
        const char *name;
        double n, value;
    } all[] = {{"is_masked", s->n_rl, s->is_masked},
               {"masked_mismatch_kl", s->n_rl, s->masked_mismatch_kl},
               {"unmasked_mismatch_kl", s->n_rl, s->unmasked_mismatch_kl},
               {"nll", s->n_ce, s->nll},
               {"ref_kl", s->n_ref_kl, s->ref_kl},
               {"ref_kl/is_masked", s->n_ref_kl, s->ref_is_masked},
               {"ref_kl/masked_mismatch_kl", s->n_ref_kl, s->ref_masked_mismatch_kl},
               {"ref_kl/unmasked_mismatch_kl", s->n_ref_kl, s->ref_unmasked_mismatch_kl}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].n > 0)
            set_real(line, all[i].name, all[i].value);
}

static void set_inert(json_t *line, const char *names)
{
    json_t *list = json_array();
    for (const char *at = names ? names : "", *end; *at; at = *end ? end + 2 : end) {
        end = strstr(at, ", ");
        end = end ? end : at + strlen(at);
        json_array_append_new(list, json_stringn(at, (size_t)(end - at)));
    }
    if (json_array_size(list))
        json_object_set_new(line, "inert", list);
    else
        json_decref(list);
}

/* Tokens per second over generation, gain and update, which progress shows as speed. */
static void set_speed(json_t *line, const struct trainer_iteration *it)
{
    double seconds = it->generation_s + it->gain_s + it->update_s;
    if (seconds > 0)
        set_real(line, "tokens_s", (double)(it->sampled_tokens + it->gain_tokens + it->trained_tokens) / seconds);
}

/* Reports the counts of the judge, or of the rules that replace it, as shares; 0 if nothing was counted. */
static void set_judge(json_t *line, const struct trainer_judge_counts *judge)
{
    static const char *const outcomes[] = {"failure", "success"};
    uint64_t rows = 0;
    char name[48];
    for (int i = 0; i < TRAINER_N_JUDGE_MARKS; i++)
        rows += judge->rows[i];
    if (rows == 0)
        return;
    for (int i = 0; i < TRAINER_N_JUDGE_MARKS; i++) {
        snprintf(name, sizeof name, "judge_%s", trainer_judge_mark_name((enum trainer_judge_mark)i));
        set_real(line, name, (double)judge->rows[i] / (double)rows);
    }
    for (int i = 0; i < 2; i++) {
        double flags = fmax(1, (double)(judge->good[i] + judge->bad[i]));
        snprintf(name, sizeof name, "judge_good_%s", outcomes[i]);
        set_real(line, name, (double)judge->good[i] / flags);
        snprintf(name, sizeof name, "judge_bad_%s", outcomes[i]);
        set_real(line, name, (double)judge->bad[i] / flags);
    }
    if (judge->compared)
        set_real(line, "judge_agreement", (double)judge->agreed / (double)judge->compared);
    set_count(line, "judge_prompt_tokens", judge->prompt_tokens);
    set_count(line, "judge_completion_tokens", judge->completion_tokens);
    set_real(line, "judge_s", judge->seconds);
}

/* Reports the shares of groups and rollouts that were distilled from a teacher. */
static void set_distillation(json_t *line, const struct trainer_distillation *d)
{
    if (d->rollouts == 0)
        return;
    set_real(line, "opd/frac_groups", (double)d->taught_groups / (double)d->groups);
    set_real(line, "opd/frac_rollouts", (double)d->taught_rollouts / (double)d->rollouts);
    set_real(line, "opd/frac_tokens", (double)d->taught_tokens / fmax(1, (double)d->tokens));
    set_real(line, "opd/gap", d->gap);
    set_real(line, "opd/kd_loss", d->loss);
    set_real(line, "opd/kd_clipped", d->clipped);
}

/* Reports the easy and the hard questions separately, for a mix that has both. */
static void set_ends(json_t *line, const struct trainer_end_of_mix *ends)
{
    static const char *const names[] = {[TRAINER_EASY] = "easy", [TRAINER_HARD] = "hard"};
    for (int i = 0; i < TRAINER_N_DIFFICULTIES; i++) {
        char name[32];
        if (ends[i].rollouts == 0)
            continue;
        snprintf(name, sizeof name, "pass_rate_%s", names[i]);
        set_real(line, name, ends[i].passed);
        snprintf(name, sizeof name, "response_tokens_%s", names[i]);
        set_real(line, name, ends[i].tokens);
    }
}

/* Seconds of an iteration in each phase, so that trials of different lengths can be compared. */
static void set_means(const struct recipe_events *wire, json_t *line)
{
    double n = wire->n_iterations;
    set_real(line, "generation_s", wire->generation_s / n);
    set_real(line, "gain_s", wire->gain_s / n);
    set_real(line, "scoring_s", wire->scoring_s / n);
    set_real(line, "update_s", wire->update_s / n);
}

/*
 * Reports numbers that the row gets as parameters, under their telemetry names: the numbers that the recipe asks for,
 * and the alpha if the recipe does not set it.
 */
static void set_row(const struct recipe_events *wire, json_t *line, const struct trainer_event *event)
{
    json_t *params = json_object();
    char name[32];
    snprintf(name, sizeof name, "pass_at_%d", (int)event->k);
    set_real(line, name, event->passk);
    if (event->row.passk)
        set_real(params, name, event->passk);
    set_ends(line, event->end_of_mix);
    if (event->row.ends)
        set_ends(params, event->end_of_mix);
    if (event->row.phases && wire->n_iterations)
        set_means(wire, params);
    if (event->n_alpha > 0) {
        set_real(line, "alpha_used", event->alpha_used);
        set_real(params, "alpha_used", event->alpha_used);
    }
    if (json_object_size(params))
        json_object_set_new(line, "param", params);
    else
        json_decref(params);
}

static void set_values(json_t *line, const struct trainer_values *values)
{
    set_real(line, "value_loss", values->loss);
    set_real(line, "value_clip_fraction", values->clip_fraction);
    set_real(line, "explained_variance", values->explained_variance);
    set_real(line, "value_mean", values->mean);
    set_real(line, "return_mean", values->returned);
}

/* Reports the rollouts on which an algorithm does not train although it samples them. */
static void set_aside(json_t *line, const struct trainer_iteration *it)
{
    if (it->n_greedy > 0)
        set_real(line, "greedy_reward", it->greedy_reward);
    if (it->n_episodes > 0) {
        set_count(line, "episodes", it->n_episodes);
        set_real(line, "between_episodes_std", it->between_std);
        set_real(line, "within_episodes_std", it->within_std);
    }
}

struct number {
    const char *name;
    double value;
};

/* Reports how the flags of steps are weighted against the outcome; only the scheme `allocation` has weights. */
static void set_adca(json_t *line, const struct rl_adca_metrics *m)
{
    const struct number all[] = {
        {"adca/outcome_share_last_mean", m->outcome_share_last_mean},
        /* missing in an iteration in which the outcomes of every group are equal */
        {"adca/alpha_effective", m->n_alpha_effective > 0 ? m->alpha_effective_where_defined : (double)NAN},
        {"adca/sum_step_reward_sign_agree", m->sum_step_reward_sign_agree},
        {"adca/pos_traj_good_majority_rate", m->pos_traj_good_majority_rate},
        {"adca/neg_traj_bad_majority_rate", m->neg_traj_bad_majority_rate},
        {"adca/attr_mean", m->attr_mean},
        {"adca/attr_std", m->attr_std},
        {"adca/out_mean", m->out_mean},
        {"adca/out_std", m->out_std},
        {"adca/consistent_weight_share_pos", m->consistent_weight_share_pos},
        {"adca/consistent_weight_share_neg", m->consistent_weight_share_neg},
        {"adca/unit_weight_mean", m->unit_weight_mean},
        {"adca/unit_weight_p95", m->unit_weight_p95},
        {"adca/degenerate_total_w_count", m->degenerate_total_w_count},
        {"adca/r_norm_group_mean_abs_p95", m->r_norm_group_mean_abs_p95},
        {"adca/r_norm_group_std_p95", m->r_norm_group_std_p95},
        {"adca/zscore_bad_group_cnt", m->zscore_bad_group_cnt},
        {"adca/good_bad_rnorm_gap_pos", m->good_bad_rnorm_gap_pos},
        {"adca/good_bad_rnorm_gap_neg", m->good_bad_rnorm_gap_neg},
        {"adca/rnorm_small_mag_ratio", m->rnorm_small_mag_ratio},
        {"adca/pre_norm_sum_sign_agree", m->pre_norm_sum_sign_agree},
        {"adca/post_norm_sum_mean", m->post_norm_sum_mean},
    };
    const size_t both = 9;
    size_t n = m->unit_weight_mean > 0 ? sizeof all / sizeof *all : both;
    for (size_t i = 0; i < n; i++)
        set_real(line, all[i].name, all[i].value);
}

/* Only options of the loss that had an effect are reported, so that the telemetry of other recipes is unchanged. */
static void set_offpolicy(json_t *line, const struct trainer_offpolicy *x)
{
    const struct number all[] = {
        {"opsm_dropped", x->opsm_dropped},
        {"after_tool", x->after_tool},
        {"after_tool_clip_fraction", x->after_tool_clip_fraction},
        {"after_tool_ratio", x->after_tool_ratio},
        {"after_tool_kl", x->after_tool_kl},
        {"compose_backend", x->backend},
        {"compose_staleness", x->staleness},
        {"compose_backend_capped", x->backend_capped},
        {"compose_staleness_capped", x->staleness_capped},
        {"compose_ess", x->compose_ess},
        {"kl_reward", x->kl_reward},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (fabs(all[i].value) > 0)
            set_real(line, all[i].name, all[i].value);
}

/*
 * Reports the routing of mixtures of experts. In off-policy training it also reports how far sampler and learner
 * differ, and how far they differ if the learner replays the sampler's routes.
 */
static void set_routing(json_t *line, const struct trainer_routing *routing)
{
    if (routing->load > 0)
        set_real(line, "expert_load", routing->load);
    if (routing->tokens == 0)
        return;
    set_real(line, "routes_differ", routing->differ);
    set_real(line, "experts_common", routing->common);
    set_real(line, "routed_kl", routing->kl);
    if (routing->kl_replayed > 0)
        set_real(line, "replayed_kl", routing->kl_replayed);
}

/* Reports how questions, or their rollouts, were allocated by the questions' earlier results. */
static void set_allocation(json_t *line, const struct trainer_allocation *allocation)
{
    if (allocation->questions == 0)
        return;
    set_real(line, "pass_rate_chosen", allocation->chosen);
    set_real(line, "pass_rate_pool", allocation->pool);
    set_real(line, "mixed_groups", allocation->mixed);
    if (allocation->dropped > 0)
        set_count(line, "dropped_questions", allocation->dropped);
    if (allocation->most > 0) {
        set_count(line, "group_size_least", allocation->least);
        set_count(line, "group_size_most", allocation->most);
    }
}

/*
 * Means are reported with every iteration, so that the row of a trial that is cut off has them, too. They are reported
 * only if a loss reads clip scales, because the row would otherwise claim an adaptive clip range.
 */
static void set_clip_scale(struct recipe_events *wire, json_t *line, const struct trainer_iteration *it)
{
    set_real(line, "clip_scale_mean", it->clip_scale_mean);
    set_real(line, "clip_scale_std", it->clip_scale_std);
    set_real(line, "clip_scale_turn_mean", it->clip_scale_turn_mean);
    set_real(line, "clip_scale_turn_std", it->clip_scale_turn_std);
    wire->n_scaled++;
    wire->clip_scale_mean += it->clip_scale_mean;
    wire->clip_scale_std += it->clip_scale_std;
    wire->clip_scale_turn_mean += it->clip_scale_turn_mean;
    wire->clip_scale_turn_std += it->clip_scale_turn_std;
    set_real(line, "ig_clip_scale_mean", wire->clip_scale_mean / wire->n_scaled);
    set_real(line, "ig_clip_scale_std", wire->clip_scale_std / wire->n_scaled);
}

static void set_iteration(struct recipe_events *wire, json_t *line, const struct trainer_iteration *it)
{
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        set_real(line, reals[i].name, *(const double *)(const void *)((const char *)it + reals[i].offset));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        set_count(line, counts[i].name, *(const uint64_t *)(const void *)((const char *)it + counts[i].offset));
    set_gains(line, it->gain, it->n_gain);
    for (int32_t i = 0; i < it->n_envs; i++)
        set_env(line, i, &it->env[i]);
    set_components(line, it);
    set_speed(line, it);
    set_judge(line, &it->judge);
    set_routing(line, &it->routing);
    set_offpolicy(line, &it->offpolicy);
    set_ends(line, it->end_of_mix);
    set_distillation(line, &it->distillation);
    set_streams(line, &it->streams);
    set_allocation(line, &it->allocation);
    set_aside(line, it);
    if (it->n_valued > 0)
        set_values(line, &it->values);
    if (it->adca)
        set_adca(line, it->adca);
    if (it->n_alpha > 0)
        set_real(line, "alpha_used", it->alpha_used);
    set_turns(line, it->gain, it->n_gain);
    wire->n_iterations++;
    wire->generation_s += it->generation_s;
    wire->gain_s += it->gain_s;
    wire->scoring_s += it->scoring_s;
    wire->update_s += it->update_s;
    if (it->clip_scaled)
        set_clip_scale(wire, line, it);
}

static void set_phase(json_t *line, const char *phase)
{
    json_object_set_new(line, "phase", json_string(phase));
}

static void set_step(json_t *line, const char *phase, const struct trainer_event *event)
{
    set_phase(line, phase);
    set_count(line, "step", (uint64_t)event->step);
    set_count(line, "steps", (uint64_t)event->steps);
}

static void set_start(json_t *line, const struct trainer_event *event)
{
    char text[128], kernels[TRAINER_KERNELS_MAX];
    int n = snprintf(text, sizeof text, "%zu parameters, at most %.1f MiB", event->parameters, event->memory_bound / (1 << 20));
    if (event->step > 0)
        snprintf(text + n, sizeof text - (size_t)n, ", goes on after iteration %d", (int)event->step);
    json_object_set_new(line, "text", json_string(text));
    trainer_kernels(kernels);
    json_object_set_new(line, "kernels", cli_json_text(kernels));
    set_count(line, "parameters", event->parameters);
    if (event->step > 0) /* so that the row shows that the training was resumed */
        json_object_set_new(line, "param", json_pack("{s:i}", "resumed_after", (int)event->step));
    set_real(line, "memory_bound", event->memory_bound);
}

/*
 * Without an iteration nothing was measured, so nothing is reported; the clip scale is reported only if a loss has read
 * it. Means over turns cover the iterations of this process only: those since a resumed run was resumed.
 */
static void set_final(const struct recipe_events *wire, json_t *line, const struct trainer_event *event)
{
    set_phase(line, TRIAL_PHASE_DONE);
    set_real(line, "score", event->score);
    set_real(line, "em_std", event->score_std);
    set_real(line, "em_greedy", event->score_greedy);
    set_real(line, "area", event->area);
    set_real(line, "eval_s", event->eval_s);
    if (wire->n_scaled > 0) {
        set_real(line, "ig_clip_scale_mean", event->clip_scale_mean);
        set_real(line, "ig_clip_scale_std", event->clip_scale_std);
        set_real(line, "clip_scale_turn_mean", wire->clip_scale_turn_mean / wire->n_scaled);
        set_real(line, "clip_scale_turn_std", wire->clip_scale_turn_std / wire->n_scaled);
    }
    if (event->steps > 0) {
        set_real(line, "entropy", event->entropy);
        set_real(line, "clip_fraction", event->clip_fraction);
    }
    set_gains(line, event->gain, event->n_gain);
    for (int32_t i = 0; i < event->n_envs; i++)
        set_env(line, i, &event->env[i]);
    set_inert(line, event->inert);
    if (event->trace_s > 0)
        set_real(line, "trace_s", event->trace_s);
    if (wire->n_iterations) /* means cover the iterations of this process only: those since a resumed run was resumed */
        set_means(wire, line);
    if (event->n_valued > 0)
        set_values(line, &event->values);
    set_judge(line, &event->judge);
    set_row(wire, line, event);
    set_turns(line, event->gain, event->n_gain);
}

/*
 * The process that watches the trial applies its time limits to the phases train, eval and done; the phase "warm start"
 * is only shown to the user.
 */
json_t *recipe_events_event(struct recipe_events *wire, const struct trainer_event *event)
{
    json_t *line = json_object();
    switch (event->kind) {
    case TRAINER_EVENT_START: set_start(line, event); break;
    case TRAINER_EVENT_WARM:
        set_step(line, "warm start", event);
        set_real(line, "loss", event->loss);
        break;
    case TRAINER_EVENT_ITERATION:
        set_step(line, TRIAL_PHASE_TRAIN, event);
        if (event->iteration)
            set_iteration(wire, line, event->iteration);
        break;
    case TRAINER_EVENT_EVALUATION:
        set_step(line, TRIAL_PHASE_TRAIN, event);
        set_real(line, "score", event->score);
        break;
    case TRAINER_EVENT_EVALUATING: set_phase(line, TRIAL_PHASE_EVAL); break;
    case TRAINER_EVENT_DONE: set_final(wire, line, event); break;
    }
    set_real(line, "train_s", event->train_s);
    return line;
}

/* The kind of failure decides the label: `size` is size_blocked, `input` before the first step is preflight_crash,
 * all others are crash. Lack of memory and numbers that are not finite do not count as `input`, because no check of the
 * recipe can find them in advance. */
json_t *recipe_events_failure(const struct trainer_error *error)
{
    enum trial_failure failure = TRIAL_FAILURE_INPUT;
    if (error->status == TRAINER_ESIZE)
        failure = TRIAL_FAILURE_SIZE;
    else if (error->status == TRAINER_ENOMEM || error->status == TRAINER_ENUMERIC || error->status == TRAINER_EJUDGE)
        failure = TRIAL_FAILURE_OTHER;
    json_t *line = json_object();
    cli_json_set(line, "failed", cli_json_text(error->text), "kind", json_string(trial_failure_name(failure)), NULL);
    return line;
}
