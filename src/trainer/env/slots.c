/*
 * slots.c: slot filling: k facts about one entity, each found by its own search.
 *
 * Each useful search brings one token of the answer, so the value of a prefix rises step by step, while in hopworld the
 * value rises only with the last hop. Distractors have relations that are not asked for, so that a search either fills
 * one slot or is useless.
 */
#include "env/demonstrator.h"
#include "env/tool_turn.h"

/* path[i + 1] is the value of slot i. */
static size_t reset(const struct trainer_env *env, struct trainer_episode *episode, int32_t *prompt)
{
    size_t n = graph_ask(env, episode, prompt);
    for (int32_t i = 0; i < episode->k; i++)
        episode->path[i + 1] = graph_follow(env, episode->question, episode->path[0], episode->relations[i]);
    return n;
}

static bool knows_all(const struct trainer_episode *episode)
{
    return episode->found == (1u << episode->k) - 1;
}

static bool knows(const struct trainer_episode *episode, int32_t i)
{
    return i % 2 == 0 || episode->found >> i / 2 & 1;
}

/* Searches in the order of the question; repeats a search that failed. */
static bool next(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *first, int32_t *second)
{
    int32_t i = 0;
    while (i < episode->k && episode->found >> i & 1)
        i++;
    if (i == episode->k)
        return false;
    *first = env_entity(env, episode->path[0]);
    *second = env_relation(episode->relations[i]);
    return true;
}

const struct env_class trainer_slots = {
    .name = "slots",
    .check = slot_answer_check,
    .max_tokens = slot_answer_max_tokens,
    .reset = reset,
    .tool = &(const struct tool_turn){.call = slot_answer_search, .knows_all = knows_all},
    .answer = slot_answer_tokens,
    .plan = &(const struct demo_plan){.next = next, .knows = knows},
    .next = next,
};
