#include "env/calculator.h"

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
