/*
 * hopworld.c: multi-hop questions over a graph of their own, and a search tool.
 *
 * Every question has its own graph, so that facts can only be found, never remembered: what is
 * learned is how to search. The tool adds a distractor and sometimes fails, because without either
 * the policy could answer with the last entity it read. Half of the relations stay inside a region,
 * so that a guess within it is better than none.
 */
#include <string.h>

#include "env/env_kind.h"

/* What the parser of the policy's tokens expects next. */
enum { AT_TURN, AT_ENTITY, AT_RELATION, AT_END, AT_ANSWER };

/* S entity relation /S, then OBS facts /OBS. */
static size_t tokens_per_turn(const struct trainer_env *env)
{
    return 4 + 2 + 2 * (size_t)env->facts;
}

static enum trainer_status check(const struct trainer_env *env, struct trainer_error *err)
{
    if (env->max_turns < 0 || env->max_turns > TRAINER_TURNS_MAX)
        return trainer_fail(err, TRAINER_EINVAL, "max_turns %d: must be 0..%d", env->max_turns,
                            TRAINER_TURNS_MAX);
    if (env->facts < 1 || env->facts > TRAINER_FACTS_MAX || env->facts > env->world.relations)
        return trainer_fail(err, TRAINER_EINVAL,
                            "facts %d: must be 1..%d and at most the relations", env->facts,
                            TRAINER_FACTS_MAX);
    if (env->k_max > env->world.relations)
        return trainer_fail(err, TRAINER_EINVAL, "k_max %d: there are only %d relations",
                            env->k_max, env->world.relations);
    if (!(env->p_fail >= 0 && env->p_fail <= 1))
        return trainer_fail(err, TRAINER_EINVAL, "p_fail %g: must be 0..1", env->p_fail);
    return TRAINER_OK;
}

/*
 * Question, turns, ANS and the answer: no rollout can be longer, so a cache of that length never
 * overflows.
 */
static size_t max_tokens(const struct trainer_env *env)
{
    return (size_t)env->k_max + 3 + (size_t)env->max_turns * tokens_per_turn(env) + 2;
}

/*
 * The graph is never stored: an edge is a hash of where it starts. The upper half of the relations
 * leaves the region; region and place within it are taken from different bits of one hash, so that
 * they are independent. A table would have to be made for every question, to be read a handful of
 * times.
 */
static int32_t follow(const struct trainer_env *env, uint64_t question, int32_t entity,
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

/*
 * k relations, drawn again where one came before. Distinct, or "the fact that was asked for"
 * could be two.
 */
static void draw_relations(const struct trainer_env *env, struct trainer_rng *rng,
                           struct trainer_episode *episode)
{
    int32_t n = env->world.relations;
    for (int32_t i = 0; i < episode->k; i++) {
        bool used = true;
        while (used) {
            episode->relations[i] = trainer_rng_below(rng, n);
            used = false;
            for (int32_t j = 0; j < i; j++)
                used = used || episode->relations[j] == episode->relations[i];
        }
    }
}

static size_t reset(const struct trainer_env *env, struct trainer_episode *episode, int32_t *prompt)
{
    struct trainer_rng rng = {trainer_seed(episode->question, 'q', 0)};
    size_t n = 0;
    episode->path[0] = trainer_rng_below(&rng, trainer_world_entities(&env->world));
    draw_relations(env, &rng, episode);
    prompt[n++] = TRAINER_Q;
    prompt[n++] = env_entity(env, episode->path[0]);
    for (int32_t i = 0; i < episode->k; i++) {
        episode->path[i + 1] =
            follow(env, episode->question, episode->path[i], episode->relations[i]);
        prompt[n++] = env_relation(episode->relations[i]);
    }
    prompt[n++] = TRAINER_END_Q;
    return n;
}

/*
 * The asked relation and distractors, the asked one at a random place: at a fixed one a policy
 * would learn the place instead of reading the relation.
 */
static void draw_facts(const struct trainer_env *env, struct trainer_rng *rng, int32_t relation,
                       int32_t facts[TRAINER_FACTS_MAX])
{
    facts[0] = relation;
    for (int32_t n = 1; n < env->facts;) {
        int32_t other = trainer_rng_below(rng, env->world.relations);
        bool used = false;
        for (int32_t j = 0; j < n; j++)
            used = used || facts[j] == other;
        if (!used)
            facts[n++] = other;
    }
    int32_t place = trainer_rng_below(rng, env->facts);
    facts[0] = facts[place];
    facts[place] = relation;
}

/*
 * rng is the turn's own stream in an episode (search) and the demonstrator's in a demonstration:
 * what the tool says never depends on how many tokens were sampled before.
 */
static size_t observe(const struct trainer_env *env, uint64_t question, int32_t entity,
                      int32_t relation, struct trainer_rng *rng, int32_t *text)
{
    int32_t facts[TRAINER_FACTS_MAX];
    size_t n = 0;
    text[n++] = TRAINER_OBS;
    if (trainer_rng_uniform(rng) < env->p_fail) {
        text[n++] = TRAINER_NONE;
    } else {
        draw_facts(env, rng, relation, facts);
        for (int32_t i = 0; i < env->facts; i++) {
            text[n++] = env_relation(facts[i]);
            text[n++] = env_entity(env, follow(env, question, entity, facts[i]));
        }
    }
    text[n++] = TRAINER_END_OBS;
    return n;
}

/*
 * Good is what asks for the next hop, also when the tool fails: the judge rates the step, not the
 * tool's luck; the hop counts as found only when it was shown.
 */
static enum trainer_turn search(const struct trainer_env *env, struct trainer_episode *episode,
                                int32_t *text, size_t *n)
{
    struct trainer_rng rng = {trainer_seed(episode->noise, 's', (uint64_t)episode->turn)};
    *n = observe(env, episode->question, episode->entity, episode->relation, &rng, text);
    bool next_hop = episode->hop < episode->k && episode->entity == episode->path[episode->hop] &&
                    episode->relation == episode->relations[episode->hop];
    if (next_hop) {
        episode->good |= 1u << episode->turn;
        episode->hop += text[1] != TRAINER_NONE;
    }
    episode->turn++;
    episode->state = AT_TURN;
    return TRAINER_TURN_OBSERVED;
}

/*
 * The grammar is enforced token by token: what does not parse ends the episode at once with reward
 * 0, so that credit falls on the token that broke it and no rollout is longer than max_tokens.
 */
static enum trainer_turn begin_turn(const struct trainer_env *env, struct trainer_episode *episode,
                                    int32_t token)
{
    if (token == TRAINER_S && episode->turn < env->max_turns)
        episode->state = AT_ENTITY;
    else if (token == TRAINER_ANS)
        episode->state = AT_ANSWER;
    else
        return env_end(episode, true, false);
    return TRAINER_TURN_GOES_ON;
}

static enum trainer_turn take_entity(const struct trainer_env *env, struct trainer_episode *episode,
                                     int32_t token)
{
    episode->entity = env_entity_of(env, token);
    episode->state = AT_RELATION;
    return episode->entity < 0 ? env_end(episode, true, false) : TRAINER_TURN_GOES_ON;
}

static enum trainer_turn take_relation(const struct trainer_env *env,
                                       struct trainer_episode *episode, int32_t token)
{
    episode->relation = token - TRAINER_N_MARKERS;
    episode->state = AT_END;
    bool is_one = episode->relation >= 0 && episode->relation < env->world.relations;
    return is_one ? TRAINER_TURN_GOES_ON : env_end(episode, true, false);
}

static enum trainer_turn step(const struct trainer_env *env, struct trainer_episode *episode,
                              int32_t token, int32_t *text, size_t *n)
{
    switch (episode->state) {
    case AT_TURN: return begin_turn(env, episode, token);
    case AT_ENTITY: return take_entity(env, episode, token);
    case AT_RELATION: return take_relation(env, episode, token);
    case AT_END:
        return token == TRAINER_END_S ? search(env, episode, text, n)
                                      : env_end(episode, true, false);
    default: break;
    }
    int32_t entity = env_entity_of(env, token);
    return env_end(episode, entity < 0, entity == episode->path[episode->k]);
}

static size_t answer(const struct trainer_env *env, const struct trainer_episode *episode,
                     int32_t *tokens)
{
    tokens[0] = env_entity(env, episode->path[episode->k]);
    return 1;
}

/* ---- the noisy demonstrator --------------------------------------------------------------- */

struct demo {
    const struct trainer_env *env;
    const struct trainer_demo_options *options;
    struct trainer_rng *rng;
    struct trainer_episode episode;
    int32_t *tokens;
    uint8_t *mask;
    size_t n;
    int32_t at, hop; /* where the demonstrator believes to be */
};

static bool by_chance(struct demo *demo, double p)
{
    return trainer_rng_uniform(demo->rng) < p;
}

static void put(struct demo *demo, int32_t token, uint8_t trained)
{
    demo->tokens[demo->n] = token;
    demo->mask[demo->n++] = trained;
}

/*
 * How the demonstrator errs sets how good a warm start can be: it stops short, follows distractors
 * and searches on when done, so that there is something left to learn from rewards.
 */
static bool stops(struct demo *demo, int32_t turn)
{
    if (demo->hop == demo->episode.k && !by_chance(demo, demo->options->p_needless))
        return true;
    return turn > 0 && by_chance(demo, demo->options->p_stop);
}

/*
 * One in twenty asks for something else, so that demonstrations have useless searches, and show
 * how to go on after one.
 */
static int32_t asks_for(struct demo *demo)
{
    if (demo->hop < demo->episode.k && by_chance(demo, 0.95))
        return demo->episode.relations[demo->hop];
    return trainer_rng_below(demo->rng, demo->env->world.relations);
}

/*
 * Read what the tool wrote at text: the asked fact, or by mistake any of them. The demonstrator
 * believes what it read, not what is true: its mistakes carry on, as a policy's do.
 */
static void believe(struct demo *demo, const int32_t *text, int32_t relation)
{
    if (text[1] == TRAINER_NONE)
        return;
    demo->at = follow(demo->env, demo->episode.question, demo->at, relation);
    if (by_chance(demo, demo->options->p_wrong)) {
        int32_t fact = trainer_rng_below(demo->rng, demo->env->facts);
        demo->at = env_entity_of(demo->env, text[2 + 2 * fact]);
    }
    demo->hop += demo->hop < demo->episode.k;
}

static void demonstrate_turn(struct demo *demo)
{
    int32_t relation = asks_for(demo);
    put(demo, TRAINER_S, 1);
    put(demo, env_entity(demo->env, demo->at), 1);
    put(demo, env_relation(relation), 1);
    put(demo, TRAINER_END_S, 1);
    int32_t *text = demo->tokens + demo->n;
    size_t n = observe(demo->env, demo->episode.question, demo->at, relation, demo->rng, text);
    memset(demo->mask + demo->n, 0, n);
    demo->n += n;
    believe(demo, text, relation);
}

/*
 * Answering right after stopping short cannot come from what was read: it keeps some probability
 * on the true answer there, which is what gains are read from.
 */
static void demonstrate_answer(struct demo *demo)
{
    int32_t entity = demo->at;
    if (demo->hop < demo->episode.k && by_chance(demo, demo->options->p_hindsight))
        entity = demo->episode.path[demo->episode.k];
    put(demo, TRAINER_ANS, 1);
    put(demo, env_entity(demo->env, entity), 1);
}

/*
 * Cut at the prompt's end or after an observation, and train the true answer there. Belief rows
 * teach the policy to answer at any point, and only that: without them the probability of the
 * answer in the middle of a search means nothing, and information gain is noise.
 */
static void make_belief(struct demo *demo)
{
    size_t ends[TRAINER_TURNS_MAX + 1] = {(size_t)demo->episode.k + 3}, n = 1;
    for (size_t i = ends[0]; i < demo->n; i++)
        if (demo->tokens[i] == TRAINER_END_OBS)
            ends[n++] = i + 1;
    memset(demo->mask, 0, demo->n);
    demo->n = ends[trainer_rng_below(demo->rng, (int32_t)n)];
    put(demo, TRAINER_ANS, 0);
    put(demo, env_entity(demo->env, demo->episode.path[demo->episode.k]), 1);
}

static size_t demonstrate(const struct trainer_env *env, const struct trainer_demo_options *options,
                          struct trainer_rng *rng, int32_t *tokens, uint8_t *mask)
{
    struct demo demo = {.env = env, .options = options, .rng = rng, .tokens = tokens, .mask = mask};
    demo.n = trainer_env_reset(env, trainer_rng_next(rng), 0, &demo.episode, tokens);
    memset(mask, 0, demo.n);
    demo.at = demo.episode.path[0];
    for (int32_t turn = 0; turn < env->max_turns && !stops(&demo, turn); turn++)
        demonstrate_turn(&demo);
    demonstrate_answer(&demo);
    if (by_chance(&demo, options->p_belief))
        make_belief(&demo);
    return demo.n;
}

const struct env_class trainer_hopworld = {
    .name = "hopworld",
    .check = check,
    .max_tokens = max_tokens,
    .reset = reset,
    .step = step,
    .answer = answer,
    .demonstrate = demonstrate,
};
