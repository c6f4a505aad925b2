/*
 * ledger.c: balances of an account, from a table to look up and a calculator.
 *
 * Two tools share one grammar: S entity relation /S looks up an entry, S entity entity /S adds two numbers, and each
 * call costs a turn. The answer lists the balance after every entry, so that each addition brings a part of the answer.
 * A look-up is necessary too but brings no gain by itself.
 */
#include "env/demonstrator.h"
#include "env/tool_turn.h"

static int32_t entry(const struct trainer_env *env, const struct trainer_episode *episode, int32_t i)
{
    return graph_follow(env, episode->question, episode->path[0], episode->relations[i]);
}

/* path[0] is the account, path[i + 1] the balance after entry i. */
static size_t reset(const struct trainer_env *env, struct trainer_episode *episode, int32_t *prompt)
{
    size_t n = graph_ask(env, episode, prompt);
    for (int32_t i = 0; i < episode->k; i++)
        episode->path[i + 1] = calculator_sum(env, i > 0 ? episode->path[i] : 0, entry(env, episode, i));
    return n;
}

/* The first entry is also the first balance. */
static size_t look_up(const struct trainer_env *env, struct trainer_episode *episode, int32_t *text)
{
    size_t n = slot_answer_search(env, episode, text);
    if (episode->hop == 0 && episode->found & 1)
        episode->hop = 1;
    return n;
}

/* The next sum adds the last balance and the next entry, in either order; the entry must have been looked up. */
static bool is_next_sum(const struct trainer_env *env, const struct trainer_episode *episode, int32_t a, int32_t b)
{
    int32_t hop = episode->hop;
    if (hop == 0 || hop >= episode->k || !(episode->found >> hop & 1))
        return false;
    int32_t balance = episode->path[hop], next = entry(env, episode, hop);
    return (a == balance && b == next) || (b == balance && a == next);
}

static size_t add(const struct trainer_env *env, struct trainer_episode *episode, int32_t *text)
{
    size_t n = calculator_answer(env, episode, text);
    if (is_next_sum(env, episode, calculator_first(episode), calculator_second(env, episode))) {
        episode->good |= 1u << episode->turn;
        episode->hop += text[1] != TRAINER_NONE;
    }
    return n;
}

static size_t call(const struct trainer_env *env, struct trainer_episode *episode, int32_t *text)
{
    return episode->relation < env->world.relations ? look_up(env, episode, text) : add(env, episode, text);
}

static bool knows_all(const struct trainer_episode *episode)
{
    return episode->hop == episode->k;
}

static bool knows(const struct trainer_episode *episode, int32_t i)
{
    return i % 2 == 0 || i / 2 < episode->hop;
}

/* Each entry is added as soon as it has been looked up. */
static bool next(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *first, int32_t *second)
{
    int32_t hop = episode->hop;
    if (hop == episode->k)
        return false;
    bool seen = episode->found >> hop & 1;
    *first = env_entity(env, episode->path[seen ? hop : 0]);
    *second = seen ? env_entity(env, entry(env, episode, hop)) : env_relation(episode->relations[hop]);
    return true;
}

const struct env_class trainer_ledger = {
    .name = "ledger",
    .check = slot_answer_check,
    .max_tokens = slot_answer_max_tokens,
    .reset = reset,
    .tool = &(const struct tool_turn){.second = TOOL_ANY, .call = call, .knows_all = knows_all},
    .answer = slot_answer_tokens,
    .plan = &(const struct demo_plan){.next = next, .knows = knows},
    .next = next,
};
