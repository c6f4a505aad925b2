/* demo.h: what the noisy demonstrators of the environments share. */
#ifndef TRAINER_DEMONSTRATOR_H
#define TRAINER_DEMONSTRATOR_H

#include "env/env_kind.h"

/* One demonstration being written. */
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
 * Cut at the prompt's end or after an observation, and train the true answer there and nothing
 * else.
 */
void demo_make_belief(struct demo *demo);

/* How the demonstrator of an environment goes about it. */
struct demo_plan {
    /* As in struct env_class. */
    bool (*next)(const struct trainer_env *env, const struct trainer_episode *episode,
                 int32_t *first, int32_t *second);
    /* Whether entity i of the answer follows from what the tool has said. */
    bool (*knows)(const struct trainer_episode *episode, int32_t i);
    /*
     * Words of a call that is useless, but for now and then one that is useful by chance, as a
     * policy's are. NULL: any relation of the right entity, mostly known or never asked for; or an
     * asked relation of any entity, mostly of the wrong one.
     */
    void (*useless)(struct demo *demo, int32_t *first, int32_t *second);
};

/*
 * A whole demonstration, whose calls the environment itself answers: p_stop and p_needless say when
 * it ends, p_wrong how many calls are useless, p_hindsight how often what is not known is answered
 * right. Returns the length.
 */
size_t demo_play(const struct demo_plan *plan, const struct trainer_env *env,
                 const struct trainer_demo_options *options, struct trainer_rng *rng,
                 int32_t *tokens, uint8_t *mask);

#endif
