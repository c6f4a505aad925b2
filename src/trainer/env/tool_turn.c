/*
 * The grammar is checked token by token: a token that does not parse ends the episode immediately with reward 0. So
 * credit falls on the token that broke the grammar, and no rollout is longer than max_tokens.
 */
#include "env/tool_turn.h"

/* S word word /S, then OBS facts /OBS. */
size_t tool_turn_tokens(const struct trainer_env *env)
{
    return TOOL_TURN_CALL + 2 + 2 * (size_t)env->facts;
}

enum trainer_status tool_turn_check(const struct trainer_env *env, int32_t n_answer, struct trainer_error *err)
{
    if (env->max_turns < 0 || env->max_turns > TRAINER_TURNS_MAX)
        return trainer_fail(err, TRAINER_EINVAL, "max_turns %d: must be 0..%d", env->max_turns, TRAINER_TURNS_MAX);
    if (n_answer > TRAINER_HOPS_MAX)
        return trainer_fail(err, TRAINER_EINVAL, "k_max %d: an answer would have %d tokens, and may have %d", env->k_max,
                            n_answer, TRAINER_HOPS_MAX);
    if (!(env->p_fail >= 0 && env->p_fail <= 1))
        return trainer_fail(err, TRAINER_EINVAL, "p_fail %g: must be 0..1", env->p_fail);
    return TRAINER_OK;
}

/* Answering is the right step if nothing is left to find out, or if no call is left to find it out. */
static void begin_answer(const struct tool_turn *tool, const struct trainer_env *env, struct trainer_episode *episode)
{
    episode->state = AT_ANSWER;
    if (tool->knows_all && (tool->knows_all(episode) || episode->turn == env->max_turns))
        episode->good |= 1u << episode->turn;
}

static enum trainer_turn begin_turn(const struct tool_turn *tool, const struct trainer_env *env, struct trainer_episode *episode,
                                    int32_t token)
{
    if (token == TRAINER_S && episode->turn < env->max_turns)
        episode->state = AT_FIRST;
    else if (token == TRAINER_ANS)
        begin_answer(tool, env, episode);
    else {
        episode->truncated = token == TRAINER_S;
        return env_end(episode, true, false);
    }
    return TRAINER_TURN_GOES_ON;
}

static enum trainer_turn take_second(const struct tool_turn *tool, const struct trainer_env *env, struct trainer_episode *episode,
                                     int32_t token)
{
    int32_t relations = env->world.relations, words = relations;
    if (tool->second != TOOL_RELATION)
        words += trainer_world_entities(&env->world);
    episode->relation = token - TRAINER_N_MARKERS;
    episode->state = AT_END;
    bool is_one = episode->relation >= (tool->second == TOOL_ENTITY ? relations : 0) && episode->relation < words;
    return is_one ? TRAINER_TURN_GOES_ON : env_end(episode, true, false);
}

static enum trainer_turn call(const struct tool_turn *tool, const struct trainer_env *env, struct trainer_episode *episode,
                              int32_t token, int32_t *text, size_t *n)
{
    if (token != TRAINER_END_S)
        return env_end(episode, true, false);
    *n = tool->call(env, episode, text);
    episode->turn++;
    episode->state = AT_TURN;
    return TRAINER_TURN_OBSERVED;
}

enum kind { MARKER, RELATION, ENTITY };

static enum kind kind_of(const struct trainer_env *env, int32_t token)
{
    if (env_entity_of(env, token) >= 0)
        return ENTITY;
    return token >= TRAINER_N_MARKERS && token < TRAINER_N_MARKERS + env->world.relations ? RELATION : MARKER;
}

/*
 * The first wrong token ends the episode, because only the whole answer is rewarded, and nothing after a mistake
 * can earn it. A wrong word of the right kind makes a wrong answer; any other word makes the turn malformed.
 */
static enum trainer_turn take_answer(const struct trainer_env *env, struct trainer_episode *episode, int32_t token)
{
    int32_t answer[TRAINER_HOPS_MAX], written = episode->state++ - AT_ANSWER;
    int32_t n = (int32_t)trainer_env_answer(env, episode, answer);
    if (token != answer[written])
        return env_end(episode, kind_of(env, token) != kind_of(env, answer[written]), false);
    return written + 1 == n ? env_end(episode, false, true) : TRAINER_TURN_GOES_ON;
}

enum trainer_turn tool_turn_step(const struct tool_turn *tool, const struct trainer_env *env, struct trainer_episode *episode,
                                 int32_t token, int32_t *text, size_t *n)
{
    switch (episode->state) {
    case AT_TURN: return begin_turn(tool, env, episode, token);
    case AT_FIRST:
        episode->entity = env_entity_of(env, token);
        episode->state = AT_SECOND;
        return episode->entity < 0 ? env_end(episode, true, false) : TRAINER_TURN_GOES_ON;
    case AT_SECOND: return take_second(tool, env, episode, token);
    case AT_END: return call(tool, env, episode, token, text, n);
    default: return take_answer(env, episode, token);
    }
}
