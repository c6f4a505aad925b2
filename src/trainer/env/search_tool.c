/*
 * graph.c: see graph.h.
 *
 * Every question has its own graph, so that facts can only be found, never remembered: what is
 * learned is how to search. Half of the relations stay inside a region, so that a guess within it
 * is better than none.
 */
#include "env/search_tool.h"

#include "env/tool_turn.h"

/*
 * The graph is never stored: an edge is a hash of where it starts. The upper half of the relations
 * leaves the region; region and place within it are taken from different bits of one hash, so that
 * they are independent. A table would have to be made for every question, to be read a handful of
 * times.
 */
int32_t graph_follow(const struct trainer_env *env, uint64_t question, int32_t entity,
                     int32_t relation)
{
    const struct trainer_world *world = &env->world;
    uint64_t place = (uint64_t)entity * 1000003u + (uint64_t)relation * 7919u + 17u;
    uint64_t h = trainer_mix(question ^ trainer_mix(place));
    int32_t region = entity / world->region_size;
    if (relation >= world->relations / 2)
        region = (int32_t)((h >> 40) % (uint64_t)world->regions);
    return region * world->region_size + (int32_t)((h & 0xffffff) % (uint64_t)world->region_size);
}

/* Distinct, or "the fact that was asked for" could be two. */
void graph_draw_relations(const struct trainer_env *env, struct trainer_rng *rng,
                          struct trainer_episode *episode)
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

static bool is_among(const int32_t *relations, int32_t n, int32_t relation)
{
    bool found = false;
    for (int32_t i = 0; i < n; i++)
        found = found || relations[i] == relation;
    return found;
}

/*
 * The asked relation and distractors, the asked one at a random place: at a fixed one a policy
 * would learn the place instead of reading the relation.
 */
static void draw_facts(const struct trainer_env *env, const struct trainer_episode *episode,
                       int32_t relation, enum graph_distractors distractors,
                       struct trainer_rng *rng, int32_t facts[TRAINER_FACTS_MAX])
{
    int32_t avoided = distractors == GRAPH_NONE_OF_ASKED ? episode->k : 0;
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

size_t graph_observe(const struct trainer_env *env, const struct trainer_episode *episode,
                     int32_t entity, int32_t relation, enum graph_distractors distractors,
                     struct trainer_rng *rng, int32_t *text)
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

/* A stream for each turn: what the tool says never depends on how many tokens were sampled before. */
size_t graph_search(const struct trainer_env *env, const struct trainer_episode *episode,
                    enum graph_distractors distractors, int32_t *text)
{
    struct trainer_rng rng = {trainer_seed(episode->noise, 's', (uint64_t)episode->turn)};
    return graph_observe(env, episode, episode->entity, episode->relation, distractors, &rng, text);
}

/* Distractors are drawn again until they fit: there must be enough relations, or it never ends. */
static enum trainer_status check_distractors(const struct trainer_env *env,
                                             enum graph_distractors distractors,
                                             struct trainer_error *err)
{
    if (distractors == GRAPH_NONE_OF_ASKED && env->k_max + env->facts - 1 > env->world.relations)
        return trainer_fail(err, TRAINER_EINVAL,
                            "k_max %d and facts %d: distractors are of relations that are not "
                            "asked for, and there are only %d relations",
                            env->k_max, env->facts, env->world.relations);
    return TRAINER_OK;
}

enum trainer_status graph_check(const struct trainer_env *env, enum graph_distractors distractors,
                                int32_t n_answer, struct trainer_error *err)
{
    if (env->facts < 1 || env->facts > TRAINER_FACTS_MAX || env->facts > env->world.relations)
        return trainer_fail(err, TRAINER_EINVAL,
                            "facts %d: must be 1..%d and at most the relations", env->facts,
                            TRAINER_FACTS_MAX);
    if (env->k_max > env->world.relations)
        return trainer_fail(err, TRAINER_EINVAL, "k_max %d: there are only %d relations",
                            env->k_max, env->world.relations);
    enum trainer_status status = tool_turn_check(env, n_answer, err);
    return status == TRAINER_OK ? check_distractors(env, distractors, err) : status;
}
