/*
 * reverse.c: the policy writes a string of tokens backwards; one turn, no tool.
 *
 * This is the second environment that a recipe can mix in: it is short, has no searches and so no gains, and its
 * answer has several tokens. An algorithm that works in both environments is not fitted to one of them.
 */

#include "env/env_kind.h"

static enum trainer_status check(const struct trainer_env *env, struct trainer_error *err)
{
    (void)env;
    (void)err;
    return TRAINER_OK;
}

/* S string /S ANS string */
static size_t max_tokens(const struct trainer_env *env)
{
    return 2 * (size_t)env->k_max + 3;
}

/*
 * S and /S are hopworld's markers, used here as quotes, because new markers would change the numbers of all tokens of
 * old checkpoints.
 */
static size_t reset(const struct trainer_env *env, struct trainer_episode *episode, int32_t *prompt)
{
    struct trainer_rng rng = {trainer_seed(episode->question, 'r', 0)};
    size_t n = 0;
    prompt[n++] = TRAINER_S;
    for (int32_t i = 0; i < episode->k; i++) {
        episode->path[i] = trainer_rng_below(&rng, trainer_world_entities(&env->world));
        prompt[n++] = env_entity(env, episode->path[i]);
    }
    prompt[n++] = TRAINER_END_S;
    return n;
}

/*
 * state: number of tokens written, ANS included. The first wrong token ends the episode, because only the whole
 * string is rewarded, and nothing after a mistake can earn it.
 */
static enum trainer_turn step(const struct trainer_env *env, struct trainer_episode *episode, int32_t token, int32_t *text,
                              size_t *n)
{
    (void)text;
    (void)n;
    int32_t written = episode->state++;
    if (written == 0)
        return token == TRAINER_ANS ? TRAINER_TURN_GOES_ON : env_end(episode, true, false);
    int32_t entity = env_entity_of(env, token);
    if (entity < 0 || entity != episode->path[episode->k - written])
        return env_end(episode, entity < 0, false);
    return written == episode->k ? env_end(episode, false, true) : TRAINER_TURN_GOES_ON;
}

static size_t answer(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *tokens)
{
    for (int32_t i = 0; i < episode->k; i++)
        tokens[i] = env_entity(env, episode->path[episode->k - 1 - i]);
    return (size_t)episode->k;
}

/* The demonstrator makes one kind of mistake here: a wrong token, in a share p_wrong / 2 of the strings. */
static size_t demonstrate(const struct trainer_env *env, const struct trainer_demo_options *options, struct trainer_rng *rng,
                          int32_t *tokens, uint8_t *mask)
{
    struct trainer_episode episode;
    size_t n = trainer_env_reset(env, trainer_rng_next(rng), 0, &episode, tokens);
    memset(mask, 0, n);
    tokens[n] = TRAINER_ANS;
    size_t end = n + 1 + answer(env, &episode, tokens + n + 1);
    memset(mask + n, 1, end - n);
    if (trainer_rng_uniform(rng) < options->p_wrong / 2) {
        int32_t entity = trainer_rng_below(rng, trainer_world_entities(&env->world));
        tokens[n + 1 + (size_t)trainer_rng_below(rng, episode.k)] = env_entity(env, entity);
    }
    return end;
}

const struct env_class trainer_reverse = {
    .name = "reverse",
    .check = check,
    .max_tokens = max_tokens,
    .reset = reset,
    .step = step,
    .answer = answer,
    .demonstrate = demonstrate,
};
