#include "env/search_tool.h"

#include "env/fact_graph.h"
#include "env/tool_turn.h"

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
    enum trainer_status status = tool_turn_check(env, n_answer, err);
    return status == TRAINER_OK ? check_distractors(env, distractors, err) : status;
}
