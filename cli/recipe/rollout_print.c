/*
 * A rollout is printed turn by turn: what the policy asked, what the tool answered, and which credit the turn got.
 * Tokens are printed as the words of the environment.
 */
#include "recipe/rollout_print.h"

#include <rlcore/algorithm.h>

#include "cli.h"

/* Longer texts are cut in the table; JSON has every token. */
enum { TEXT_MAX = 512 };

/* Consecutive tokens of the policy, and the answer of the tool. */
struct step {
    int32_t turn;
    int32_t from, to, until; /* the policy's tokens are [from, to), the tool's are [to, until) */
    double log_prob, advantage, clip_scale, gain;
    bool has_gain;
    char does[TEXT_MAX], tool[TEXT_MAX];
};

static void add_text(char out[TEXT_MAX], const char *text)
{
    size_t n = strlen(out);
    snprintf(out + n, TEXT_MAX - n, "%s", text);
}

static void add_token(char out[TEXT_MAX], const struct trainer_world *world, int32_t token)
{
    char text[16];
    trainer_token_text(world, token, text);
    add_text(out, text);
}

static void add_tokens(char out[TEXT_MAX], const struct trainer_world *world, const int32_t *tokens, int32_t n,
                       const char *between)
{
    for (int32_t i = 0; i < n; i++) {
        add_text(out, i ? between : "");
        add_token(out, world, tokens[i]);
    }
}

/* Writes "search e12 r3", "add e4 e7" or "answer e42"; other tokens are written one by one. */
static void read_policy(char out[TEXT_MAX], const struct trainer_world *world, const int32_t *tokens, int32_t n)
{
    out[0] = '\0';
    if (n == 4 && tokens[0] == TRAINER_S && tokens[3] == TRAINER_END_S) {
        bool is_sum = tokens[2] >= TRAINER_N_MARKERS + world->relations;
        add_text(out, is_sum ? "add " : "search ");
        add_tokens(out, world, tokens + 1, 2, " ");
    } else if (n > 1 && tokens[0] == TRAINER_ANS) {
        add_text(out, "answer ");
        add_tokens(out, world, tokens + 1, n - 1, " ");
    } else {
        add_tokens(out, world, tokens, n, " ");
    }
}

/* Writes "r3 e40, r7 e9", or "nothing". */
static void read_tool(char out[TEXT_MAX], const struct trainer_world *world, const int32_t *tokens, int32_t n)
{
    out[0] = '\0';
    if (n == 3 && tokens[1] == TRAINER_NONE)
        add_text(out, "nothing");
    for (int32_t i = 1; n > 3 && i + 2 < n; i += 2) {
        add_text(out, i > 1 ? ", " : "");
        add_tokens(out, world, tokens + i, 2, " ");
    }
}

static void read_question(char out[TEXT_MAX], const struct trainer_world *world, const struct trainer_rollout *r,
                          enum trainer_env_kind kind)
{
    static const struct {
        const char *first, *rest;
    } words[TRAINER_N_ENVS] = {[TRAINER_HOPWORLD] = {"from ", " follow "},
                               [TRAINER_REVERSE] = {"reverse ", " "},
                               [TRAINER_SLOTS] = {"of ", " tell "},
                               [TRAINER_LEDGER] = {"balances of ", " after "},
                               [TRAINER_SUMS] = {"add up ", " "}};
    out[0] = '\0';
    add_text(out, words[kind].first);
    add_tokens(out, world, r->tokens + 1, 1, "");
    add_text(out, words[kind].rest);
    add_tokens(out, world, r->tokens + 2, r->prompt - 3, " ");
}

/* Finds the step that begins at `from`. A step is never empty, so that the loops below end. */
static bool next_step(struct step *step, const struct trainer_rollout *r, int32_t from)
{
    *step = (struct step){.from = from, .to = from};
    if (from >= r->length)
        return false;
    step->turn = r->turn[from];
    while (step->to < r->length && r->mask[step->to] && r->turn[step->to] == step->turn)
        step->to++;
    step->until = step->to;
    while (step->until < r->length && !r->mask[step->until])
        step->until++;
    return step->until > from;
}

/*
 * Sums the log-probs over the turn, and averages the other numbers, because most algorithms give all tokens of a turn
 * the same advantage. A gain needs the values before and after the turn.
 */
static void measure(struct step *step, const struct trainer_rollout *r)
{
    double n = step->to - step->from;
    for (int32_t i = step->from; i < step->to; i++) {
        step->log_prob += r->log_prob[i];
        step->advantage += r->advantage ? r->advantage[i] / n : 0;
        step->clip_scale += r->clip_scale ? r->clip_scale[i] / n : 0;
    }
    step->has_gain = r->value && step->turn >= 0 && step->turn < r->n_turns;
    if (step->has_gain)
        step->gain = r->value[step->turn + 1] - r->value[step->turn];
}

static void read_step(struct step *step, const struct trainer_world *world, const struct trainer_rollout *r)
{
    read_policy(step->does, world, r->tokens + step->from, step->to - step->from);
    read_tool(step->tool, world, r->tokens + step->to, step->until - step->to);
    measure(step, r);
}

/*
 * Rounds to four decimals in the table, because further decimals are sampling noise and would not fit a terminal. JSON
 * is not rounded.
 */
static double rounded(double value)
{
    return round(value * 1e4) / 1e4;
}

static void add_step(struct cli_list *list, const struct step *step, const struct trainer_rollout *r)
{
    cli_list_row(list, CLI_COUNT(step->turn >= 0 ? (size_t)step->turn : 0), CLI_TEXT(step->does), CLI_TEXT(step->tool),
                 CLI_NUMBER(rounded(step->log_prob), true), CLI_NUMBER(rounded(step->gain), step->has_gain),
                 CLI_NUMBER(rounded(step->advantage), r->advantage != NULL),
                 CLI_NUMBER(rounded(step->clip_scale), r->clip_scale != NULL));
}

static void print_head(const struct trainer_recipe *recipe, const struct trainer_rollout *r)
{
    const struct trainer_env *env = &recipe->tasks[r->task].env;
    char question[TEXT_MAX], truth[TEXT_MAX] = "";
    int32_t answer[TRAINER_HOPS_MAX];
    size_t n = trainer_env_answer(env, &r->episode, answer);
    read_question(question, &recipe->world, r, env->kind);
    add_tokens(truth, &recipe->world, answer, (int32_t)n, " ");
    printf("%s, %s: %s; true answer %s\n", trainer_env_name(env->kind),
           rl_algorithm_at(recipe->tasks[r->task].algorithm.name)->name, question, truth);
    printf("%s, reward %g, %d searches",
           r->malformed    ? "malformed"
           : r->reward > 0 ? "right"
                           : "wrong",
           r->reward, (int)r->episode.turn);
    if (r->value)
        printf(", value of the true answer at first %.4f", r->value[0]);
    putchar('\n');
}

int rollout_print(const struct trainer_recipe *recipe, const struct trainer_rollout *r)
{
    struct cli_list *list = cli_list_of(CLI_TABLE, NULL, "turn,policy,tool,log_prob,gain,advantage,clip_scale");
    struct step step;
    print_head(recipe, r);
    for (int32_t at = r->prompt; next_step(&step, r, at); at = step.until) {
        read_step(&step, &recipe->world, r);
        add_step(list, &step, r);
    }
    int status = cli_list_finish(list);
    putchar('\n');
    return status;
}

static json_t *tokens_json(const struct trainer_world *world, const int32_t *tokens, int32_t n)
{
    json_t *list = json_array();
    char text[16];
    for (int32_t i = 0; i < n; i++) {
        trainer_token_text(world, tokens[i], text);
        json_array_append_new(list, json_string(text));
    }
    return list;
}

static json_t *step_json(const struct step *step, const struct trainer_world *world, const struct trainer_rollout *r)
{
    json_t *object = json_pack("{s:i}", "turn", (int)step->turn);
    cli_json_set(object, "policy", tokens_json(world, r->tokens + step->from, step->to - step->from), "tool",
                 tokens_json(world, r->tokens + step->to, step->until - step->to), "log_prob", cli_json_number(step->log_prob),
                 "gain", step->has_gain ? cli_json_number(step->gain) : json_null(), "advantage",
                 r->advantage ? cli_json_number(step->advantage) : json_null(), "clip_scale",
                 r->clip_scale ? cli_json_number(step->clip_scale) : json_null(), NULL);
    return object;
}

/* The rules of an environment, for a judge that does not know it. */
static const char *rules_of(enum trainer_env_kind kind)
{
    static const char *const rules[TRAINER_N_ENVS] = {
        [TRAINER_HOPWORLD] = "Find the entity at the end of a chain of relations. `search ENTITY RELATION` shows facts about the "
                             "entity, as RELATION ENTITY, or nothing; `answer ENTITY` ends. The chain: ",
        [TRAINER_REVERSE] = "Write the words in reverse: ",
        [TRAINER_SLOTS] = "Find what relations of an entity lead to. `search ENTITY RELATION` shows facts about the entity, as "
                          "RELATION ENTITY, or nothing; `answer RELATION ENTITY ..` ends, with all in order. Wanted: ",
        [TRAINER_LEDGER] = "Add up the entries of an account. `search ACCOUNT RELATION` looks an entry up, `add NUMBER NUMBER` "
                           "calculates; `answer RELATION BALANCE ..` ends, with the sum so far after each. Wanted: ",
        [TRAINER_SUMS] =
            "Add up a list: take its first two numbers and put their sum at its end, until one is left. `add NUMBER NUMBER` "
            "calculates; `answer NUMBER SUM ..` ends, with each second number and its sum in order. Wanted: "};
    return rules[kind];
}

/*
 * The step contains only what the policy saw and wrote, because a judge that sees the true answer would rate the answer
 * instead of the step.
 */
static json_t *trajectory_step(struct step *step, const struct trainer_world *world, const struct trainer_rollout *r)
{
    read_step(step, world, r);
    json_t *object = json_pack("{s:s}", "action", step->does);
    if (step->tool[0])
        json_object_set_new(object, "observation", json_string(step->tool));
    return object;
}

json_t *rollout_trajectory(const struct trainer_recipe *recipe, const struct trainer_rollout *r)
{
    char question[TEXT_MAX];
    struct step step;
    json_t *steps = json_array();
    read_question(question, &recipe->world, r, recipe->tasks[r->task].env.kind);
    for (int32_t at = r->prompt; next_step(&step, r, at); at = step.until)
        json_array_append_new(steps, trajectory_step(&step, &recipe->world, r));
    enum trainer_env_kind kind = recipe->tasks[r->task].env.kind;
    return json_pack("{s:s, s:o, s:f, s:i, s:o}", "environment", trainer_env_name(kind), "task",
                     json_sprintf("%s%s", rules_of(kind), question), "reward", r->reward, "group", (int)r->group, "steps", steps);
}

/* Scripts depend on these keys. A number that is also printed in the table has the same name there. */
json_t *rollout_json(const struct trainer_recipe *recipe, const struct trainer_rollout *r)
{
    const struct trainer_env *env = &recipe->tasks[r->task].env;
    int32_t answer[TRAINER_HOPS_MAX];
    size_t n = trainer_env_answer(env, &r->episode, answer);
    json_t *object = json_pack("{s:s, s:i, s:f, s:b, s:i}", "environment", trainer_env_name(env->kind), "group", (int)r->group,
                               "reward", r->reward, "malformed", (int)r->malformed, "searches", (int)r->episode.turn);
    cli_json_set(object, "prompt", tokens_json(&recipe->world, r->tokens, r->prompt), "answer",
                 tokens_json(&recipe->world, answer, (int32_t)n), NULL);
    json_t *turns = json_array();
    struct step step;
    for (int32_t at = r->prompt; next_step(&step, r, at); at = step.until) {
        measure(&step, r);
        json_array_append_new(turns, step_json(&step, &recipe->world, r));
    }
    json_object_set_new(object, "turns", turns);
    return object;
}
