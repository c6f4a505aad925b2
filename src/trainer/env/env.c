/*
 * env.c: the table of environments, and the code that they share. An environment is a struct of functions and owns no
 * memory. Episodes belong to the caller, and thousands of them can be played in parallel.
 */

#include "env/demonstrator.h"
#include "env/tool_turn.h"

/* The order is that of enum trainer_env_kind. Recipes and rows store the names of environments, never these numbers. */
static const struct env_class *const classes[TRAINER_N_ENVS] = {&trainer_hopworld, &trainer_reverse, &trainer_slots,
                                                                &trainer_ledger, &trainer_sums};

int32_t trainer_world_entities(const struct trainer_world *world)
{
    return world->regions * world->region_size;
}

/*
 * Tokens are numbered in the order markers, relations, entities, so that adding entities does not renumber other
 * tokens.
 */
int32_t trainer_world_tokens(const struct trainer_world *world)
{
    return TRAINER_N_MARKERS + world->relations + trainer_world_entities(world);
}

void trainer_token_text(const struct trainer_world *world, int32_t token, char text[16])
{
    static const char markers[TRAINER_N_MARKERS][8] = {"<pad>", "Q", "/Q", "S", "/S", "OBS", "/OBS", "NONE", "ANS"};
    int32_t entity = token - TRAINER_N_MARKERS - world->relations;
    if (token >= 0 && token < TRAINER_N_MARKERS)
        snprintf(text, 16, "%s", markers[token]);
    else if (entity < 0)
        snprintf(text, 16, "r%d", token - TRAINER_N_MARKERS);
    else
        snprintf(text, 16, "e%d", entity);
}

const char *trainer_env_name(enum trainer_env_kind kind)
{
    return kind >= 0 && kind < TRAINER_N_ENVS ? classes[kind]->name : NULL;
}

/* Sets the same defaults as the recipe's table (recipe_fields.c), for callers that have no recipe. */
void trainer_env_init(struct trainer_env *env, enum trainer_env_kind kind)
{
    *env = (struct trainer_env){.kind = kind,
                                .world = {.regions = 16, .region_size = 6, .relations = 16},
                                .k_min = 3,
                                .k_max = 5,
                                .max_turns = 7,
                                .facts = 2,
                                .p_fail = 0.1};
}

/* These limits keep the number of tokens within a model's limit, and products of entity and region within 32 bits. */
static enum trainer_status check_world(const struct trainer_world *world, struct trainer_error *err)
{
    if (world->regions < 1 || world->region_size < 1 || world->relations < 2)
        return trainer_fail(err, TRAINER_EINVAL, "world: regions %d, region_size %d and relations %d must be positive",
                            world->regions, world->region_size, world->relations);
    if (world->regions > 4096 || world->region_size > 4096 || world->relations > 4096 || trainer_world_entities(world) > 65536)
        return trainer_fail(err, TRAINER_EINVAL, "world: more than 65536 entities or 4096 relations");
    return TRAINER_OK;
}

enum trainer_status trainer_env_check(const struct trainer_env *env, struct trainer_error *err)
{
    if (env->kind < 0 || env->kind >= TRAINER_N_ENVS)
        return trainer_fail(err, TRAINER_EINVAL, "env: unknown kind %d", (int)env->kind);
    if (env->k_min < 1 || env->k_max < env->k_min || env->k_max > TRAINER_HOPS_MAX)
        return trainer_fail(err, TRAINER_EINVAL, "k_min %d, k_max %d: must be 1 <= k_min <= k_max <= %d", env->k_min, env->k_max,
                            TRAINER_HOPS_MAX);
    TRY(check_world(&env->world, err));
    return classes[env->kind]->check(env, err);
}

size_t trainer_env_max_tokens(const struct trainer_env *env)
{
    return classes[env->kind]->max_tokens(env);
}

/*
 * The number of hops has its own random stream, so that with another k_max a question still starts at the same
 * entity and asks for the same first relations.
 */
size_t trainer_env_reset(const struct trainer_env *env, uint64_t question, uint64_t noise, struct trainer_episode *episode,
                         int32_t *prompt)
{
    *episode = (struct trainer_episode){.question = question, .noise = noise};
    struct trainer_rng rng = {trainer_seed(question, 'k', 0)};
    episode->k = env->k_min + trainer_rng_below(&rng, env->k_max - env->k_min + 1);
    return classes[env->kind]->reset(env, episode, prompt);
}

/* A token after the episode's end does not change the reward. */
enum trainer_turn trainer_env_step(const struct trainer_env *env, struct trainer_episode *episode, int32_t token, int32_t *text,
                                   size_t *n)
{
    const struct env_class *kind = classes[env->kind];
    *n = 0;
    if (episode->done)
        return TRAINER_TURN_DONE;
    return kind->tool ? tool_turn_step(kind->tool, env, episode, token, text, n) : kind->step(env, episode, token, text, n);
}

/* Draws a value again if it was drawn before. */
void env_draw_distinct(struct trainer_rng *rng, int32_t n, int32_t k, int32_t *values)
{
    for (int32_t i = 0; i < k; i++) {
        bool used = true;
        while (used) {
            values[i] = trainer_rng_below(rng, n);
            used = false;
            for (int32_t j = 0; j < i; j++)
                used = used || values[j] == values[i];
        }
    }
}

enum trainer_turn env_end(struct trainer_episode *episode, bool malformed, bool right)
{
    episode->done = true;
    episode->malformed = malformed;
    episode->reward = right;
    return TRAINER_TURN_DONE;
}

size_t trainer_env_answer(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *tokens)
{
    return classes[env->kind]->answer(env, episode, tokens);
}

/*
 * The last turn is the answer, which the outcome judges: a wrong answer after good searches is one bad step, not a
 * bad rollout. If the environment has marked that turn as useful, answering was the right step, whether or not the
 * answer was right.
 */
bool trainer_env_judge(const struct trainer_episode *episode, int32_t turn)
{
    bool marked = episode->good >> turn & 1;
    return turn < episode->turn ? marked : episode->reward > 0 || (marked && !episode->malformed);
}

void trainer_demo_options_init(struct trainer_demo_options *options)
{
    *options =
        (struct trainer_demo_options){.p_stop = 0.12, .p_wrong = 0.3, .p_needless = 0.1, .p_hindsight = 0.5, .p_belief = 0.3};
}

size_t trainer_env_demonstrate(const struct trainer_env *env, const struct trainer_demo_options *options, uint64_t seed,
                               int32_t *tokens, uint8_t *mask)
{
    struct trainer_rng rng = {trainer_seed(seed, 'd', 0)};
    const struct env_class *kind = classes[env->kind];
    return kind->plan ? demo_play(kind->plan, env, options, &rng, tokens, mask)
                      : kind->demonstrate(env, options, &rng, tokens, mask);
}

/* Every demonstrator draws its question first. */
uint64_t trainer_env_demonstrated(uint64_t seed)
{
    struct trainer_rng rng = {trainer_seed(seed, 'd', 0)};
    return trainer_rng_next(&rng);
}

/* Appends one call and its answer to the n tokens; returns the new number of tokens. */
static size_t write_call(const struct trainer_env *env, struct trainer_episode *episode, int32_t first, int32_t second,
                         int32_t *tokens, size_t n)
{
    const int32_t words[] = {TRAINER_S, first, second, TRAINER_END_S};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t told;
        tokens[n++] = words[i];
        (void)trainer_env_step(env, episode, words[i], tokens + n, &told);
        n += told;
    }
    return n;
}

/* Distractors depend on the question and not on the rollout, so that all rollouts of a group see the same solution. */
size_t trainer_env_solve(const struct trainer_env *env, uint64_t question, int32_t *tokens)
{
    const struct env_class *kind = classes[env->kind];
    struct trainer_env sure = *env;
    struct trainer_episode episode;
    int32_t first, second;
    sure.p_fail = 0;
    size_t n = trainer_env_reset(&sure, question, trainer_seed(question, 'w', 0), &episode, tokens);
    while (kind->next && episode.turn < env->max_turns && kind->next(&sure, &episode, &first, &second))
        n = write_call(&sure, &episode, first, second, tokens, n);
    tokens[n++] = TRAINER_ANS;
    return n + kind->answer(&sure, &episode, tokens + n);
}
