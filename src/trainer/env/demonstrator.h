/* demonstrator.h: code that the demonstrators of all environments share. Demonstrators make errors on purpose. */
#pragma once

#include "env/env_kind.h"

/* A demonstration that is being written. */
struct demo {
    const struct trainer_env *env;
    const struct trainer_demo_options *options;
    struct trainer_rng *rng;
    struct trainer_episode episode;
    int32_t *tokens;
    uint8_t *mask;
    size_t n, n_prompt;
};

bool demo_chance(struct demo *demo, double p);
void demo_put(struct demo *demo, int32_t token, uint8_t trained);

/*
 * Cuts the demonstration at the prompt's end or after an observation, and appends the true answer, which is the only
 * part that is trained on.
 */
void demo_make_belief(struct demo *demo);

/* How the demonstrator of an environment chooses its calls. */
struct demo_plan {
    /* See `next` in struct env_class. */
    bool (*next)(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *first, int32_t *second);
    /* Returns whether entity i of the answer follows from what the tool has shown. */
    bool (*knows)(const struct trainer_episode *episode, int32_t i);
    /*
     * Draws the words of a useless call, which is sometimes useful by chance, as a policy's calls are. If NULL, the
     * call asks for any relation of the right entity (mostly one that is known or that the question does not name), or
     * for a relation of the question but of any entity (mostly a wrong one).
     */
    void (*useless)(struct demo *demo, int32_t *first, int32_t *second);
};

/*
 * Writes a complete demonstration, in which the environment itself answers the calls. p_stop and p_needless decide when
 * the demonstration ends, p_wrong how many calls are useless, and p_hindsight how often an unknown value is guessed
 * right. Returns the length.
 */
size_t demo_play(const struct demo_plan *plan, const struct trainer_env *env, const struct trainer_demo_options *options,
                 struct trainer_rng *rng, int32_t *tokens, uint8_t *mask);
