/* env_kind.h: the functions that each environment provides to env.c. */
#pragma once

#include <trainer/env.h>

#include "support/error.h"
#include "support/rng.h"

struct env_class {
    const char *name;
    enum trainer_status (*check)(const struct trainer_env *env, struct trainer_error *err);
    size_t (*max_tokens)(const struct trainer_env *env);
    size_t (*reset)(const struct trainer_env *env, struct trainer_episode *episode, int32_t *prompt);
    /* Either a tool, or a function that takes each token. */
    const struct tool_turn *tool;
    enum trainer_turn (*step)(const struct trainer_env *env, struct trainer_episode *episode, int32_t token, int32_t *text,
                              size_t *n);
    size_t (*answer)(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *tokens);
    /* Either what the noisy demonstrator knows (demonstrator.h), or one of its own. */
    const struct demo_plan *plan;
    size_t (*demonstrate)(const struct trainer_env *env, const struct trainer_demo_options *options, struct trainer_rng *rng,
                          int32_t *tokens, uint8_t *mask);
    /*
     * Writes the words of a call that is useful now; returns false if no call is useful. NULL if the environment has no
     * tool.
     */
    bool (*next)(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *first, int32_t *second);
};

extern const struct env_class trainer_hopworld, trainer_reverse, trainer_slots, trainer_ledger, trainer_sums;

static inline int32_t env_relation(int32_t relation)
{
    return TRAINER_N_MARKERS + relation;
}

static inline int32_t env_entity(const struct trainer_env *env, int32_t entity)
{
    return TRAINER_N_MARKERS + env->world.relations + entity;
}

/* Returns the number of the entity that a token names, or -1 if the token is not an entity. */
static inline int32_t env_entity_of(const struct trainer_env *env, int32_t token)
{
    int32_t entity = token - TRAINER_N_MARKERS - env->world.relations;
    return entity < trainer_world_entities(&env->world) ? entity : -1;
}

/* Draws values [k], distinct, each in [0, n); k must be at most n. */
void env_draw_distinct(struct trainer_rng *rng, int32_t n, int32_t k, int32_t *values);

/* Ends the episode. */
enum trainer_turn env_end(struct trainer_episode *episode, bool malformed, bool right);
