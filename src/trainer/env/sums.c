/*
 * sums.c: adding up a list with a calculator, two numbers at a time.
 *
 * The list is a queue: the first two numbers are removed and their sum is appended, until one number is left. So k + 1
 * numbers take k calls. Calls that add numbers of the list are independent of each other; calls that add sums need the
 * results of earlier calls. The answer names every sum, so that the value of a prefix rises with each useful call. A
 * policy of this size cannot learn the table of sums in a warm start, so it has to use the tool.
 */
#include "env/demonstrator.h"
#include "env/tool_turn.h"

/*
 * path is the whole queue: path[0 .. k] is the list, and path[k + 1 + i] is sum i, which adds path[2*i] and
 * path[2*i+1].
 */
enum { QUEUE_MAX = TRAINER_HOPS_MAX + 1 };

static int32_t place_of_sum(const struct trainer_episode *episode, int32_t i)
{
    return episode->k + 1 + i;
}

/* The numbers of a list are distinct, so that a call can only mean one pair of them. */
static enum trainer_status check(const struct trainer_env *env, struct trainer_error *err)
{
    int32_t entities = trainer_world_entities(&env->world);
    if (env->k_max >= entities)
        return trainer_fail(err, TRAINER_EINVAL, "k_max %d: a list of %d distinct numbers, and there are only %d", env->k_max,
                            env->k_max + 1, entities);
    return tool_turn_check(env, 2 * env->k_max, err);
}

static size_t max_tokens(const struct trainer_env *env)
{
    size_t k = (size_t)env->k_max, turns = (size_t)env->max_turns;
    return k + 3 + turns * (TOOL_TURN_CALL + CALCULATOR_ANSWER_MAX) + 1 + 2 * k;
}

static size_t reset(const struct trainer_env *env, struct trainer_episode *episode, int32_t *prompt)
{
    struct trainer_rng rng = {trainer_seed(episode->question, 'q', 0)};
    int32_t *queue = episode->path, k = episode->k;
    size_t n = 0;
    env_draw_distinct(&rng, trainer_world_entities(&env->world), k + 1, queue);
    for (int32_t i = 0; i < k; i++)
        queue[place_of_sum(episode, i)] = calculator_sum(env, queue[2 * i], queue[2 * i + 1]);
    prompt[n++] = TRAINER_Q;
    for (int32_t i = 0; i <= k; i++)
        prompt[n++] = env_entity(env, queue[i]);
    prompt[n++] = TRAINER_END_Q;
    return n;
}

/* Writes the second number and the sum of each call, in the order in which the tool shows them. */
static size_t answer(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *tokens)
{
    for (int32_t i = 0; i < episode->k; i++) {
        tokens[2 * i] = env_entity(env, episode->path[2 * i + 1]);
        tokens[2 * i + 1] = env_entity(env, episode->path[place_of_sum(episode, i)]);
    }
    return 2 * (size_t)episode->k;
}

/* Numbers of the list are known; a sum is known once the tool has shown it. */
static bool is_known(const struct trainer_episode *episode, int32_t place)
{
    int32_t sum = place - place_of_sum(episode, 0);
    return sum < 0 || episode->found >> sum & 1;
}

static bool is_due(const struct trainer_episode *episode, int32_t sum)
{
    return !(episode->found >> sum & 1) && is_known(episode, 2 * sum) && is_known(episode, 2 * sum + 1);
}

/*
 * Returns a bit for each sum that adds a and b, in either order, if it can be computed and is not known. Two sums may
 * add the same numbers.
 */
static uint32_t sums_due(const struct trainer_episode *episode, int32_t a, int32_t b)
{
    uint32_t sums = 0;
    for (int32_t i = 0; i < episode->k; i++) {
        int32_t first = episode->path[2 * i], second = episode->path[2 * i + 1];
        bool is_of = (a == first && b == second) || (a == second && b == first);
        sums |= (uint32_t)(is_of && is_due(episode, i)) << i;
    }
    return sums;
}

/* A useful call is GOOD even if the tool fails, because the judge rates the step and not the tool's luck. */
static size_t call(const struct trainer_env *env, struct trainer_episode *episode, int32_t *text)
{
    size_t n = calculator_answer(env, episode, text);
    uint32_t sums = sums_due(episode, calculator_first(episode), calculator_second(env, episode));
    episode->good |= (uint32_t)(sums != 0) << episode->turn;
    if (text[1] != TRAINER_NONE)
        episode->found |= sums;
    return n;
}

static bool knows_all(const struct trainer_episode *episode)
{
    return episode->found == (1u << episode->k) - 1;
}

static bool knows(const struct trainer_episode *episode, int32_t i)
{
    return is_known(episode, i % 2 == 0 ? i + 1 : place_of_sum(episode, i / 2));
}

/* Takes calls from the front of the queue; repeats a call that failed. */
static bool next(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *first, int32_t *second)
{
    int32_t i = 0;
    while (i < episode->k && !is_due(episode, i))
        i++;
    if (i == episode->k)
        return false;
    *first = env_entity(env, episode->path[2 * i]);
    *second = env_entity(env, episode->path[2 * i + 1]);
    return true;
}

/* Draws any two known numbers, which mostly are not a pair of the queue or are a pair whose sum is known. */
static void add_in_vain(struct demo *demo, int32_t *first, int32_t *second)
{
    const struct trainer_episode *episode = &demo->episode;
    int32_t known[QUEUE_MAX], n = 0;
    for (int32_t i = 0; i < place_of_sum(episode, episode->k); i++)
        if (is_known(episode, i))
            known[n++] = env_entity(demo->env, episode->path[i]);
    *first = known[trainer_rng_below(demo->rng, n)];
    *second = known[trainer_rng_below(demo->rng, n)];
}

const struct env_class trainer_sums = {
    .name = "sums",
    .check = check,
    .max_tokens = max_tokens,
    .reset = reset,
    .tool = &(const struct tool_turn){.second = TOOL_ENTITY, .call = call, .knows_all = knows_all},
    .answer = answer,
    .plan = &(const struct demo_plan){.next = next, .knows = knows, .useless = add_in_vain},
    .next = next,
};
