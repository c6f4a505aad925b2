/*
 * hopworld.c: multi-hop questions, answered with the help of a search tool.
 *
 * The tool adds distractors and sometimes fails, because otherwise the policy could answer with the last entity it
 * read.
 */

#include "env/demonstrator.h"
#include "env/tool_turn.h"

static enum trainer_status check(const struct trainer_env *env, struct trainer_error *err)
{
    return search_tool_check(env, DISTRACTORS_ANY_OTHER, 1, err);
}

/*
 * Counts the question, all turns, ANS and the answer. No rollout can be longer, so a cache of this length never
 * overflows.
 */
static size_t max_tokens(const struct trainer_env *env)
{
    return (size_t)env->k_max + 3 + (size_t)env->max_turns * tool_turn_tokens(env) + 2;
}

static size_t reset(const struct trainer_env *env, struct trainer_episode *episode, int32_t *prompt)
{
    size_t n = graph_ask(env, episode, prompt);
    for (int32_t i = 0; i < episode->k; i++)
        episode->path[i + 1] = graph_follow(env, episode->question, episode->path[i], episode->relations[i]);
    return n;
}

/*
 * A search for the next hop is GOOD even if the tool fails: the judge rates the step, not the tool's luck. The hop
 * counts as found only if the tool has shown it.
 */
static size_t search(const struct trainer_env *env, struct trainer_episode *episode, int32_t *text)
{
    size_t n = search_tool_answer(env, episode, DISTRACTORS_ANY_OTHER, text);
    bool next_hop = episode->hop < episode->k && episode->entity == episode->path[episode->hop] &&
                    episode->relation == episode->relations[episode->hop];
    if (next_hop) {
        episode->good |= 1u << episode->turn;
        episode->hop += text[1] != TRAINER_NONE;
    }
    return n;
}

static size_t answer(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *tokens)
{
    tokens[0] = env_entity(env, episode->path[episode->k]);
    return 1;
}

static bool next(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *first, int32_t *second)
{
    if (episode->hop == episode->k)
        return false;
    *first = env_entity(env, episode->path[episode->hop]);
    *second = env_relation(episode->relations[episode->hop]);
    return true;
}

struct walk {
    struct demo demo;
    int32_t at, hop; /* the entity and the hop at which the demonstrator believes it is */
};

/*
 * The errors of the demonstrator limit how good a warm start can be. The demonstrator stops too early, follows
 * distractors and continues when it knows everything, so that training with rewards can still improve the policy.
 */
static bool stops(struct walk *walk, int32_t turn)
{
    struct demo *demo = &walk->demo;
    if (walk->hop == demo->episode.k && !demo_chance(demo, demo->options->p_needless))
        return true;
    return turn > 0 && demo_chance(demo, demo->options->p_stop);
}

/*
 * One search in twenty asks for something else, so that demonstrations contain useless searches and show how to
 * continue after them.
 */
static int32_t asks_for(struct walk *walk)
{
    struct demo *demo = &walk->demo;
    if (walk->hop < demo->episode.k && demo_chance(demo, 0.95))
        return demo->episode.relations[walk->hop];
    return trainer_rng_below(demo->rng, demo->env->world.relations);
}

/*
 * Reads a fact from the tool's answer: the one that was asked for, or by mistake any of them. The demonstrator believes
 * what it read and not what is true, so that its mistakes have consequences in later turns, as a policy's mistakes do.
 */
static void believe(struct walk *walk, const int32_t *text, int32_t relation)
{
    struct demo *demo = &walk->demo;
    if (text[1] == TRAINER_NONE)
        return;
    walk->at = graph_follow(demo->env, demo->episode.question, walk->at, relation);
    if (demo_chance(demo, demo->options->p_wrong)) {
        int32_t fact = trainer_rng_below(demo->rng, demo->env->facts);
        walk->at = env_entity_of(demo->env, text[2 + 2 * fact]);
    }
    walk->hop += walk->hop < demo->episode.k;
}

static void demonstrate_turn(struct walk *walk)
{
    struct demo *demo = &walk->demo;
    int32_t relation = asks_for(walk);
    demo_put(demo, TRAINER_S, 1);
    demo_put(demo, env_entity(demo->env, walk->at), 1);
    demo_put(demo, env_relation(relation), 1);
    demo_put(demo, TRAINER_END_S, 1);
    int32_t *text = demo->tokens + demo->n;
    size_t n = search_tool_answer_for(demo->env, &demo->episode, walk->at, relation, DISTRACTORS_ANY_OTHER, demo->rng, text);
    memset(demo->mask + demo->n, 0, n);
    demo->n += n;
    believe(walk, text, relation);
}

/*
 * If the demonstrator stopped too early, a right answer cannot come from what it read. Such answers keep some
 * probability on the true answer at this point; gains are measured by this probability.
 */
static void demonstrate_answer(struct walk *walk)
{
    struct demo *demo = &walk->demo;
    int32_t entity = walk->at;
    if (walk->hop < demo->episode.k && demo_chance(demo, demo->options->p_hindsight))
        entity = demo->episode.path[demo->episode.k];
    demo_put(demo, TRAINER_ANS, 1);
    demo_put(demo, env_entity(demo->env, entity), 1);
}

static size_t demonstrate(const struct trainer_env *env, const struct trainer_demo_options *options, struct trainer_rng *rng,
                          int32_t *tokens, uint8_t *mask)
{
    struct walk walk = {{.env = env, .options = options, .rng = rng, .tokens = tokens, .mask = mask}, 0, 0};
    struct demo *demo = &walk.demo;
    demo->n = demo->n_prompt = trainer_env_reset(env, trainer_rng_next(rng), 0, &demo->episode, tokens);
    memset(mask, 0, demo->n);
    walk.at = demo->episode.path[0];
    for (int32_t turn = 0; turn < env->max_turns && !stops(&walk, turn); turn++)
        demonstrate_turn(&walk);
    demonstrate_answer(&walk);
    if (demo_chance(demo, options->p_belief))
        demo_make_belief(demo);
    return demo->n;
}

const struct env_class trainer_hopworld = {
    .name = "hopworld",
    .check = check,
    .max_tokens = max_tokens,
    .reset = reset,
    .tool = &(const struct tool_turn){.call = search},
    .answer = answer,
    .demonstrate = demonstrate,
    .next = next,
};
