/*
 * A condition looks at other settings of the recipe only. Whether a setting has an effect on the data of a trial, such as
 * a length penalty on rollouts of equal length, is found out by run/gradient_trace.c.
 */
#include "recipe/recipe_conditions.h"

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

#define RL_ONLY "an algorithm with advantages (not opd, opsd or sft)"
#define REWARD_ONLY "an algorithm with advantages from rewards (not custom, opd, opsd or sft)"
#define GAIN_ALGORITHMS "algorithm.name joint, separate, turn-group, turn-group-v1d, process or vineppo"
#define LOSSES_WITH_A_RANGE "loss.name ppo, turn, gspo, cispo, geo_mean, dppo_tv, dppo_kl, luspo or compose"

/* The conditions that look at the whole recipe. */
static bool holds_for_recipe(const struct trainer_recipe *recipe, enum recipe_when when)
{
    const struct trainer_loss *l = &recipe->loss;
    const enum trainer_correction_name correction = recipe->correction.name;
    const bool from_scratch = !recipe->checkpoint[0], warm = from_scratch && recipe->warm_start.steps > 0;
    const bool rl = any_task(recipe, has_advantages), sampled = any_task(recipe, samples_policy), kl = l->kl_coef > 0;
    switch (when) {
/* The table is included three times: here for the tests on a recipe, below for those on an environment, and for all their texts. */
#define RECIPE_CONDITION(name, strictness, needs, test)                                                                          \
    case RECIPE_WHEN_##name: return test;
#define TASK_CONDITION(...)
#include "recipe/recipe_conditions.def"
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
#define TASK_CONDITION(name, strictness, needs, test)                                                                            \
    case RECIPE_WHEN_##name: return test;
#define RECIPE_CONDITION(...)
#include "recipe/recipe_conditions.def"
    default: return holds_for_recipe(recipe, when);
    }
}

static const struct {
    const char *needs;
    bool lenient; /* see recipe_condition_is_lenient */
} conditions[RECIPE_N_WHENS] = {
    [RECIPE_WHEN_ALWAYS] = {"", false},
#define STRICT false
#define LENIENT true
#define RECIPE_CONDITION(name, strictness, needs, test) [RECIPE_WHEN_##name] = {needs, strictness},
#define TASK_CONDITION RECIPE_CONDITION
#include "recipe/recipe_conditions.def"
#undef STRICT
#undef LENIENT
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

void recipe_defaults(struct trainer_recipe *initial, const struct trainer_recipe *recipe)
{
    trainer_recipe_init(initial);
    for (int32_t i = recipe->n_tasks - 1; i >= 0; i--) {
        initial->tasks[i] = initial->tasks[0];
        trainer_algorithm_init(&initial->tasks[i].algorithm, recipe->tasks[i].algorithm.name);
    }
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
    recipe_defaults(&initial, recipe);
    for (size_t i = 0; i < recipe_root.n; i++) {
        const struct recipe_field *field = &recipe_root.fields[i];
        if (!recipe_is_default(field, recipe, &initial) && !recipe_is_read(recipe, NULL, field))
            add_unread(&unread, field, "", recipe);
    }
    for (int32_t t = 0; t < recipe->n_tasks; t++) {
        const struct trainer_task *task = &recipe->tasks[t];
        snprintf(prefix, sizeof prefix, "environments[%d].", t);
        for (size_t i = 0; i < recipe_task.n; i++) {
            const struct recipe_field *field = &recipe_task.fields[i];
            if (!recipe_is_default(field, task, &initial.tasks[t]) && !recipe_is_read(recipe, task, field) &&
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
