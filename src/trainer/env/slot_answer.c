#include "env/slot_answer.h"

#include "env/search_tool.h"
#include "env/tool_turn.h"

/* A distractor never has a relation that was asked for, so that an answer of the tool fills at most one slot. */
static const enum search_distractors distractors = DISTRACTORS_NONE_OF_ASKED;

enum trainer_status slot_answer_check(const struct trainer_env *env, struct trainer_error *err)
{
    return search_tool_check(env, distractors, 2 * env->k_max, err);
}

size_t slot_answer_max_tokens(const struct trainer_env *env)
{
    return (size_t)env->k_max + 3 + (size_t)env->max_turns * tool_turn_tokens(env) + 1 + 2 * (size_t)env->k_max;
}

size_t slot_answer_tokens(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *tokens)
{
    for (int32_t i = 0; i < episode->k; i++) {
        tokens[2 * i] = env_relation(episode->relations[i]);
        tokens[2 * i + 1] = env_entity(env, episode->path[i + 1]);
    }
    return 2 * (size_t)episode->k;
}

size_t slot_answer_search(const struct trainer_env *env, struct trainer_episode *episode, int32_t *text)
{
    size_t n = search_tool_answer(env, episode, distractors, text);
    uint32_t slot = 0;
    for (int32_t i = 0; i < episode->k && episode->entity == episode->path[0]; i++)
        slot |= (uint32_t)(episode->relation == episode->relations[i]) << i;
    if (slot & ~episode->found) {
        episode->good |= 1u << episode->turn;
        episode->found |= text[1] != TRAINER_NONE ? slot : 0;
    }
    return n;
}
