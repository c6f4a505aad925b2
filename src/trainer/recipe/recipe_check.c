/*
 * recipe_check.c: checks whether the settings of a recipe fit together. All checks run before a night begins, for
 * every trial: a mistake found here costs a second, later it costs a night. A message names the setting to change,
 * not the code that would have failed.
 */

#include <rlcore/envelope.h>
#include <rlcore/offpolicy.h>

#include "support/error.h"
#include "support/markers.h"
#include "support/roles.h"
#include "recipe/recipe_json.h"
#include "recipe/recipe_value.h"

#define REFUSE(...) return trainer_fail(err, TRAINER_EINVAL, __VA_ARGS__)

/* Objects have no value, so there is nothing to check. */
static enum trainer_status check_table(const struct recipe_table *table, const void *base, const char *prefix,
                                       struct trainer_error *err)
{
    for (size_t i = 0; i < table->n; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", prefix, table->fields[i].path);
        if (table->fields[i].size > 0)
            TRY(recipe_value_check(&table->fields[i], path, base, err));
    }
    return TRAINER_OK;
}

/* Ranges are checked first, because later checks multiply and index with these numbers. */
static enum trainer_status check_ranges(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    TRY(check_table(&recipe_root, recipe, "", err));
    if (recipe->n_tasks < 1 || recipe->n_tasks > TRAINER_ENVS_MAX)
        REFUSE("environments has %d entries, but must have 1 to %d", recipe->n_tasks, TRAINER_ENVS_MAX);
    for (int32_t i = 0; i < recipe->n_tasks; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "environments[%d].", i);
        TRY(check_table(&recipe_task, &recipe->tasks[i], prefix, err));
    }
    return TRAINER_OK;
}

/* ---- environments ---- */

/*
 * A block must be smaller than the group, because one block for a whole group would give all of its rows the same
 * reward.
 */
static enum trainer_status check_passk(const struct trainer_algorithm *algorithm, const struct trainer_training *training,
                                       struct trainer_error *err)
{
    int32_t k = algorithm->passk.k, group_size = training->group_size;
    if (k > 1 && (k >= group_size || group_size % k != 0))
        REFUSE("algorithm.passk.k is %d, but must divide training.group_size = %d and be smaller", k, group_size);
    if (k > 1 && training->iterations > 0 && algorithm->passk.iterations >= training->iterations)
        REFUSE("algorithm.passk_schedule.iterations is %d, but must be below training.iterations = %d: pass@1 would never be the "
               "reward",
               algorithm->passk.iterations, training->iterations);
    return TRAINER_OK;
}

/* LASER without a target would reward nothing. */
static enum trainer_status check_own_settings(const struct trainer_algorithm *algorithm, struct trainer_error *err)
{
    double weight;
    const char *wrong = algorithm->echo.roles[0] ? roles_read(algorithm->echo.roles, &weight) : NULL;
    if (algorithm->length_penalty == TRAINER_LENGTH_STEP && algorithm->length.target == 0)
        REFUSE("algorithm.length_penalty step needs algorithm.target.length above 0");
    if (wrong)
        REFUSE("algorithm.echo.roles: %s", wrong);
    return TRAINER_OK;
}

/* Rows that branch from a shared beginning are themselves continuations and cannot be continued a second time. */
static enum trainer_status check_prefix(const struct trainer_algorithm *algorithm, struct trainer_error *err)
{
    const struct rl_algorithm *row = rl_algorithm_at(algorithm->name);
    if (algorithm->prefix.value == TRAINER_PREFIX_CONTINUATIONS && row->needs & RL_NEED_AGENTS)
        REFUSE("algorithm.prefix.value must be policy with algorithm.name %s", row->name);
    return TRAINER_OK;
}

/* A baseline in the environment's unit would be subtracted from an outcome in the unit of the command. */
static enum trainer_status check_hooks(const struct trainer_algorithm *algorithm, struct trainer_error *err)
{
    const struct rl_algorithm *row = rl_algorithm_at(algorithm->name);
    if (!algorithm->hooks.score[0])
        return TRAINER_OK;
    if (row->needs & RL_NEED_GREEDY)
        REFUSE("algorithm.hooks.score cannot be used with algorithm.name %s, whose baseline is the environment's reward of a "
               "greedy rollout, which the command does not score",
               row->name);
    if (algorithm->name == RL_ALGORITHM_VINEPPO)
        REFUSE("algorithm.hooks.score cannot be used with algorithm.name %s, whose values of prefixes are chances of the "
               "environment's answer, which the command does not score",
               row->name);
    return TRAINER_OK;
}

/* A setting that is not read is refused, because the trial's row would claim that it was on. */
static enum trainer_status check_distill(const struct trainer_algorithm *algorithm, struct trainer_error *err)
{
    const struct rl_algorithm *row = rl_algorithm_at(algorithm->name);
    const struct trainer_distill *distill = &algorithm->distill;
    bool distils = distill->how != TRAINER_DISTILL_NONE;
    bool shows = (row->needs & RL_NEED_POLICY_REFERENCE) || (distils && distill->teacher == TRAINER_TEACHER_POLICY);
    if (distils && row->loss != RL_COMPONENT_RL)
        REFUSE("algorithm.distill.how must be none with algorithm.name %s, which has no advantages", row->name);
    if (distils && distill->teacher == TRAINER_TEACHER_CHECKPOINT && !algorithm->teacher[0] && !algorithm->endpoint.base_url[0])
        REFUSE("algorithm.teacher is missing: algorithm.distill needs a checkpoint, or algorithm.endpoint.base_url");
    if (distill->shown == TRAINER_SHOWN_DEMONSTRATION && !shows)
        REFUSE("algorithm.distill.shown needs algorithm.name opsd or algorithm.distill.teacher policy");
    return TRAINER_OK;
}

/* A key in the address would appear in rows, logs and process lists. */
static enum trainer_status check_address(const char *path, const char *key_env, const char *address, struct trainer_error *err)
{
    size_t scheme = strncmp(address, "https://", 8) == 0 ? 8 : strncmp(address, "http://", 7) == 0 ? 7 : 0;
    if (scheme == 0 || !address[scheme])
        REFUSE("%s must begin with http:// or https://", path);
    if (address[scheme + strcspn(address + scheme, "/?#@")] == '@')
        REFUSE("%s must not hold a password: a key is read from the variable that %s names", path, key_env);
    if (strpbrk(address, "?#"))
        REFUSE("%s must be an address without ? and #", path);
    return TRAINER_OK;
}

static enum trainer_status check_endpoint(const struct trainer_algorithm *algorithm, struct trainer_error *err)
{
    const struct rl_algorithm *row = rl_algorithm_at(algorithm->name);
    const struct trainer_teacher_endpoint *endpoint = &algorithm->endpoint;
    bool distils = algorithm->distill.how != TRAINER_DISTILL_NONE && algorithm->distill.teacher == TRAINER_TEACHER_CHECKPOINT;
    bool scores = row->needs & RL_NEED_FROZEN_REFERENCE || distils;
    if (!endpoint->base_url[0] || !scores)
        return TRAINER_OK;
    if (!endpoint->name[0])
        REFUSE("algorithm.endpoint.name is missing: the endpoint needs the name of a model");
    if (algorithm->teacher[0])
        REFUSE("algorithm.teacher and algorithm.endpoint.base_url are two teachers; give one of them");
    return check_address("algorithm.endpoint.base_url", "algorithm.endpoint.key_env", endpoint->base_url, err);
}

/* Compares what the core's table says an algorithm needs with what the recipe has. */
static enum trainer_status check_algorithm(const struct trainer_task *task, const struct trainer_training *training,
                                           struct trainer_error *err)
{
    int32_t group_size = training->group_size;
    const struct trainer_algorithm *algorithm = &task->algorithm;
    const struct rl_algorithm *row = rl_algorithm_at(algorithm->name);
    bool sourced = algorithm->teacher[0] || task->data[0];
    bool taught = row->needs & RL_NEED_FROZEN_REFERENCE || (row->needs & RL_NEED_FROZEN_SOURCE && !task->data[0]);
    bool scores = row->needs & RL_NEED_FROZEN_REFERENCE && algorithm->endpoint.base_url[0];
    enum rl_model frozen = algorithm->teacher[0] || scores ? RL_MODEL_FROZEN : RL_MODEL_NONE;
    const struct rl_algorithm_setting setting = {.group_size = (size_t)group_size,
                                                 .source = !(row->needs & RL_NEED_FROZEN_SOURCE) ? RL_MODEL_POLICY
                                                           : sourced                             ? RL_MODEL_FROZEN
                                                                                                 : RL_MODEL_NONE,
                                                 .reference = row->needs & RL_NEED_POLICY_REFERENCE ? RL_MODEL_POLICY : frozen};
    struct rl_error core;
    if (algorithm->adca.scheme == TRAINER_ADCA_ALLOCATION && algorithm->adca.outcome == TRAINER_ADCA_ONLY)
        REFUSE("algorithm.adca.outcome only needs algorithm.adca.scheme decouple");
    if (algorithm->schedule.kind == TRAINER_ADAPTIVE && algorithm->name != RL_ALGORITHM_TURN_GROUP_V1D)
        REFUSE("algorithm.schedule.kind adaptive needs algorithm.name turn-group-v1d");
    if (row->needs & RL_NEED_FROZEN_SOURCE && !sourced && algorithm->endpoint.base_url[0])
        REFUSE("algorithm.endpoint: %s imitates rollouts that its teacher samples, and an endpoint only scores tokens: let "
               "the model write rollouts to a file, and name it in data.file",
               row->name);
    if (taught && !algorithm->teacher[0] && !scores)
        REFUSE("algorithm.teacher is missing: %s needs a checkpoint%s", row->name,
               row->needs & RL_NEED_FROZEN_REFERENCE ? ", or algorithm.endpoint.base_url" : "");
    if (row->needs & RL_NEED_CALLBACK && !task->data[0] && !algorithm->command[0])
        REFUSE("algorithm.name: %s needs algorithm.custom.command, or data.file, whose rollouts have an advantage", row->name);
    if (rl_algorithm_check(row, &setting, &core) != RL_OK)
        REFUSE("algorithm.name: %s (training.group_size, algorithm.teacher)", core.text);
    if (row->needs & RL_NEED_AGENTS && group_size % algorithm->hierarchy.branches != 0)
        REFUSE("algorithm.hierarchy.branches is %d, which does not divide training.group_size %d", algorithm->hierarchy.branches,
               group_size);
    TRY(check_passk(algorithm, training, err));
    TRY(check_own_settings(algorithm, err));
    TRY(check_prefix(algorithm, err));
    TRY(check_hooks(algorithm, err));
    TRY(check_endpoint(algorithm, err));
    return check_distill(algorithm, err);
}

/* A recipe with a checkpoint has no warm start, so the settings of the warm start are not checked. */
static bool is_warm_started(const struct trainer_recipe *recipe)
{
    return !recipe->checkpoint[0] && recipe->warm_start.steps > 0;
}

/*
 * A policy that has never seen questions with this many hops gives hardly any right answer to them. Groups then have
 * equal outcomes, from which nothing can be learned.
 */
static enum trainer_status check_hops(const struct trainer_recipe *recipe, const struct trainer_env *env,
                                      struct trainer_error *err)
{
    const struct trainer_warm_start *warm = &recipe->warm_start;
    bool covered = warm->k_min <= env->k_min && env->k_max <= warm->k_max;
    if (env->kind != TRAINER_HOPWORLD || !is_warm_started(recipe) || covered)
        return TRAINER_OK;
    REFUSE("k_min..k_max is %d..%d, which start.warm_start with %d..%d does not cover", env->k_min, env->k_max, warm->k_min,
           warm->k_max);
}

/*
 * A continuation starts after a tool's answer, not in the middle of a turn. Episodes are needed only if gains are
 * measured.
 */
static enum trainer_status check_episodes(const struct trainer_task *task, struct trainer_error *err)
{
    const struct trainer_algorithm *algorithm = &task->algorithm;
    const struct rl_algorithm *row = rl_algorithm_at(algorithm->name);
    struct markers markers;
    if (!algorithm->episodes.markers[0])
        return TRAINER_OK;
    if (!markers_read(&markers, algorithm->episodes.markers))
        REFUSE("algorithm.episodes.markers must be at most %d tokens, separated by commas", MARKERS_MAX);
    const char *unknown = markers_unknown(&markers, &task->env.world);
    if (unknown)
        REFUSE("algorithm.episodes.markers: unknown token%.20s(known: S, /S, OBS, /OBS, NONE, ANS, r0, "
               "e0, ..)",
               unknown);
    if (!(row->needs & RL_NEED_GAINS))
        REFUSE("algorithm.episodes.markers needs an algorithm that reads gains, which %s does not", row->name);
    if (algorithm->prefix.value != TRAINER_PREFIX_POLICY)
        REFUSE("algorithm.prefix.value must be policy with algorithm.episodes.markers");
    if (trainer_env_max_tokens(&task->env) > TRAINER_EPISODE_TOKENS)
        REFUSE("algorithm.episodes.markers: a rollout may have %zu tokens, but %d can be cut", trainer_env_max_tokens(&task->env),
               TRAINER_EPISODE_TOKENS);
    return TRAINER_OK;
}

/* Checks the requirements of groups whose sizes differ from group_size. */
static enum trainer_status check_groups(const struct trainer_task *task, int32_t group_size, struct trainer_error *err)
{
    const struct rl_algorithm *row = rl_algorithm_at(task->algorithm.name);
    int32_t k = task->algorithm.passk.k;
    if (task->sizes == TRAINER_GROUPS_EQUAL)
        return TRAINER_OK;
    if (task->pool == 0)
        REFUSE("groups.sizes needs pool.questions");
    if (row->needs & RL_NEED_AGENTS)
        REFUSE("groups.sizes must be equal with algorithm.name %s", row->name);
    if (task->least > group_size)
        REFUSE("groups.least is %d, but must be at most training.group_size = %d", task->least, group_size);
    if (row->needs & RL_NEED_GROUP && task->least < 2)
        REFUSE("groups.least is %d, but algorithm.name %s compares the rollouts of a group", task->least, row->name);
    if (k > 1 && (task->least % k != 0 || task->least <= k))
        REFUSE("groups.least is %d, but must be a multiple of algorithm.passk.k = %d and above it", task->least, k);
    return TRAINER_OK;
}

/*
 * Rollouts of a file were not sampled by the policy. Advantages need a correction for that, and whatever is measured while a
 * rollout is sampled, or sampled beside it, is missing.
 */
static enum trainer_status check_data(const struct trainer_recipe *recipe, const struct trainer_task *task,
                                      struct trainer_error *err)
{
    const struct rl_algorithm *row = rl_algorithm_at(task->algorithm.name);
    enum trainer_loss_name loss = recipe->loss.name;
    bool corrects = recipe->correction.name != TRAINER_CORRECTION_NONE || loss == TRAINER_LOSS_COMPOSE ||
                    loss == TRAINER_LOSS_DPPO || loss == TRAINER_LOSS_IPO;
    if (row->needs & RL_NEED_CALLBACK && recipe->loss.kl_coef > 0 && recipe->loss.kl_place == TRAINER_KL_REWARD)
        REFUSE("kl.place reward cannot be used with algorithm.name %s, which reads no reward", row->name);
    if (!task->data[0])
        return TRAINER_OK;
    if (row->loss == RL_COMPONENT_REF_KL || row->needs & (RL_NEED_VALUES | RL_NEED_GREEDY | RL_NEED_AGENTS))
        REFUSE("data.file cannot be used with algorithm.name %s, which samples with the live policy", row->name);
    if (row->loss == RL_COMPONENT_RL && !corrects)
        REFUSE(
            "data.file with algorithm.name %s needs a correction for rollouts of another policy: correction.name tis, decoupled, "
            "recompute or bypass, or loss.name compose, dppo or ipo",
            row->name);
    if (recipe->replay == TRAINER_REPLAY_R3)
        REFUSE("routing.replay R3 cannot be used with data.file, which has no routes");
    return TRAINER_OK;
}

/* Every task gets the recipe's world, because all environments of a policy must agree on what a token means. */
static enum trainer_status check_tasks(struct trainer_recipe *recipe, struct trainer_error *err)
{
    enum trainer_status status = TRAINER_OK;
    for (int32_t i = 0; i < recipe->n_tasks && status == TRAINER_OK; i++) {
        struct trainer_task *task = &recipe->tasks[i];
        char name[32];
        snprintf(name, sizeof name, "environments[%d]", i);
        task->env.world = recipe->world;
        if (task->pool > 0 && task->pool < task->questions)
            REFUSE("%s.pool.questions is %d, but an iteration has %d questions", name, task->pool, task->questions);
        if (task->hardness > 0 && task->pool == 0)
            REFUSE("%s.allocation.hardness needs pool.questions", name);
        if (task->drop_below > task->drop_above)
            REFUSE("%s.allocation.drop_below is %g, above drop_above, which is %g: no question would be left", name,
                   task->drop_below, task->drop_above);
        status = check_algorithm(task, &recipe->training, err);
        if (status == TRAINER_OK)
            status = check_data(recipe, task, err);
        if (status == TRAINER_OK)
            status = check_groups(task, recipe->training.group_size, err);
        if (status == TRAINER_OK)
            status = trainer_env_check(&task->env, err);
        if (status == TRAINER_OK)
            status = check_episodes(task, err);
        if (status == TRAINER_OK)
            status = check_hops(recipe, &task->env, err);
        if (status != TRAINER_OK)
            recipe_blame(err, name, status);
    }
    return status;
}

static bool has_hops(const struct trainer_recipe *recipe)
{
    bool any = false;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        any = any || recipe->tasks[i].env.kind == TRAINER_HOPWORLD;
    return any;
}

/*
 * Hops follow distinct relations, so there cannot be more hops than relations; trainer_env_check checks environments in
 * the same way.
 */
static enum trainer_status check_warm_start(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    const struct trainer_warm_start *warm = &recipe->warm_start;
    if (warm->k_min > warm->k_max)
        REFUSE("start.warm_start.k_min %d is above k_max %d", warm->k_min, warm->k_max);
    if (is_warm_started(recipe) && has_hops(recipe) && warm->k_max > recipe->world.relations)
        REFUSE("start.warm_start.k_max is %d, but must be at most world.relations = %d", warm->k_max, recipe->world.relations);
    if ((int64_t)warm->steps * warm->batch > INT32_MAX)
        REFUSE("start.warm_start: steps * batch is %lld demonstrations, but must be at most %d",
               (long long)warm->steps * warm->batch, INT32_MAX);
    return TRAINER_OK;
}

/* ---- training ---- */

/* Counts are int32 in events and in the optimizer's step counter, so larger counts are refused here. */
static enum trainer_status check_updates(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    const struct trainer_training *training = &recipe->training;
    int64_t rollouts = 0;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        rollouts += (int64_t)recipe->tasks[i].questions * training->group_size;
    if (training->minibatch > rollouts)
        REFUSE("training.minibatch is %d, but an iteration has only %lld rollouts", training->minibatch, (long long)rollouts);
    int64_t updates = (rollouts + training->minibatch - 1) / training->minibatch * training->epochs;
    if (updates * training->iterations > INT32_MAX)
        REFUSE("training: %d iterations of %lld updates are more than %d", training->iterations, (long long)updates, INT32_MAX);
    return TRAINER_OK;
}

/* The stream losses of prime-rl already mask by the ratio to the sampler; a second correction would count twice. */
static enum trainer_status check_stream_loss(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    enum trainer_loss_name name = recipe->loss.name;
    const char *text = name == TRAINER_LOSS_IPO ? "ipo" : "dppo";
    if (name != TRAINER_LOSS_DPPO && name != TRAINER_LOSS_IPO)
        return TRAINER_OK;
    if (recipe->loss.aggregation != TRAINER_TOKEN_MEAN)
        REFUSE("loss.aggregation must be token-mean with loss.name %s", text);
    if (recipe->correction.name != TRAINER_CORRECTION_NONE)
        REFUSE("correction.name must be none with loss.name %s, which corrects by itself", text);
    return TRAINER_OK;
}

/*
 * Only the core knows its rejection options, so the core is called with a batch of one token; its message names the
 * option that it does not know. One token needs far less than 4 KiB.
 */
static enum trainer_status check_rejection(const struct trainer_correction *correction, struct trainer_error *err)
{
    struct rl_correction_options options = {.is = RL_IS_TOKEN,
                                            .is_threshold = correction->cap,
                                            .rs = correction->reject,
                                            .rs_threshold = correction->reject_threshold};
    const uint8_t mask = 1;
    const struct rl_batch batch = {.n_rows = 1, .n_tokens = 1, .mask = &mask};
    struct rl_metric items[RL_METRICS_ENOUGH];
    struct rl_metrics metrics = {.items = items, .capacity = RL_METRICS_ENOUGH};
    _Alignas(64) char scratch[4096];
    struct rl_workspace ws = {.data = scratch, .size = sizeof scratch};
    struct rl_error core;
    const double zero = 0;
    double weight;
    uint8_t left;
    enum rl_status status = rl_rollout_correction(&batch, &options, &zero, &zero, &weight, &left, &metrics, &ws, &core);
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "correction.reject", status, &core);
}

/*
 * A rejection that is not applied would do no harm. It is refused because the trial's row would claim that it was on.
 */
static enum trainer_status check_correction(const struct trainer_correction *correction, struct trainer_error *err)
{
    if (correction->floor > correction->cap)
        REFUSE("icepop.floor %g is above correction.cap %g: no token would have a weight", correction->floor, correction->cap);
    if (!correction->reject[0] && !correction->reject_threshold[0])
        return TRAINER_OK;
    if (correction->name != TRAINER_CORRECTION_DECOUPLED && correction->name != TRAINER_CORRECTION_BYPASS)
        REFUSE("correction.reject needs correction.name decoupled or bypass");
    if (!correction->reject[0] || !correction->reject_threshold[0])
        REFUSE("set both correction.reject and correction.reject_threshold, or neither");
    return check_rejection(correction, err);
}

/*
 * vespo multiplies the weights of a rollout's tokens, and geo_mean takes their geometric mean. A weight of the whole rollout
 * that is written at each of n tokens would enter vespo n times, and a token's weight of 0 would take the whole rollout out.
 */
static enum trainer_status check_row_weights(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    const struct trainer_correction *correction = &recipe->correction;
    bool vespo = recipe->loss.name == TRAINER_LOSS_VESPO, geo_mean = recipe->loss.name == TRAINER_LOSS_GEO_MEAN;
    if (correction->name != TRAINER_CORRECTION_TIS && correction->name != TRAINER_CORRECTION_DECOUPLED)
        return TRAINER_OK;
    if (vespo && correction->sequence_level)
        REFUSE("correction.level must be token with loss.name vespo, which multiplies the weights of a rollout's tokens");
    if ((vespo || geo_mean) && !correction->sequence_level && correction->floor > 0)
        REFUSE("icepop.floor must be 0 with loss.name %s, whose weight of a rollout would be 0 because of a single token",
               vespo ? "vespo" : "geo_mean, unless correction.level is sequence");
    return TRAINER_OK;
}

/* An envelope that is compared with nothing would look like one that fits. */
static enum trainer_status check_envelope(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    double parts[RL_ENVELOPE_PARTS], capacity = recipe->budget.memory_bytes;
    struct rl_error core;
    if (!recipe->envelope[0])
        return TRAINER_OK;
    enum rl_status status = rl_envelope_read(recipe->envelope, parts, &capacity, &core);
    if (status != RL_OK)
        return trainer_core_failed(err, "envelope.parts", status, &core);
    if (!(capacity > 0))
        REFUSE("envelope.parts names no capacity, and budget.memory_bytes is 0: nothing to compare the memory with");
    return TRAINER_OK;
}

/* The two losses of rl_bypass_loss. Its ratio is to the sampler, whose log-probs are those of its own temperature. */
static enum trainer_status check_bypass(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    enum trainer_loss_name loss = recipe->loss.name;
    double temperature = recipe->training.temperature;
    if (recipe->correction.name != TRAINER_CORRECTION_BYPASS)
        return TRAINER_OK;
    if (loss != TRAINER_LOSS_PPO && loss != TRAINER_LOSS_REINFORCE)
        REFUSE("correction.name bypass needs loss.name ppo or reinforce");
    if (recipe->loss.after_tool.own_clip)
        REFUSE("after_tool.own_clip must be false with correction.name bypass");
    if (temperature < 1 || temperature > 1)
        REFUSE("training.temperature must be 1 with correction.name bypass, whose ratio is to the sampler");
    return TRAINER_OK;
}

/* A reference that is never renewed is the start, and the trial's row would claim another one. */
static enum trainer_status check_reference(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    const struct trainer_reference *reference = &recipe->reference;
    if (recipe->loss.kl_coef > 0 && reference->kind != TRAINER_REFERENCE_START &&
        reference->every >= recipe->training.iterations && recipe->training.iterations > 0)
        REFUSE("reference.every is %d, but must be below training.iterations = %d, or the reference never moves",
               reference->every, recipe->training.iterations);
    return TRAINER_OK;
}

/* A range or bound that the loss does not read is refused, because the trial's row would claim that it was on. */
static enum trainer_status check_loss(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    const struct trainer_loss *loss = &recipe->loss;
    bool streams = loss->name == TRAINER_LOSS_DPPO || loss->name == TRAINER_LOSS_IPO;
    if (loss->opsm.unit != TRAINER_OPSM_NONE && streams)
        REFUSE("opsm.unit must be none with loss.name dppo and ipo, which mask by themselves");
    if (loss->opsm.lower > loss->opsm.upper)
        REFUSE("opsm.lower %g is above opsm.upper %g", loss->opsm.lower, loss->opsm.upper);
    if (loss->after_tool.own_clip &&
        ((loss->name != TRAINER_LOSS_PPO && loss->name != TRAINER_LOSS_CISPO) ||
         (loss->aggregation != TRAINER_TOKEN_MEAN && loss->aggregation != TRAINER_SEQ_MEAN_TOKEN_SUM_NORM)))
        REFUSE("after_tool.own_clip needs loss.name ppo or cispo, and loss.aggregation token-mean or "
               "seq-mean-token-sum-norm");
    if (loss->name == TRAINER_LOSS_COMPOSE && recipe->correction.name != TRAINER_CORRECTION_NONE)
        REFUSE("correction.name must be none with loss.name compose, which corrects by itself");
    if (loss->name == TRAINER_LOSS_DRO && !(loss->dro.beta > 0))
        REFUSE("loss.name dro needs dro.beta above 0, for which its paper and verl have no default");
    if (loss->kl_place != TRAINER_KL_LOSS && !(loss->kl_coef > 0))
        REFUSE("kl.place needs loss.kl_coef above 0");
    return check_stream_loss(recipe, err);
}

static enum trainer_status check_routing(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    if (recipe->replay != TRAINER_REPLAY_NONE && recipe->model.experts == 0)
        REFUSE("routing.replay needs model.experts.count: a dense policy has no routes");
    return TRAINER_OK;
}

/* A judge that would not be asked is refused, because the trial's row would claim that it was. */
static enum trainer_status check_judge(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    const struct trainer_judge *judge = &recipe->judge;
    bool asked = false;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        asked = asked || rl_algorithm_at(recipe->tasks[i].algorithm.name)->needs & RL_NEED_JUDGE;
    if (!judge->endpoint[0] && judge->model[0])
        REFUSE("judge.model needs judge.endpoint");
    if (!judge->endpoint[0])
        return TRAINER_OK;
    if (!asked)
        REFUSE("judge.endpoint needs an algorithm that asks a judge (adca)");
    if (!judge->model[0])
        REFUSE("judge.endpoint needs judge.model");
    return check_address("judge.endpoint", "judge.key_env", judge->endpoint, err);
}

/* Demonstrations are included, so that a policy and its warm start have the same shape. */
static int32_t longest_episode(const struct trainer_recipe *recipe)
{
    size_t longest = 0;
    for (int32_t i = 0; i < recipe->n_tasks; i++) {
        struct trainer_env env = recipe->tasks[i].env;
        if (env.kind == TRAINER_HOPWORLD && env.k_max < recipe->warm_start.k_max)
            env.k_max = recipe->warm_start.k_max;
        size_t tokens = trainer_env_max_tokens(&env);
        longest = tokens > longest ? tokens : longest;
    }
    return (int32_t)longest;
}

/* Whether solutions are shown: a solution before a rollout or demonstration adds the length of a whole episode. */
static bool shows_solutions(const struct trainer_recipe *recipe)
{
    bool any = !recipe->checkpoint[0] && recipe->warm_start.shown > 0;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        any = any || recipe->tasks[i].algorithm.distill.shown == TRAINER_SHOWN_DEMONSTRATION;
    return any;
}

static bool has_values(const struct trainer_recipe *recipe)
{
    bool any = false;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        any = any || rl_algorithm_at(recipe->tasks[i].algorithm.name)->needs & RL_NEED_VALUES;
    return any;
}

static enum trainer_status complete_model(struct trainer_recipe *recipe, struct trainer_error *err)
{
    recipe->model.tokens = trainer_world_tokens(&recipe->world);
    recipe->model.max_tokens = longest_episode(recipe) * (shows_solutions(recipe) ? 2 : 1);
    recipe->model.value_head = has_values(recipe);
    return trainer_model_check(&recipe->model, err);
}

/*
 * A micro-batch must have room for the longest row, because rows cannot be cut, and a pass must have room for a
 * micro-batch.
 */
static enum trainer_status check_micro_batch(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    const struct trainer_micro_batch *micro = &recipe->micro_batch;
    int32_t longest = recipe->model.max_tokens;
    if (micro->tokens > 0 && micro->tokens < longest)
        REFUSE("micro_batch.tokens is %d, but the longest sequence has %d", micro->tokens, longest);
    size_t tokens = micro->tokens > 0 ? (size_t)micro->tokens : TRAINER_MICRO_BATCH_ROWS * (size_t)longest;
    double least = (double)trainer_pass_bytesf(&recipe->model, tokens, tokens);
    if (micro->activation_bytes > 0 && micro->activation_bytes < least)
        REFUSE("micro_batch.activation_bytes is %.0f, but one micro-batch of %zu tokens needs %.0f", micro->activation_bytes,
               tokens, least);
    return TRAINER_OK;
}

/*
 * The model is checked last, because its tokens and lengths follow from worlds and environments, which must be checked
 * before.
 */
enum trainer_status trainer_recipe_check(struct trainer_recipe *recipe, struct trainer_error *err)
{
    TRY(check_ranges(recipe, err));
    TRY(check_warm_start(recipe, err));
    TRY(check_tasks(recipe, err));
    TRY(check_updates(recipe, err));
    TRY(check_loss(recipe, err));
    TRY(check_reference(recipe, err));
    TRY(check_bypass(recipe, err));
    TRY(check_correction(&recipe->correction, err));
    TRY(check_row_weights(recipe, err));
    TRY(check_envelope(recipe, err));
    TRY(check_routing(recipe, err));
    TRY(check_judge(recipe, err));
    TRY(complete_model(recipe, err));
    return check_micro_batch(recipe, err);
}
