/*
 * slots.c: slot filling: k facts about one entity, each found by a search of its own.
 *
 * Evidence accumulates here: each useful search brings one token of the answer, so that the value
 * of a prefix rises step by step, where in hopworld all of it comes with the last hop. Distractors
 * are of relations that are not asked for: an answer of the tool brings one slot at most, and a
 * search is useful or it is not.
 */
#include "env/demo.h"
#include "env/graph.h"
#include "env/tool_turn.h"

static enum trainer_status check(const struct trainer_env *env, struct trainer_error *err)
{
    return graph_check(env, GRAPH_NONE_OF_ASKED, 2 * env->k_max, err);
}

/* Question, searches, ANS and a value for every slot. */
static size_t max_tokens(const struct trainer_env *env)
{
    return (size_t)env->k_max + 3 + (size_t)env->max_turns * tool_turn_tokens(env) + 1 +
           2 * (size_t)env->k_max;
}

/* path[i + 1]: the value of slot i. */
static size_t reset(const struct trainer_env *env, struct trainer_episode *episode, int32_t *prompt)
{
    size_t n = graph_ask(env, episode, prompt);
    for (int32_t i = 0; i < episode->k; i++)
        episode->path[i + 1] =
            graph_follow(env, episode->question, episode->path[0], episode->relations[i]);
    return n;
}

/*
 * Good is what asks for a slot that is still empty, also when the tool fails: the judge rates the
 * step, not the tool's luck. Asking again, of another entity, or for what nobody asked for costs a
 * turn of the budget and brings nothing.
 */
static size_t search(const struct trainer_env *env, struct trainer_episode *episode, int32_t *text)
{
    size_t n = graph_search(env, episode, GRAPH_NONE_OF_ASKED, text);
    uint32_t slot = 0;
    for (int32_t i = 0; i < episode->k && episode->entity == episode->path[0]; i++)
        slot |= (uint32_t)(episode->relation == episode->relations[i]) << i;
    if (slot & ~episode->found) {
        episode->good |= 1u << episode->turn;
        episode->found |= text[1] != TRAINER_NONE ? slot : 0;
    }
    return n;
}

static bool knows_all(const struct trainer_episode *episode)
{
    return episode->found == (1u << episode->k) - 1;
}

static enum trainer_turn step(const struct trainer_env *env, struct trainer_episode *episode,
                              int32_t token, int32_t *text, size_t *n)
{
    static const struct tool_turn tool = {.call = search, .knows_all = knows_all};
    return tool_turn_step(&tool, env, episode, token, text, n);
}

static size_t answer(const struct trainer_env *env, const struct trainer_episode *episode,
                     int32_t *tokens)
{
    for (int32_t i = 0; i < episode->k; i++) {
        tokens[2 * i] = env_relation(episode->relations[i]);
        tokens[2 * i + 1] = env_entity(env, episode->path[i + 1]);
    }
    return 2 * (size_t)episode->k;
}

/* ---- the noisy demonstrator --------------------------------------------------------------- */

static bool knows(const struct trainer_episode *episode, int32_t i)
{
    return i % 2 == 0 || episode->found >> i / 2 & 1;
}

/* In the order of the question; a search that failed is made again. */
static bool next(const struct demo *demo, int32_t *first, int32_t *second)
{
    const struct trainer_episode *episode = &demo->episode;
    int32_t i = 0;
    while (i < episode->k && episode->found >> i & 1)
        i++;
    if (i == episode->k)
        return false;
    *first = env_entity(demo->env, episode->path[0]);
    *second = env_relation(episode->relations[i]);
    return true;
}

static size_t demonstrate(const struct trainer_env *env, const struct trainer_demo_options *options,
                          struct trainer_rng *rng, int32_t *tokens, uint8_t *mask)
{
    static const struct demo_plan plan = {.next = next, .knows = knows};
    return demo_play(&plan, env, options, rng, tokens, mask);
}

const struct env_class trainer_slots = {
    .name = "slots",
    .check = check,
    .max_tokens = max_tokens,
    .reset = reset,
    .step = step,
    .answer = answer,
    .demonstrate = demonstrate,
};
