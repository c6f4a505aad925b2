/*
 * A condition looks at other settings of the recipe only. Whether a setting has an effect on the data of a trial, such as
 * a length penalty on rollouts of equal length, is found out by run/gradient_trace.c.
 */
#include "recipe/recipe_conditions.h"

#include <stdio.h>
#include <string.h>

#include "recipe/recipe_foreign.h"
#include "recipe/recipe_needs.h"
#include "recipe/recipe_value.h"
#include "support/error.h"
#include "support/judged_iterations.h"

static const struct rl_algorithm *algorithm_of(const struct trainer_task *task)
{
    return rl_algorithm_at(task->algorithm.name);
}

static bool has_advantages(const struct trainer_task *task)
{
    return algorithm_of(task)->loss == RL_COMPONENT_RL;
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

static bool has_hops(const struct trainer_task *task)
{
    return task->env.kind == TRAINER_HOPWORLD;
}

static bool has_turns(const struct trainer_task *task)
{
    return task->env.kind != TRAINER_REVERSE;
}

static bool any_task(const struct trainer_recipe *recipe, bool (*test)(const struct trainer_task *task))
{
    bool any = false;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        any = any || test(&recipe->tasks[i]);
    return any;
}

/* DPPO cuts tokens off by the same two numbers, but has no range that clip scales could widen. */
static bool bounds_divergence(const struct trainer_loss *loss)
{
    return loss->name == TRAINER_LOSS_DPPO_TV || loss->name == TRAINER_LOSS_DPPO_KL;
}

/* The conditions that look at the whole recipe. */
static bool holds_for_recipe(const struct trainer_recipe *recipe, enum recipe_when when)
{
    const struct trainer_loss *l = &recipe->loss;
    const enum trainer_correction_name correction = recipe->correction.name;
    const bool from_scratch = !recipe->checkpoint[0], warm = from_scratch && recipe->warm_start.steps > 0;
    const bool rl = any_task(recipe, has_advantages), sampled = any_task(recipe, samples_policy), kl = l->kl_coef > 0;
    switch (when) {
    case RECIPE_WHEN_TRAINED: return recipe->training.iterations > 0;
    case RECIPE_WHEN_EXPERTS: return recipe->model.experts > 0;
    case RECIPE_WHEN_FROM_SCRATCH: return from_scratch;
    case RECIPE_WHEN_WARM: return warm;
    case RECIPE_WHEN_WARM_HOPS: return warm && any_task(recipe, has_hops);
    case RECIPE_WHEN_WARM_TURNS: return warm && any_task(recipe, has_turns);
    case RECIPE_WHEN_HOPS: return any_task(recipe, has_hops);
    case RECIPE_WHEN_RL: return rl;
    /* gspo, luspo, sapo and geo_mean have aggregations of their own; dppo and ipo only have token-mean. */
    case RECIPE_WHEN_AGGREGATED:
        return rl && l->name != TRAINER_LOSS_GSPO && l->name != TRAINER_LOSS_SAPO && l->name != TRAINER_LOSS_GEO_MEAN &&
               l->name != TRAINER_LOSS_LUSPO;
    /* The weighted KL penalty has the loss's clip range, too. */
    case RECIPE_WHEN_CLIPPED:
        return (rl && (recipe_loss_clips(l->name) || bounds_divergence(l))) || (kl && l->kl_place == TRAINER_KL_WEIGHTED);
    case RECIPE_WHEN_DUAL_CLIPPED:
        return rl && (l->name == TRAINER_LOSS_PPO || l->name == TRAINER_LOSS_COMPOSE || bounds_divergence(l));
    case RECIPE_WHEN_DPPO: return rl && l->name == TRAINER_LOSS_DPPO;
    case RECIPE_WHEN_IPO: return rl && l->name == TRAINER_LOSS_IPO;
    case RECIPE_WHEN_STREAMED: return rl && (l->name == TRAINER_LOSS_DPPO || l->name == TRAINER_LOSS_IPO);
    case RECIPE_WHEN_DRO: return rl && l->name == TRAINER_LOSS_DRO;
    case RECIPE_WHEN_VESPO: return rl && l->name == TRAINER_LOSS_VESPO;
    case RECIPE_WHEN_VALUES: return any_task(recipe, has_values);
    case RECIPE_WHEN_SAMPLED: return sampled;
    case RECIPE_WHEN_STALE: return sampled && recipe->sampler.staleness > 0;
    /* bypass with ppo reports its weights and does not apply them. */
    case RECIPE_WHEN_WEIGHED:
        return correction == TRAINER_CORRECTION_TIS || correction == TRAINER_CORRECTION_DECOUPLED ||
               (correction == TRAINER_CORRECTION_BYPASS && l->name == TRAINER_LOSS_REINFORCE);
    case RECIPE_WHEN_REJECTED: return correction == TRAINER_CORRECTION_DECOUPLED || correction == TRAINER_CORRECTION_BYPASS;
    case RECIPE_WHEN_KL: return kl;
    /* All estimators have the same unbiased gradient. */
    case RECIPE_WHEN_KL_ESTIMATED: return kl && l->kl_place != TRAINER_KL_UNBIASED;
    /* A penalty in the reward has no gradient of its own, and the unbiased one has one gradient. */
    case RECIPE_WHEN_KL_GRADIENT: return kl && (l->kl_place == TRAINER_KL_LOSS || l->kl_place == TRAINER_KL_WEIGHTED);
    case RECIPE_WHEN_MOVING: return kl && recipe->reference.kind != TRAINER_REFERENCE_START;
    case RECIPE_WHEN_AVERAGED: return kl && recipe->reference.kind == TRAINER_REFERENCE_EMA;
    case RECIPE_WHEN_OPSM: return rl && l->opsm.unit != TRAINER_OPSM_NONE;
    case RECIPE_WHEN_COMPOSED: return rl && l->name == TRAINER_LOSS_COMPOSE;
    case RECIPE_WHEN_OWN_CLIP: return rl && l->after_tool.own_clip;
    case RECIPE_WHEN_JUDGED: return any_task(recipe, asks_judge);
    case RECIPE_WHEN_ENDPOINT: return any_task(recipe, asks_judge) && recipe->judge.endpoint[0];
    default: return true;
    }
}

/* The conditions that look at an environment. */
static bool holds_for_task(const struct trainer_recipe *recipe, const struct trainer_task *task, const struct recipe_field *field,
                           enum recipe_when when)
{
    const struct rl_algorithm *core = algorithm_of(task);
    const struct trainer_algorithm *a = &task->algorithm;
    const unsigned needs = core->needs;
    const bool rl = has_advantages(task), judged = asks_judge(task), distils = a->distill.how != TRAINER_DISTILL_NONE;
    const bool checkpoint = distils && a->distill.teacher == TRAINER_TEACHER_CHECKPOINT;
    /* custom takes its advantages from a file and reads no reward. */
    const bool rewarded = rl && !(needs & RL_NEED_CALLBACK), passk = rewarded && a->passk.k > 1;
    /* A frozen teacher that gives log-probs; sft's source also samples, which an endpoint does not do here. */
    const bool scored = needs & RL_NEED_FROZEN_REFERENCE || (rl && checkpoint);
    const bool scheduled =
        rl_algorithm_reads(core, "alpha") && (a->schedule.kind == TRAINER_LINEAR || a->schedule.kind == TRAINER_COSINE);
    const enum trainer_length_penalty penalty = a->length_penalty;
    switch (when) {
    case RECIPE_WHEN_TURNS: return has_turns(task);
    case RECIPE_WHEN_SEARCHED: return has_turns(task) && task->env.kind != TRAINER_SUMS;
    /* The rollouts of a file bring their questions along. */
    case RECIPE_WHEN_ASKED: return recipe->training.iterations > 0 && !task->data[0];
    case RECIPE_WHEN_POOL: return task->pool > 0;
    case RECIPE_WHEN_SIZED: return task->pool > 0 && task->sizes != TRAINER_GROUPS_EQUAL;
    /* The core's table knows which algorithm reads alpha, beta, .. */
    case RECIPE_WHEN_READS: return rl_algorithm_reads(core, recipe_key(field));
    /* adca is grpo after the iterations that ask the judge, and reads the divisor only then. */
    case RECIPE_WHEN_NORMALISED:
        return rl_algorithm_reads(core, recipe_key(field)) &&
               (!judged || (judged_iterations(task) > 0 && judged_iterations(task) < recipe->training.iterations));
    /* turn-group rescales gains by their deviation in any case. */
    case RECIPE_WHEN_DIVIDED:
        return holds_for_task(recipe, task, field, RECIPE_WHEN_NORMALISED) &&
               (a->norm_by_std || a->name == RL_ALGORITHM_TURN_GROUP);
    case RECIPE_WHEN_ADVANTAGE: return rl;
    case RECIPE_WHEN_REWARDED: return rewarded;
    /* An anchor is a length that is set beforehand, or the length of earlier answers to the same question, and only the questions of
     * a pool return. */
    case RECIPE_WHEN_PENALISED: return rewarded && (penalty != TRAINER_LENGTH_ANCHOR || task->pool > 0 || a->length.target > 0);
    case RECIPE_WHEN_GAINS: return needs & RL_NEED_GAINS;
    case RECIPE_WHEN_TAUGHT:
        return needs & RL_NEED_FROZEN_REFERENCE || (needs & RL_NEED_FROZEN_SOURCE && !task->data[0]) || checkpoint;
    case RECIPE_WHEN_SCORED: return scored;
    case RECIPE_WHEN_REMOTE: return scored && a->endpoint.base_url[0];
    case RECIPE_WHEN_SHORTENED: return rl && penalty != TRAINER_LENGTH_NONE;
    case RECIPE_WHEN_TARGETED: return rl && (penalty == TRAINER_LENGTH_STEP || penalty == TRAINER_LENGTH_ANCHOR);
    case RECIPE_WHEN_LINEAR: return rl && penalty == TRAINER_LENGTH_LINEAR;
    case RECIPE_WHEN_ECHO: return core->observes;
    case RECIPE_WHEN_ECHO_WEIGHT: return core->observes && !a->echo.roles[0];
    /* Only a tool's calls are limited; the rollouts of reverse have a fixed length. */
    case RECIPE_WHEN_CUT_OFF: return rl && has_turns(task);
    case RECIPE_WHEN_HOOKED: return recipe->training.iterations > 0;
    case RECIPE_WHEN_CUSTOM: return needs & RL_NEED_CALLBACK && !task->data[0];
    case RECIPE_WHEN_CONTINUED: return needs & RL_NEED_GAINS && a->prefix.value == TRAINER_PREFIX_CONTINUATIONS;
    case RECIPE_WHEN_DISTILLED: return rl && distils;
    case RECIPE_WHEN_DISTILLED_K1: return rl && a->distill.how == TRAINER_DISTILL_ADVANTAGE;
    case RECIPE_WHEN_DISTILLED_K2: return rl && a->distill.how == TRAINER_DISTILL_LOSS;
    case RECIPE_WHEN_PASSK: return passk;
    case RECIPE_WHEN_PASSK_ENDS: return passk && a->passk.iterations > 0;
    case RECIPE_WHEN_SHOWN: return needs & RL_NEED_POLICY_REFERENCE || (distils && a->distill.teacher == TRAINER_TEACHER_POLICY);
    case RECIPE_WHEN_ADCA: return judged;
    case RECIPE_WHEN_PRM_STEPS: return judged && a->prm_epochs == 0;
    /* An epoch is a pass over the pool; new questions in every iteration have none. */
    case RECIPE_WHEN_PRM_EPOCHS: return judged && task->pool > 0;
    case RECIPE_WHEN_DECOUPLED: return judged && a->adca.scheme == TRAINER_ADCA_DECOUPLE;
    case RECIPE_WHEN_ALLOCATED: return judged && a->adca.scheme == TRAINER_ADCA_ALLOCATION;
    case RECIPE_WHEN_STEP_SCORES: return judged && a->adca.batch_norm;
    case RECIPE_WHEN_OUTCOME: return judged && a->adca.outcome != TRAINER_ADCA_ONLY;
    case RECIPE_WHEN_SCHEDULABLE: return rl_algorithm_reads(core, "alpha");
    case RECIPE_WHEN_SCHEDULED: return scheduled;
    case RECIPE_WHEN_SCHEDULED_BETA: return scheduled && rl_algorithm_reads(core, "beta");
    case RECIPE_WHEN_AGENTS: return needs & RL_NEED_AGENTS;
    default: return holds_for_recipe(recipe, when);
    }
}

/* ---- the table ---------------------------------------------------------------------------- */

#define RL_ONLY "an algorithm with advantages (not opd, opsd or sft)"
#define REWARD_ONLY "an algorithm with advantages from rewards (not custom, opd, opsd or sft)"
#define GAIN_ALGORITHMS "algorithm.name joint, separate, turn-group, turn-group-v1d, process or vineppo"
#define LOSSES_WITH_A_RANGE "loss.name ppo, turn, gspo, cispo, geo_mean, dppo_tv, dppo_kl, luspo or compose"

/* needs: completes "it needs ..". An empty text of READS, NORMALISED and DIVIDED is made from the core's table. */
static const struct {
    const char *needs;
    bool lenient; /* see recipe_condition_is_lenient */
} conditions[RECIPE_N_WHENS] = {
    [RECIPE_WHEN_ALWAYS] = {""},
    [RECIPE_WHEN_TRAINED] = {"training.iterations above 0", true},
    [RECIPE_WHEN_EXPERTS] = {"model.experts.count above 0: a dense policy has no routes"},
    [RECIPE_WHEN_FROM_SCRATCH] = {"a start without start.checkpoint", true},
    [RECIPE_WHEN_WARM] = {"start.warm_start.steps above 0 without start.checkpoint", true},
    [RECIPE_WHEN_WARM_HOPS] = {"an environment hopworld and a warm start", true},
    [RECIPE_WHEN_WARM_TURNS] = {"an environment other than reverse and a warm start", true},
    [RECIPE_WHEN_HOPS] = {"an environment hopworld", true},
    [RECIPE_WHEN_RL] = {RL_ONLY},
    [RECIPE_WHEN_AGGREGATED] = {"loss.name ppo, turn, cispo, gpg, reinforce, dppo_tv, dppo_kl, dro, vespo, dppo, ipo or compose"},
    [RECIPE_WHEN_CLIPPED] = {LOSSES_WITH_A_RANGE},
    [RECIPE_WHEN_DUAL_CLIPPED] = {"loss.name ppo, dppo_tv, dppo_kl or compose"},
    [RECIPE_WHEN_DPPO] = {"loss.name dppo"},
    [RECIPE_WHEN_IPO] = {"loss.name ipo"},
    [RECIPE_WHEN_STREAMED] = {"loss.name dppo or ipo"},
    [RECIPE_WHEN_DRO] = {"loss.name dro"},
    [RECIPE_WHEN_VESPO] = {"loss.name vespo"},
    [RECIPE_WHEN_VALUES] = {"algorithm.name ppo"},
    [RECIPE_WHEN_SAMPLED] =
        {"an algorithm other than sft, whose rollouts a frozen model samples, and an environment without data.file"},
    [RECIPE_WHEN_STALE] = {"sampler.staleness above 0"},
    [RECIPE_WHEN_WEIGHED] = {"correction.name tis or decoupled, or bypass with loss.name reinforce"},
    [RECIPE_WHEN_REJECTED] = {"correction.name decoupled or bypass"},
    [RECIPE_WHEN_KL] = {"loss.kl_coef above 0"},
    [RECIPE_WHEN_KL_ESTIMATED] = {"loss.kl_coef above 0, and kl.place loss, weighted or reward"},
    [RECIPE_WHEN_KL_GRADIENT] = {"loss.kl_coef above 0, and kl.place loss or weighted"},
    [RECIPE_WHEN_MOVING] = {"loss.kl_coef above 0 and reference.kind lagged or ema"},
    [RECIPE_WHEN_AVERAGED] = {"loss.kl_coef above 0 and reference.kind ema"},
    [RECIPE_WHEN_OPSM] = {"opsm.unit rollout or turn"},
    [RECIPE_WHEN_COMPOSED] = {"loss.name compose"},
    [RECIPE_WHEN_OWN_CLIP] = {"after_tool.own_clip true"},
    [RECIPE_WHEN_JUDGED] = {"an algorithm that asks a judge (adca)"},
    [RECIPE_WHEN_ENDPOINT] = {"judge.endpoint, and an algorithm that asks a judge (adca)"},
    [RECIPE_WHEN_TURNS] = {"an environment with a tool (not reverse)"},
    [RECIPE_WHEN_SEARCHED] = {"an environment with a search tool (hopworld, slots or ledger)"},
    [RECIPE_WHEN_ASKED] = {"training.iterations above 0, and no data.file", true},
    [RECIPE_WHEN_POOL] = {"pool.questions above 0"},
    [RECIPE_WHEN_SIZED] = {"pool.questions above 0 and groups.sizes solved or mixed"},
    [RECIPE_WHEN_READS] = {""},
    [RECIPE_WHEN_NORMALISED] = {""},
    [RECIPE_WHEN_DIVIDED] = {""},
    [RECIPE_WHEN_ADVANTAGE] = {RL_ONLY},
    [RECIPE_WHEN_REWARDED] = {REWARD_ONLY},
    [RECIPE_WHEN_PENALISED] = {REWARD_ONLY "; anchor also needs pool.questions or algorithm.target.length above 0"},
    [RECIPE_WHEN_GAINS] = {GAIN_ALGORITHMS},
    [RECIPE_WHEN_TAUGHT] = {"algorithm.name opd, sft without data.file, or algorithm.distill with the teacher checkpoint"},
    [RECIPE_WHEN_SHORTENED] = {"algorithm.length_penalty uniform, group, anchor, linear or step"},
    [RECIPE_WHEN_TARGETED] = {"algorithm.length_penalty step or anchor"},
    [RECIPE_WHEN_LINEAR] = {"algorithm.length_penalty linear"},
    [RECIPE_WHEN_ECHO] = {"algorithm.name echo"},
    [RECIPE_WHEN_ECHO_WEIGHT] = {"algorithm.name echo without algorithm.echo.roles"},
    [RECIPE_WHEN_CUT_OFF] = {RL_ONLY ", and an environment with a tool (not reverse)"},
    [RECIPE_WHEN_HOOKED] = {"training.iterations above 0", true},
    [RECIPE_WHEN_CUSTOM] = {"algorithm.name custom without data.file"},
    [RECIPE_WHEN_CONTINUED] = {"algorithm.prefix.value continuations, and " GAIN_ALGORITHMS},
    [RECIPE_WHEN_DISTILLED] = {"algorithm.distill.how advantage or loss"},
    [RECIPE_WHEN_DISTILLED_K1] = {"algorithm.distill.how advantage"},
    [RECIPE_WHEN_DISTILLED_K2] = {"algorithm.distill.how loss"},
    [RECIPE_WHEN_SCORED] = {"algorithm.name opd, or algorithm.distill with the teacher checkpoint"},
    [RECIPE_WHEN_REMOTE] =
        {"algorithm.endpoint.base_url, and algorithm.name opd or algorithm.distill with the teacher checkpoint"},
    [RECIPE_WHEN_PASSK] = {"algorithm.passk.k above 1"},
    [RECIPE_WHEN_PASSK_ENDS] = {"algorithm.passk.k above 1 and algorithm.passk_schedule.iterations above 0"},
    [RECIPE_WHEN_SHOWN] = {"algorithm.name opsd or algorithm.distill.teacher policy"},
    [RECIPE_WHEN_ADCA] = {"algorithm.name adca"},
    [RECIPE_WHEN_PRM_STEPS] = {"algorithm.name adca without algorithm.prm.epochs"},
    [RECIPE_WHEN_PRM_EPOCHS] = {"algorithm.name adca and pool.questions above 0"},
    [RECIPE_WHEN_DECOUPLED] = {"algorithm.name adca with algorithm.adca.scheme decouple"},
    [RECIPE_WHEN_ALLOCATED] = {"algorithm.name adca with algorithm.adca.scheme allocation"},
    [RECIPE_WHEN_STEP_SCORES] = {"algorithm.name adca with algorithm.adca.batch_norm true"},
    [RECIPE_WHEN_OUTCOME] = {"algorithm.name adca with algorithm.adca.outcome last_step or all_steps"},
    [RECIPE_WHEN_SCHEDULABLE] = {"algorithm.name turn-group-v1d or adca"},
    [RECIPE_WHEN_SCHEDULED] = {"algorithm.schedule.kind linear or cosine"},
    [RECIPE_WHEN_SCHEDULED_BETA] = {"algorithm.name turn-group-v1d with algorithm.schedule.kind linear "
                                    "or cosine"},
    [RECIPE_WHEN_AGENTS] = {"algorithm.name hierarchical_grpo"},
};

/* Without RECIPE_TRACED. */
static enum recipe_when condition_of(const struct recipe_field *field)
{
    return field->when & ~RECIPE_TRACED;
}

bool recipe_is_read(const struct trainer_recipe *recipe, const struct trainer_task *task, const struct recipe_field *field)
{
    return task ? holds_for_task(recipe, task, field, condition_of(field)) : holds_for_recipe(recipe, condition_of(field));
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
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s is %s, but nothing reads it: it needs %s%s",
                                     refused++ ? "; " : "", items[i].setting, items[i].value, items[i].needs,
                                     recipe_foreign_namesake(items[i].setting));
    return refused ? trainer_fail(err, TRAINER_EINVAL, "%s", text) : recipe_check_clip_scale(recipe, err);
}
