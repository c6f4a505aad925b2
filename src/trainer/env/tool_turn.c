/*
 * The grammar is checked token by token: a token that does not parse ends the episode immediately with reward 0. So
 * credit falls on the token that broke the grammar, and no rollout is longer than max_tokens.
 */
#include "env/tool_turn.h"

/*
 * The graph is never stored. An edge is a hash of its start, because a table would have to be built for every question
 * and would be read only a few times. The upper half of the relations leaves the region. The region and the place
 * within it come from different bits of one hash, so that they are independent.
 */
int32_t graph_follow(const struct trainer_env *env, uint64_t question, int32_t entity, int32_t relation)
{
    const struct trainer_world *world = &env->world;
    uint64_t place = (uint64_t)entity * 1000003u + (uint64_t)relation * 7919u + 17u;
    uint64_t h = trainer_mix(question ^ trainer_mix(place));
    int32_t region = entity / world->region_size;
    if (relation >= world->relations / 2)
        region = (int32_t)((h >> 40) % (uint64_t)world->regions);
    return region * world->region_size + (int32_t)((h & 0xffffff) % (uint64_t)world->region_size);
}

/* The relations are distinct, because otherwise "the fact that was asked for" could mean two facts. */
static void graph_draw_relations(const struct trainer_env *env, struct trainer_rng *rng, struct trainer_episode *episode)
{
    env_draw_distinct(rng, env->world.relations, episode->k, episode->relations);
}

size_t graph_ask(const struct trainer_env *env, struct trainer_episode *episode, int32_t *prompt)
{
    struct trainer_rng rng = {trainer_seed(episode->question, 'q', 0)};
    size_t n = 0;
    episode->path[0] = trainer_rng_below(&rng, trainer_world_entities(&env->world));
    graph_draw_relations(env, &rng, episode);
    prompt[n++] = TRAINER_Q;
    prompt[n++] = env_entity(env, episode->path[0]);
    for (int32_t i = 0; i < episode->k; i++)
        prompt[n++] = env_relation(episode->relations[i]);
    prompt[n++] = TRAINER_END_Q;
    return n;
}

int32_t calculator_sum(const struct trainer_env *env, int32_t a, int32_t b)
{
    return (a + b) % trainer_world_entities(&env->world);
}

int32_t calculator_first(const struct trainer_episode *episode)
{
    return episode->entity;
}

int32_t calculator_second(const struct trainer_env *env, const struct trainer_episode *episode)
{
    return episode->relation - env->world.relations;
}

size_t calculator_answer(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *text)
{
    struct trainer_rng rng = {trainer_seed(episode->noise, 's', (uint64_t)episode->turn)};
    int32_t a = calculator_first(episode), b = calculator_second(env, episode);
    size_t n = 0;
    text[n++] = TRAINER_OBS;
    if (trainer_rng_uniform(&rng) < env->p_fail) {
        text[n++] = TRAINER_NONE;
    } else {
        text[n++] = env_entity(env, b);
        text[n++] = env_entity(env, calculator_sum(env, a, b));
    }
    text[n++] = TRAINER_END_OBS;
    return n;
}

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

static bool is_among(const int32_t *relations, int32_t n, int32_t relation)
{
    bool found = false;
    for (int32_t i = 0; i < n; i++)
        found = found || relations[i] == relation;
    return found;
}

/*
 * Draws the relation that was asked for and distractors. The former goes to a random place, because with a fixed place
 * a policy would learn the place instead of reading the relation.
 */
static void draw_facts(const struct trainer_env *env, const struct trainer_episode *episode, int32_t relation,
                       enum search_distractors distractors, struct trainer_rng *rng, int32_t facts[TRAINER_FACTS_MAX])
{
    int32_t avoided = distractors == DISTRACTORS_NONE_OF_ASKED ? episode->k : 0;
    facts[0] = relation;
    for (int32_t n = 1; n < env->facts;) {
        int32_t other = trainer_rng_below(rng, env->world.relations);
        if (!is_among(facts, n, other) && !is_among(episode->relations, avoided, other))
            facts[n++] = other;
    }
    int32_t place = trainer_rng_below(rng, env->facts);
    facts[0] = facts[place];
    facts[place] = relation;
}

size_t search_tool_answer_for(const struct trainer_env *env, const struct trainer_episode *episode, int32_t entity,
                              int32_t relation, enum search_distractors distractors, struct trainer_rng *rng, int32_t *text)
{
    int32_t facts[TRAINER_FACTS_MAX];
    size_t n = 0;
    text[n++] = TRAINER_OBS;
    if (trainer_rng_uniform(rng) < env->p_fail) {
        text[n++] = TRAINER_NONE;
    } else {
        draw_facts(env, episode, relation, distractors, rng, facts);
        for (int32_t i = 0; i < env->facts; i++) {
            text[n++] = env_relation(facts[i]);
            text[n++] = env_entity(env, graph_follow(env, episode->question, entity, facts[i]));
        }
    }
    text[n++] = TRAINER_END_OBS;
    return n;
}

/* Each turn has its own random stream, so the answer never depends on how many tokens were sampled before. */
size_t search_tool_answer(const struct trainer_env *env, const struct trainer_episode *episode,
                          enum search_distractors distractors, int32_t *text)
{
    struct trainer_rng rng = {trainer_seed(episode->noise, 's', (uint64_t)episode->turn)};
    return search_tool_answer_for(env, episode, episode->entity, episode->relation, distractors, &rng, text);
}

/* Distractors are drawn again until they fit, so with too few relations the loop would never end. */
static enum trainer_status check_distractors(const struct trainer_env *env, enum search_distractors distractors,
                                             struct trainer_error *err)
{
    if (distractors == DISTRACTORS_NONE_OF_ASKED && env->k_max + env->facts - 1 > env->world.relations)
        return trainer_fail(err, TRAINER_EINVAL,
                            "k_max %d and facts %d: distractors need relations that are not "
                            "asked for, and there are only %d relations",
                            env->k_max, env->facts, env->world.relations);
    return TRAINER_OK;
}

enum trainer_status search_tool_check(const struct trainer_env *env, enum search_distractors distractors, int32_t n_answer,
                                      struct trainer_error *err)
{
    if (env->facts < 1 || env->facts > TRAINER_FACTS_MAX || env->facts > env->world.relations)
        return trainer_fail(err, TRAINER_EINVAL, "facts %d: must be 1..%d and at most the relations", env->facts,
                            TRAINER_FACTS_MAX);
    if (env->k_max > env->world.relations)
        return trainer_fail(err, TRAINER_EINVAL, "k_max %d: there are only %d relations", env->k_max, env->world.relations);
    TRY(tool_turn_check(env, n_answer, err));
    return check_distractors(env, distractors, err);
}

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
