#include "env/fact_graph.h"

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
