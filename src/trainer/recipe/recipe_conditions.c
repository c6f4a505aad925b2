/*
 * A condition looks at other settings of the recipe only. Whether a setting has an effect on the data of a trial, such as
 * a length penalty on rollouts of equal length, is found out by run/gradient_trace.c.
 */
#include "recipe/recipe_conditions.h"

#include <stdio.h>
#include <string.h>

#include "recipe/recipe_needs.h"
#include "recipe/recipe_value.h"
#include "support/error.h"
#include "support/judged_iterations.h"

/* What a condition looks at: task is NULL for a field of the root table, field is the field itself. */
struct looked_at {
    const struct trainer_recipe *recipe;
    const struct trainer_task *task;
    const struct recipe_field *field;
};

static const struct rl_algorithm *algorithm_of(const struct trainer_task *task)
{
    return rl_algorithm_at(task->algorithm.name);
}

typedef bool task_test(const struct trainer_task *task);

static bool any_task(const struct trainer_recipe *recipe, task_test *test)
{
    bool any = false;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        any = any || test(&recipe->tasks[i]);
    return any;
}

/* ---- tests of a task ---------------------------------------------------------------------- */

static bool has_advantages(const struct trainer_task *task)
{
    return algorithm_of(task)->loss == RL_COMPONENT_RL;
}

static bool reads_gains(const struct trainer_task *task)
{
    return algorithm_of(task)->needs & RL_NEED_GAINS;
}

static bool asks_judge(const struct trainer_task *task)
{
    return algorithm_of(task)->needs & RL_NEED_JUDGE;
}

static bool has_values(const struct trainer_task *task)
{
    return algorithm_of(task)->needs & RL_NEED_VALUES;
}

static bool samples_policy(const struct trainer_task *task)
{
    return !(algorithm_of(task)->needs & RL_NEED_FROZEN_SOURCE) && !task->data[0];
}

static bool distils(const struct trainer_task *task)
{
    return task->algorithm.distill.how != TRAINER_DISTILL_NONE;
}

static bool has_hops(const struct trainer_task *task)
{
    return task->env.kind == TRAINER_HOPWORLD;
}

static bool has_turns(const struct trainer_task *task)
{
    return task->env.kind != TRAINER_REVERSE;
}

/* ---- conditions of the root table --------------------------------------------------------- */

static bool is_trained(const struct looked_at *at)
{
    return at->recipe->training.iterations > 0;
}

static bool has_experts(const struct looked_at *at)
{
    return at->recipe->model.experts > 0;
}

static bool is_from_scratch(const struct looked_at *at)
{
    return !at->recipe->checkpoint[0];
}

static bool is_warm_started(const struct looked_at *at)
{
    return is_from_scratch(at) && at->recipe->warm_start.steps > 0;
}

static bool is_warm_started_on_hops(const struct looked_at *at)
{
    return is_warm_started(at) && any_task(at->recipe, has_hops);
}

static bool is_warm_started_with_turns(const struct looked_at *at)
{
    return is_warm_started(at) && any_task(at->recipe, has_turns);
}

static bool has_hopworld(const struct looked_at *at)
{
    return any_task(at->recipe, has_hops);
}

static bool has_policy_loss(const struct looked_at *at)
{
    return any_task(at->recipe, has_advantages);
}

/* gspo, sapo and geo_mean have aggregations of their own; dppo and ipo only have token-mean. */
static bool is_aggregated(const struct looked_at *at)
{
    enum trainer_loss_name loss = at->recipe->loss.name;
    return has_policy_loss(at) && loss != TRAINER_LOSS_GSPO && loss != TRAINER_LOSS_SAPO && loss != TRAINER_LOSS_GEO_MEAN;
}

/* The weighted KL penalty has the loss's clip range, too. */
static bool is_clipped(const struct looked_at *at)
{
    const struct trainer_loss *loss = &at->recipe->loss;
    return (has_policy_loss(at) && recipe_loss_clips(loss->name)) || (loss->kl_coef > 0 && loss->kl_place == TRAINER_KL_WEIGHTED);
}

static bool is_dual_clipped(const struct looked_at *at)
{
    enum trainer_loss_name loss = at->recipe->loss.name;
    return has_policy_loss(at) && (loss == TRAINER_LOSS_PPO || loss == TRAINER_LOSS_COMPOSE);
}

static bool has_value_head(const struct looked_at *at)
{
    return any_task(at->recipe, has_values);
}

static bool is_sampled(const struct looked_at *at)
{
    return any_task(at->recipe, samples_policy);
}

static bool is_stale(const struct looked_at *at)
{
    return is_sampled(at) && at->recipe->sampler.staleness > 0;
}

/* bypass with ppo reports its weights and does not apply them. */
static bool is_weighed(const struct looked_at *at)
{
    enum trainer_correction_name name = at->recipe->correction.name;
    bool applied = name == TRAINER_CORRECTION_BYPASS && at->recipe->loss.name == TRAINER_LOSS_REINFORCE;
    return name == TRAINER_CORRECTION_TIS || name == TRAINER_CORRECTION_DECOUPLED || applied;
}

static bool is_rejecting(const struct looked_at *at)
{
    enum trainer_correction_name name = at->recipe->correction.name;
    return name == TRAINER_CORRECTION_DECOUPLED || name == TRAINER_CORRECTION_BYPASS;
}

static bool has_kl(const struct looked_at *at)
{
    return at->recipe->loss.kl_coef > 0;
}

/* A penalty in the reward has no gradient of its own. */
static bool has_kl_gradient(const struct looked_at *at)
{
    return has_kl(at) && at->recipe->loss.kl_place != TRAINER_KL_REWARD;
}

static bool is_moving(const struct looked_at *at)
{
    return has_kl(at) && at->recipe->reference.kind != TRAINER_REFERENCE_START;
}

static bool is_averaged(const struct looked_at *at)
{
    return has_kl(at) && at->recipe->reference.kind == TRAINER_REFERENCE_EMA;
}

static bool has_opsm(const struct looked_at *at)
{
    return has_policy_loss(at) && at->recipe->loss.opsm.unit != TRAINER_OPSM_NONE;
}

static bool is_composed(const struct looked_at *at)
{
    return has_policy_loss(at) && at->recipe->loss.name == TRAINER_LOSS_COMPOSE;
}

static bool has_own_clip(const struct looked_at *at)
{
    return has_policy_loss(at) && at->recipe->loss.after_tool.own_clip;
}

static bool is_judged(const struct looked_at *at)
{
    return any_task(at->recipe, asks_judge);
}

static bool has_endpoint(const struct looked_at *at)
{
    return is_judged(at) && at->recipe->judge.endpoint[0];
}

/* ---- conditions of an environment --------------------------------------------------------- */

static bool takes_turns(const struct looked_at *at)
{
    return has_turns(at->task);
}

static bool is_searched(const struct looked_at *at)
{
    return has_turns(at->task) && at->task->env.kind != TRAINER_SUMS;
}

/* The rollouts of a file bring their questions along. */
static bool is_asked(const struct looked_at *at)
{
    return is_trained(at) && !at->task->data[0];
}

static bool has_pool(const struct looked_at *at)
{
    return at->task->pool > 0;
}

static bool has_sizes(const struct looked_at *at)
{
    return has_pool(at) && at->task->sizes != TRAINER_GROUPS_EQUAL;
}

/* The core's table knows which algorithm reads alpha, beta, .. */
static bool is_read_by_algorithm(const struct looked_at *at)
{
    return rl_algorithm_reads(algorithm_of(at->task), recipe_key(at->field));
}

/* adca is grpo after the iterations that ask the judge, and reads the divisor only then. */
static bool is_grpo_at_times(const struct looked_at *at)
{
    int64_t judged = judged_iterations(at->task);
    return !asks_judge(at->task) || (judged > 0 && judged < at->recipe->training.iterations);
}

static bool is_normalised(const struct looked_at *at)
{
    return is_read_by_algorithm(at) && is_grpo_at_times(at);
}

/* turn-group rescales gains by their deviation in any case. */
static bool is_divided(const struct looked_at *at)
{
    const struct trainer_algorithm *a = &at->task->algorithm;
    return is_normalised(at) && (a->norm_by_std || a->name == RL_ALGORITHM_TURN_GROUP);
}

static bool has_advantage(const struct looked_at *at)
{
    return has_advantages(at->task);
}

/* custom takes its advantages from a file and reads no reward. */
static bool is_rewarded(const struct looked_at *at)
{
    return has_advantages(at->task) && !(algorithm_of(at->task)->needs & RL_NEED_CALLBACK);
}

/*
 * An anchor is a length that is set beforehand, or the length of earlier answers to the same question, and only the
 * questions of a pool return.
 */
static bool is_penalised(const struct looked_at *at)
{
    bool anchored = at->task->algorithm.length_penalty == TRAINER_LENGTH_ANCHOR;
    return is_rewarded(at) && (!anchored || at->task->pool > 0 || at->task->algorithm.length.target > 0);
}

static bool has_gains(const struct looked_at *at)
{
    return reads_gains(at->task);
}

static bool is_taught(const struct looked_at *at)
{
    unsigned needs = algorithm_of(at->task)->needs;
    bool frozen = needs & RL_NEED_FROZEN_REFERENCE || (needs & RL_NEED_FROZEN_SOURCE && !at->task->data[0]);
    return frozen || (distils(at->task) && at->task->algorithm.distill.teacher == TRAINER_TEACHER_CHECKPOINT);
}

/* A frozen teacher that gives log-probs; sft's source also samples, which an endpoint does not do here. */
static bool is_scored(const struct looked_at *at)
{
    return algorithm_of(at->task)->needs & RL_NEED_FROZEN_REFERENCE ||
           (has_advantages(at->task) && distils(at->task) && at->task->algorithm.distill.teacher == TRAINER_TEACHER_CHECKPOINT);
}

static bool is_remote(const struct looked_at *at)
{
    return is_scored(at) && at->task->algorithm.endpoint.base_url[0];
}

static bool is_shortened(const struct looked_at *at)
{
    return has_advantages(at->task) && at->task->algorithm.length_penalty != TRAINER_LENGTH_NONE;
}

static bool is_targeted(const struct looked_at *at)
{
    enum trainer_length_penalty penalty = at->task->algorithm.length_penalty;
    return has_advantages(at->task) && (penalty == TRAINER_LENGTH_STEP || penalty == TRAINER_LENGTH_ANCHOR);
}

static bool is_linear(const struct looked_at *at)
{
    return has_advantages(at->task) && at->task->algorithm.length_penalty == TRAINER_LENGTH_LINEAR;
}

static bool is_echo(const struct looked_at *at)
{
    return algorithm_of(at->task)->observes;
}

static bool has_echo_weight(const struct looked_at *at)
{
    return is_echo(at) && !at->task->algorithm.echo.roles[0];
}

/* Only a tool's calls are limited; the rollouts of reverse have a fixed length. */
static bool is_cut_off(const struct looked_at *at)
{
    return has_advantages(at->task) && has_turns(at->task);
}

static bool is_custom(const struct looked_at *at)
{
    return algorithm_of(at->task)->needs & RL_NEED_CALLBACK && !at->task->data[0];
}

static bool is_continued(const struct looked_at *at)
{
    return reads_gains(at->task) && at->task->algorithm.prefix.value == TRAINER_PREFIX_CONTINUATIONS;
}

static bool is_distilled(const struct looked_at *at)
{
    return has_advantages(at->task) && distils(at->task);
}

static bool is_distilled_by_advantage(const struct looked_at *at)
{
    return has_advantages(at->task) && at->task->algorithm.distill.how == TRAINER_DISTILL_ADVANTAGE;
}

static bool is_distilled_by_loss(const struct looked_at *at)
{
    return has_advantages(at->task) && at->task->algorithm.distill.how == TRAINER_DISTILL_LOSS;
}

static bool has_passk(const struct looked_at *at)
{
    return is_rewarded(at) && at->task->algorithm.passk.k > 1;
}

static bool has_end_of_passk(const struct looked_at *at)
{
    return has_passk(at) && at->task->algorithm.passk.iterations > 0;
}

static bool is_shown(const struct looked_at *at)
{
    return algorithm_of(at->task)->needs & RL_NEED_POLICY_REFERENCE ||
           (distils(at->task) && at->task->algorithm.distill.teacher == TRAINER_TEACHER_POLICY);
}

static bool is_adca(const struct looked_at *at)
{
    return asks_judge(at->task);
}

static bool counts_iterations(const struct looked_at *at)
{
    return asks_judge(at->task) && at->task->algorithm.prm_epochs == 0;
}

/* An epoch is a pass over the pool; new questions in every iteration have none. */
static bool has_epochs(const struct looked_at *at)
{
    return asks_judge(at->task) && at->task->pool > 0;
}

static bool is_decoupled(const struct looked_at *at)
{
    return asks_judge(at->task) && at->task->algorithm.adca.scheme == TRAINER_ADCA_DECOUPLE;
}

static bool is_allocated(const struct looked_at *at)
{
    return asks_judge(at->task) && at->task->algorithm.adca.scheme == TRAINER_ADCA_ALLOCATION;
}

static bool has_step_scores(const struct looked_at *at)
{
    return asks_judge(at->task) && at->task->algorithm.adca.batch_norm;
}

static bool has_outcome(const struct looked_at *at)
{
    return asks_judge(at->task) && at->task->algorithm.adca.outcome != TRAINER_ADCA_ONLY;
}

static bool is_schedulable(const struct looked_at *at)
{
    return rl_algorithm_reads(algorithm_of(at->task), "alpha");
}

static bool is_scheduled(const struct looked_at *at)
{
    enum trainer_schedule_kind kind = at->task->algorithm.schedule.kind;
    return is_schedulable(at) && (kind == TRAINER_LINEAR || kind == TRAINER_COSINE);
}

static bool is_beta_scheduled(const struct looked_at *at)
{
    return is_scheduled(at) && rl_algorithm_reads(algorithm_of(at->task), "beta");
}

static bool has_agents(const struct looked_at *at)
{
    return algorithm_of(at->task)->needs & RL_NEED_AGENTS;
}

static bool always(const struct looked_at *at)
{
    (void)at;
    return true;
}

/* ---- the table ---------------------------------------------------------------------------- */

#define RL_ONLY "an algorithm with advantages (not opd, opsd or sft)"
#define REWARD_ONLY "an algorithm with advantages from rewards (not custom, opd, opsd or sft)"
#define GAIN_ALGORITHMS "algorithm.name joint, separate, turn-group, turn-group-v1d, process or vineppo"
#define LOSSES_WITH_A_RANGE "loss.name ppo, turn, gspo, cispo, geo_mean or compose"

/* needs: completes "it needs ..". An empty text of READS, NORMALISED and DIVIDED is made from the core's table. */
static const struct {
    bool (*holds)(const struct looked_at *at);
    const char *needs;
    bool lenient;
} conditions[RECIPE_N_WHENS] = {
    [RECIPE_WHEN_ALWAYS] = {always, "", false},
    [RECIPE_WHEN_TRAINED] = {is_trained, "training.iterations above 0", true},
    [RECIPE_WHEN_EXPERTS] = {has_experts, "model.experts.count above 0: a dense policy has no routes", false},
    [RECIPE_WHEN_FROM_SCRATCH] = {is_from_scratch, "a start without start.checkpoint", true},
    [RECIPE_WHEN_WARM] = {is_warm_started, "start.warm_start.steps above 0 without start.checkpoint", true},
    [RECIPE_WHEN_WARM_HOPS] = {is_warm_started_on_hops, "an environment hopworld and a warm start", true},
    [RECIPE_WHEN_WARM_TURNS] = {is_warm_started_with_turns, "an environment other than reverse and a warm start", true},
    [RECIPE_WHEN_HOPS] = {has_hopworld, "an environment hopworld", true},
    [RECIPE_WHEN_RL] = {has_policy_loss, RL_ONLY, false},
    [RECIPE_WHEN_AGGREGATED] = {is_aggregated, "loss.name ppo, turn, cispo, gpg, reinforce, dppo, ipo or compose", false},
    [RECIPE_WHEN_CLIPPED] = {is_clipped, LOSSES_WITH_A_RANGE, false},
    [RECIPE_WHEN_DUAL_CLIPPED] = {is_dual_clipped, "loss.name ppo or compose", false},
    [RECIPE_WHEN_VALUES] = {has_value_head, "algorithm.name ppo", false},
    [RECIPE_WHEN_SAMPLED] =
        {is_sampled, "an algorithm other than sft, whose rollouts a frozen model samples, and an environment without data.file",
         false},
    [RECIPE_WHEN_STALE] = {is_stale, "sampler.staleness above 0", false},
    [RECIPE_WHEN_WEIGHED] = {is_weighed, "correction.name tis or decoupled, or bypass with loss.name reinforce", false},
    [RECIPE_WHEN_REJECTED] = {is_rejecting, "correction.name decoupled or bypass", false},
    [RECIPE_WHEN_KL] = {has_kl, "loss.kl_coef above 0", false},
    [RECIPE_WHEN_KL_GRADIENT] = {has_kl_gradient, "loss.kl_coef above 0, and kl.place loss or weighted", false},
    [RECIPE_WHEN_MOVING] = {is_moving, "loss.kl_coef above 0 and reference.kind lagged or ema", false},
    [RECIPE_WHEN_AVERAGED] = {is_averaged, "loss.kl_coef above 0 and reference.kind ema", false},
    [RECIPE_WHEN_OPSM] = {has_opsm, "opsm.unit rollout or turn", false},
    [RECIPE_WHEN_COMPOSED] = {is_composed, "loss.name compose", false},
    [RECIPE_WHEN_OWN_CLIP] = {has_own_clip, "after_tool.own_clip true", false},
    [RECIPE_WHEN_JUDGED] = {is_judged, "an algorithm that asks a judge (adca)", false},
    [RECIPE_WHEN_ENDPOINT] = {has_endpoint, "judge.endpoint, and an algorithm that asks a judge (adca)", false},
    [RECIPE_WHEN_TURNS] = {takes_turns, "an environment with a tool (not reverse)", false},
    [RECIPE_WHEN_SEARCHED] = {is_searched, "an environment with a search tool (hopworld, slots or ledger)", false},
    [RECIPE_WHEN_ASKED] = {is_asked, "training.iterations above 0, and no data.file", true},
    [RECIPE_WHEN_POOL] = {has_pool, "pool.questions above 0", false},
    [RECIPE_WHEN_SIZED] = {has_sizes, "pool.questions above 0 and groups.sizes solved or mixed", false},
    [RECIPE_WHEN_READS] = {is_read_by_algorithm, "", false},
    [RECIPE_WHEN_NORMALISED] = {is_normalised, "", false},
    [RECIPE_WHEN_DIVIDED] = {is_divided, "", false},
    [RECIPE_WHEN_ADVANTAGE] = {has_advantage, RL_ONLY, false},
    [RECIPE_WHEN_REWARDED] = {is_rewarded, REWARD_ONLY, false},
    [RECIPE_WHEN_PENALISED] = {is_penalised, REWARD_ONLY "; anchor also needs pool.questions or algorithm.target.length above 0",
                               false},
    [RECIPE_WHEN_GAINS] = {has_gains, GAIN_ALGORITHMS, false},
    [RECIPE_WHEN_TAUGHT] = {is_taught,
                            "algorithm.name opd, sft without data.file, or algorithm.distill with the teacher checkpoint", false},
    [RECIPE_WHEN_SHORTENED] = {is_shortened, "algorithm.length_penalty uniform, group, anchor, linear or step", false},
    [RECIPE_WHEN_TARGETED] = {is_targeted, "algorithm.length_penalty step or anchor", false},
    [RECIPE_WHEN_LINEAR] = {is_linear, "algorithm.length_penalty linear", false},
    [RECIPE_WHEN_ECHO] = {is_echo, "algorithm.name echo", false},
    [RECIPE_WHEN_ECHO_WEIGHT] = {has_echo_weight, "algorithm.name echo without algorithm.echo.roles", false},
    [RECIPE_WHEN_CUT_OFF] = {is_cut_off, RL_ONLY ", and an environment with a tool (not reverse)", false},
    [RECIPE_WHEN_CUSTOM] = {is_custom, "algorithm.name custom without data.file", false},
    [RECIPE_WHEN_CONTINUED] = {is_continued, "algorithm.prefix.value continuations, and " GAIN_ALGORITHMS, false},
    [RECIPE_WHEN_DISTILLED] = {is_distilled, "algorithm.distill.how advantage or loss", false},
    [RECIPE_WHEN_DISTILLED_K1] = {is_distilled_by_advantage, "algorithm.distill.how advantage", false},
    [RECIPE_WHEN_DISTILLED_K2] = {is_distilled_by_loss, "algorithm.distill.how loss", false},
    [RECIPE_WHEN_SCORED] = {is_scored, "algorithm.name opd, or algorithm.distill with the teacher checkpoint", false},
    [RECIPE_WHEN_REMOTE] =
        {is_remote, "algorithm.endpoint.base_url, and algorithm.name opd or algorithm.distill with the teacher checkpoint",
         false},
    [RECIPE_WHEN_PASSK] = {has_passk, "algorithm.passk.k above 1", false},
    [RECIPE_WHEN_PASSK_ENDS] = {has_end_of_passk, "algorithm.passk.k above 1 and algorithm.passk_schedule.iterations above 0",
                                false},
    [RECIPE_WHEN_SHOWN] = {is_shown, "algorithm.name opsd or algorithm.distill.teacher policy", false},
    [RECIPE_WHEN_ADCA] = {is_adca, "algorithm.name adca", false},
    [RECIPE_WHEN_PRM_STEPS] = {counts_iterations, "algorithm.name adca without algorithm.prm.epochs", false},
    [RECIPE_WHEN_PRM_EPOCHS] = {has_epochs, "algorithm.name adca and pool.questions above 0", false},
    [RECIPE_WHEN_DECOUPLED] = {is_decoupled, "algorithm.name adca with algorithm.adca.scheme decouple", false},
    [RECIPE_WHEN_ALLOCATED] = {is_allocated, "algorithm.name adca with algorithm.adca.scheme allocation", false},
    [RECIPE_WHEN_STEP_SCORES] = {has_step_scores, "algorithm.name adca with algorithm.adca.batch_norm true", false},
    [RECIPE_WHEN_OUTCOME] = {has_outcome, "algorithm.name adca with algorithm.adca.outcome last_step or all_steps", false},
    [RECIPE_WHEN_SCHEDULABLE] = {is_schedulable, "algorithm.name turn-group-v1d or adca", false},
    [RECIPE_WHEN_SCHEDULED] = {is_scheduled, "algorithm.schedule.kind linear or cosine", false},
    [RECIPE_WHEN_SCHEDULED_BETA] = {is_beta_scheduled,
                                    "algorithm.name turn-group-v1d with algorithm.schedule.kind linear "
                                    "or cosine",
                                    false},
    [RECIPE_WHEN_AGENTS] = {has_agents, "algorithm.name hierarchical_grpo", false},
};

/* Without RECIPE_TRACED. */
static unsigned condition_of(const struct recipe_field *field)
{
    return field->when & ~RECIPE_TRACED;
}

bool recipe_is_read(const struct trainer_recipe *recipe, const struct trainer_task *task, const struct recipe_field *field)
{
    const struct looked_at at = {recipe, task, field};
    return conditions[condition_of(field)].holds(&at);
}

bool recipe_condition_is_lenient(const struct recipe_field *field)
{
    return conditions[condition_of(field)].lenient;
}

/* "algorithm.name grpo, echo or adca": the algorithms that read a setting of the core's table. */
static void name_readers(char text[256], const struct recipe_field *field)
{
    const char *key = recipe_key(field);
    const struct rl_algorithm *row;
    size_t used = (size_t)snprintf(text, 256, "algorithm.name"), left = 0;
    for (size_t i = 0; (row = rl_algorithm_at(i)); i++)
        left += rl_algorithm_reads(row, key);
    for (size_t i = 0, n = 0; (row = rl_algorithm_at(i)) && used < 256; i++)
        if (rl_algorithm_reads(row, key)) {
            const char *separator = n == 0 ? " " : n + 1 == left ? " or " : ", ";
            used += (size_t)snprintf(text + used, 256 - used, "%s%s", separator, row->name);
            n++;
        }
}

void recipe_condition_text(char text[256], const struct recipe_field *field)
{
    snprintf(text, 256, "%s", conditions[condition_of(field)].needs);
    if (condition_of(field) == RECIPE_WHEN_READS || condition_of(field) == RECIPE_WHEN_NORMALISED ||
        condition_of(field) == RECIPE_WHEN_DIVIDED)
        name_readers(text, field);
    if (condition_of(field) == RECIPE_WHEN_DIVIDED)
        strncat(text, " with algorithm.norm_by_std true", 255 - strlen(text));
}

/* ---- the check ---------------------------------------------------------------------------- */

/* Numbers are compared exactly, because defaults are copied and not computed. */
bool recipe_is_default(const struct recipe_field *field, const void *base, const void *initial)
{
    if (field->kind == RECIPE_TEXT)
        return strcmp((const char *)base + field->offset, (const char *)initial + field->offset) == 0;
    return field->size == 0 || !(recipe_number(field, base) < recipe_number(field, initial) ||
                                 recipe_number(field, base) > recipe_number(field, initial));
}

static void task_defaults(struct trainer_task *initial, const struct trainer_task *task)
{
    memset(initial, 0, sizeof *initial);
    recipe_value_init(&recipe_task, initial);
    trainer_algorithm_init(&initial->algorithm, task->algorithm.name);
}

/*
 * A name without an index ("alpha") sets all environments, also those that do not read it, so a setting counts as read if
 * another environment has the same value and reads it.
 */
static bool is_read_elsewhere(const struct trainer_recipe *recipe, const struct trainer_task *task,
                              const struct recipe_field *field)
{
    bool any = false;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        any = any || (&recipe->tasks[i] != task && recipe_is_default(field, &recipe->tasks[i], task) &&
                      recipe_is_read(recipe, &recipe->tasks[i], field));
    return any;
}

/* Where the unread settings of a recipe are written to. */
struct unread {
    struct trainer_unread *items;
    size_t n, max;
};

static void add_unread(struct unread *unread, const struct recipe_field *field, const char *prefix, const void *base)
{
    if (unread->n < unread->max) {
        struct trainer_unread *item = &unread->items[unread->n];
        bool algorithm = strncmp(field->path, "algorithm.", 10) == 0 && strcmp(prefix, "env.") == 0;
        snprintf(item->setting, sizeof item->setting, "%s%s", algorithm ? "" : prefix, field->path);
        recipe_value_words(item->value, field, base);
        recipe_condition_text(item->needs, field);
        item->refused = !recipe_condition_is_lenient(field);
    }
    unread->n++;
}

size_t trainer_recipe_unread(const struct trainer_recipe *recipe, struct trainer_unread *items, size_t max)
{
    struct unread unread = {items, 0, max};
    struct trainer_recipe initial;
    char prefix[32];
    trainer_recipe_init(&initial);
    for (size_t i = 0; i < recipe_root.n; i++) {
        const struct recipe_field *field = &recipe_root.fields[i];
        if (!recipe_is_default(field, recipe, &initial) && !recipe_is_read(recipe, NULL, field))
            add_unread(&unread, field, "", recipe);
    }
    for (int32_t t = 0; t < recipe->n_tasks; t++) {
        const struct trainer_task *task = &recipe->tasks[t];
        task_defaults(&initial.tasks[0], task);
        snprintf(prefix, sizeof prefix, "environments[%d].", t);
        for (size_t i = 0; i < recipe_task.n; i++) {
            const struct recipe_field *field = &recipe_task.fields[i];
            if (!recipe_is_default(field, task, &initial.tasks[0]) && !recipe_is_read(recipe, task, field) &&
                !is_read_elsewhere(recipe, task, field))
                add_unread(&unread, field, recipe->n_tasks > 1 ? prefix : "env.", task);
        }
    }
    return unread.n;
}

/*
 * A clip scale that no loss reads would be reported by the trial's row. beta above 0 is turn-group-v1d's default, so this
 * is not about settings that differ from their defaults.
 */
enum trainer_status recipe_check_clip_scale(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    const struct recipe_field *name = recipe_find(&recipe_root, "loss.name");
    bool bypass = recipe->correction.name == TRAINER_CORRECTION_BYPASS;
    for (int32_t i = 0; i < recipe->n_tasks && (bypass || !recipe_loss_clips(recipe->loss.name)); i++) {
        if (bypass && recipe_task_scales_clips(&recipe->tasks[i]))
            return trainer_fail(err, TRAINER_EINVAL,
                                "environments[%d].algorithm.beta scales the clip range, which correction.name bypass does "
                                "not scale; set algorithm.beta to 0, or choose another correction",
                                i);
        if (recipe_task_scales_clips(&recipe->tasks[i]))
            return trainer_fail(err, TRAINER_EINVAL,
                                "environments[%d].algorithm.beta scales the clip range, which loss.name %s does not "
                                "have; set algorithm.beta to 0, or choose " LOSSES_WITH_A_RANGE,
                                i, recipe_choice(name, (size_t)recipe->loss.name));
    }
    return TRAINER_OK;
}

/* All refused settings are named, so that a recipe with several of them is corrected at once. */
enum trainer_status recipe_check_read(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    struct trainer_unread items[16];
    char text[TRAINER_ERROR_TEXT_MAX] = "";
    size_t found = trainer_recipe_unread(recipe, items, 16), used = 0, refused = 0;
    for (size_t i = 0; i < found && i < 16; i++)
        if (items[i].refused && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s is %s, but nothing reads it: it needs %s",
                                     refused++ ? "; " : "", items[i].setting, items[i].value, items[i].needs);
    return refused ? trainer_fail(err, TRAINER_EINVAL, "%s", text) : recipe_check_clip_scale(recipe, err);
}
