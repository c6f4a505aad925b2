/*
 * The errors of the demonstrator limit how good a warm start can be. The demonstrator stops too early, makes useless
 * calls and continues when it knows everything, so that training with rewards can still improve the policy.
 */
#include "env/demonstrator.h"

bool demo_chance(struct demo *demo, double p)
{
    return trainer_rng_uniform(demo->rng) < p;
}

void demo_put(struct demo *demo, int32_t token, uint8_t trained)
{
    demo->tokens[demo->n] = token;
    demo->mask[demo->n++] = trained;
}

/*
 * Belief rows only teach the policy to answer at any point. Without belief rows, the probability of the answer in the
 * middle of a search means nothing, and information gain is noise.
 */
void demo_make_belief(struct demo *demo)
{
    size_t ends[TRAINER_TURNS_MAX + 1] = {demo->n_prompt}, n = 1;
    int32_t answer[TRAINER_HOPS_MAX];
    size_t n_answer = trainer_env_answer(demo->env, &demo->episode, answer);
    for (size_t i = ends[0]; i < demo->n; i++)
        if (demo->tokens[i] == TRAINER_END_OBS)
            ends[n++] = i + 1;
    memset(demo->mask, 0, demo->n);
    demo->n = ends[trainer_rng_below(demo->rng, (int32_t)n)];
    demo_put(demo, TRAINER_ANS, 0);
    for (size_t i = 0; i < n_answer; i++)
        demo_put(demo, answer[i], 1);
}

/* Passes the token to the environment, and appends the tool's answer, which is not trained on. */
static void write_token(struct demo *demo, int32_t token)
{
    int32_t text[TRAINER_OBSERVATION_MAX];
    size_t n;
    demo_put(demo, token, 1);
    (void)trainer_env_step(demo->env, &demo->episode, token, text, &n);
    for (size_t i = 0; i < n; i++)
        demo_put(demo, text[i], 0);
}

static int32_t any_entity(struct demo *demo)
{
    return env_entity(demo->env, trainer_rng_below(demo->rng, trainer_world_entities(&demo->env->world)));
}

static void search_in_vain(struct demo *demo, int32_t *first, int32_t *second)
{
    const struct trainer_episode *episode = &demo->episode;
    bool right_entity = demo_chance(demo, 0.5);
    int32_t relation = right_entity ? trainer_rng_below(demo->rng, demo->env->world.relations)
                                    : episode->relations[trainer_rng_below(demo->rng, episode->k)];
    *first = right_entity ? env_entity(demo->env, episode->path[0]) : any_entity(demo);
    *second = env_relation(relation);
}

/* Makes one more call, or returns false if the demonstrator answers instead. */
static bool call(struct demo *demo, const struct demo_plan *plan)
{
    int32_t first, second;
    bool useful = plan->next(demo->env, &demo->episode, &first, &second);
    if (demo->episode.turn == demo->env->max_turns || (!useful && !demo_chance(demo, demo->options->p_needless)) ||
        (demo->episode.turn > 0 && demo_chance(demo, demo->options->p_stop)))
        return false;
    if (!useful || demo_chance(demo, demo->options->p_wrong))
        (plan->useless ? plan->useless : search_in_vain)(demo, &first, &second);
    write_token(demo, TRAINER_S);
    write_token(demo, first);
    write_token(demo, second);
    write_token(demo, TRAINER_END_S);
    return true;
}

/*
 * Unknown values are guessed, and a guess is right with probability p_hindsight. Like belief rows, this keeps some
 * probability on the true answer where the text does not contain it. The whole answer is written, although the
 * environment stops reading at the first wrong token.
 */
static void answer(struct demo *demo, const struct demo_plan *plan)
{
    int32_t truth[TRAINER_HOPS_MAX];
    const struct trainer_episode episode = demo->episode;
    size_t n = trainer_env_answer(demo->env, &episode, truth);
    write_token(demo, TRAINER_ANS);
    for (size_t i = 0; i < n; i++) {
        bool right = plan->knows(&episode, (int32_t)i) || demo_chance(demo, demo->options->p_hindsight);
        write_token(demo, right ? truth[i] : any_entity(demo));
    }
}

size_t demo_play(const struct demo_plan *plan, const struct trainer_env *env, const struct trainer_demo_options *options,
                 struct trainer_rng *rng, int32_t *tokens, uint8_t *mask)
{
    struct demo demo = {.env = env, .options = options, .rng = rng, .tokens = tokens, .mask = mask};
    uint64_t question = trainer_rng_next(rng), noise = trainer_rng_next(rng);
    demo.n = demo.n_prompt = trainer_env_reset(env, question, noise, &demo.episode, tokens);
    memset(mask, 0, demo.n);
    while (call(&demo, plan))
        continue;
    answer(&demo, plan);
    if (demo_chance(&demo, options->p_belief))
        demo_make_belief(&demo);
    return demo.n;
}
