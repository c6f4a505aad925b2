/*
 * trainer/env.h: environments that a policy talks to, token by token.
 *
 * One episode
 *     struct trainer_episode episode;
 *     int32_t text[TRAINER_OBSERVATION_MAX];
 *     size_t n = trainer_env_reset(&env, question, noise, &episode, prompt);
 *     for (;;) {
 *         int32_t token = ...;                                     what the policy writes next
 *         enum trainer_turn turn = trainer_env_step(&env, &episode, token, text, &n);
 *         if (turn == TRAINER_TURN_DONE) break;                    episode.reward is set
 *         if (turn == TRAINER_TURN_OBSERVED) ...                   the tool's answer is text[0..n)
 *     }
 * An episode is a plain struct that belongs to the caller. Any number of episodes can run in lock-step, none of them
 * allocates, and the same two seeds always give the same episode: `question` decides the question and its true
 * answer, `noise` the random behaviour of the tool.
 *
 * hopworld (multi-hop question answering with a search tool)
 *   prompt      Q entity relation_1 .. relation_k /Q
 *   a turn      S entity relation /S, answered by OBS relation entity .. /OBS with `facts` facts about that entity,
 *               one of them the fact that was asked for, or by OBS NONE /OBS
 *   the answer  ANS entity, the entity at the end of the chain; reward 1 if it is right, else 0
 * Every question has a graph of its own, a hash of (question, entity, relation), so that facts cannot be memorised.
 * Relations of the lower half stay inside the entity's region, the others lead anywhere. A malformed turn, or more
 * searches than max_turns, ends the episode with reward 0.
 *
 * slots (slot filling: evidence accumulates)
 *   prompt      Q entity relation_1 .. relation_k /Q
 *   a turn      as in hopworld, but distractors have relations that the question does not name, so that a search fills
 *               at most one slot
 *   the answer  ANS relation_1 value_1 .. relation_k value_k; reward 1 if all of it is right
 * A search for an empty slot is useful. Any other search uses up one of max_turns for nothing.
 *
 * ledger (a table and a calculator)
 *   prompt      Q account relation_1 .. relation_k /Q
 *   a turn      S account relation /S, answered as in slots by an entry of the account, which is a number; or
 *               S number number /S, answered by OBS number sum /OBS, or OBS NONE /OBS
 *   the answer  ANS relation_1 balance_1 .. relation_k balance_k, where balance_i is the sum of the first i entries;
 *               reward 1 if all of it is right
 * The entities are the numbers, and sums are taken modulo their number.
 *
 * sums (a calculator: a list is added up two numbers at a time)
 *   prompt      Q number_0 .. number_k /Q, all distinct
 *   a turn      S number number /S, answered by OBS number sum /OBS, which repeats the second number, or by
 *               OBS NONE /OBS
 *   the answer  ANS, and for each of k sums its second number and the sum; reward 1 if all of it is right
 * The list is a queue: the first two numbers are removed and their sum is appended, until one number is left. A call
 * is useful if both numbers are known (a sum is known once the tool has shown it), and their sum is asked for and not
 * known yet.
 *
 * reverse (one turn, no tool)
 *   prompt      S entity_1 .. entity_n /S
 *   the answer  ANS entity_n .. entity_1; reward 1 if all of it is right
 *
 * All environments use the tokens of one struct trainer_world, so one policy can be trained on several at once.
 */
#ifndef TRAINER_ENV_H
#define TRAINER_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trainer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marker tokens. The relations' tokens follow them, then the entities'. */
enum trainer_token {
    TRAINER_PAD,
    TRAINER_Q,
    TRAINER_END_Q,
    TRAINER_S,
    TRAINER_END_S,
    TRAINER_OBS,
    TRAINER_END_OBS,
    TRAINER_NONE,
    TRAINER_ANS,
    TRAINER_N_MARKERS
};

/* The vocabulary. There are regions * region_size entities. */
struct trainer_world {
    int32_t regions;     /* 16 */
    int32_t region_size; /* 6 */
    int32_t relations;   /* 16 */
};

TRAINER_API int32_t trainer_world_entities(const struct trainer_world *world);
TRAINER_API int32_t trainer_world_tokens(const struct trainer_world *world);

/* A token as a person reads it ("S", "r07", "e42", ..), into a buffer of at least 16 bytes. */
TRAINER_API void trainer_token_text(const struct trainer_world *world, int32_t token,
                                    char text[16]);

enum trainer_env_kind {
    TRAINER_HOPWORLD,
    TRAINER_REVERSE,
    TRAINER_SLOTS,
    TRAINER_LEDGER,
    TRAINER_SUMS,
    TRAINER_N_ENVS
};

TRAINER_API const char *trainer_env_name(enum trainer_env_kind kind);

#define TRAINER_HOPS_MAX 12  /* largest k_max, and most tokens of an answer */
#define TRAINER_TURNS_MAX 15 /* largest max_turns */
#define TRAINER_FACTS_MAX 6  /* largest facts */
#define TRAINER_PROMPT_MAX (TRAINER_HOPS_MAX + 3)
#define TRAINER_OBSERVATION_MAX (2 * TRAINER_FACTS_MAX + 2)

struct trainer_env {
    enum trainer_env_kind kind;
    struct trainer_world world;
    int32_t k_min, k_max; /* hops, slots, entries or sums; reverse: length (3, 5) */
    int32_t max_turns;    /* largest number of tool calls (7) */
    int32_t facts;        /* facts per answer of the search tool (2); not used by sums and reverse */
    double p_fail;        /* probability that the tool finds nothing (0.1) */
};

TRAINER_API void trainer_env_init(struct trainer_env *env, enum trainer_env_kind kind);

/* Checks every member; the message names the one that is out of range. */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_env_check(const struct trainer_env *env,
                                                                    struct trainer_error *err);

/* Longest episode in tokens, prompt included. */
TRAINER_API size_t trainer_env_max_tokens(const struct trainer_env *env);

/* An episode being played. Callers only read its members. */
struct trainer_episode {
    uint64_t question, noise;
    int32_t k;                           /* number of hops, slots, entries or sums; reverse: length */
    int32_t relations[TRAINER_HOPS_MAX]; /* 0-based relations that the question names */
    /*
     * hopworld: entities along the chain; slots, ledger: the entity asked about, then its values or balances; sums:
     * the list, then its sums; reverse: the string
     */
    int32_t path[TRAINER_HOPS_MAX + 1];
    /* of the call being written; ledger, sums: the first number, and relations + the second number */
    int32_t entity, relation;
    int32_t turn;             /* calls answered so far */
    int32_t hop;              /* hopworld: hops of the chain found so far; ledger: balances known */
    /* slots, ledger: bit i: the fact of relation i was shown; sums: bit i: sum i was shown */
    uint32_t found;
    uint32_t good; /* bit t: call t was useful; bit `turn`: it was right to answer */
    int32_t state; /* of the parser */
    bool done, malformed;
    double reward; /* once done */
};

enum trainer_turn {
    TRAINER_TURN_GOES_ON,  /* the policy continues */
    TRAINER_TURN_OBSERVED, /* the tool has answered; a new turn begins */
    TRAINER_TURN_DONE
};

/* Starts an episode. Writes its prompt (at most TRAINER_PROMPT_MAX tokens) and returns the prompt's length. */
TRAINER_API size_t trainer_env_reset(const struct trainer_env *env, uint64_t question,
                                     uint64_t noise, struct trainer_episode *episode,
                                     int32_t *prompt);

/*
 * Takes one token of the policy. text (at least TRAINER_OBSERVATION_MAX) and *n receive the tool's answer; *n is 0
 * if there is none. An episode that is done stays done.
 */
TRAINER_API enum trainer_turn trainer_env_step(const struct trainer_env *env,
                                               struct trainer_episode *episode, int32_t token,
                                               int32_t *text, size_t *n);

/* Writes the tokens of the true answer, without ANS; returns their number (at most TRAINER_HOPS_MAX). */
TRAINER_API size_t trainer_env_answer(const struct trainer_env *env,
                                      const struct trainer_episode *episode, int32_t *tokens);

/*
 * A rule-based judge of steps: whether turn t of a finished episode was GOOD.
 *
 * A call is GOOD if it asked for what was needed next (hopworld: the next hop; slots: an empty slot; ledger: an
 * entry that was not shown yet, or the next sum; sums: a sum that can be computed and is not known), whether or not
 * the tool failed. The closing turn is GOOD if it was rewarded; in slots, ledger and sums also if nothing was left
 * to find out, or no call left to do so.
 */
TRAINER_API bool trainer_env_judge(const struct trainer_episode *episode, int32_t turn);

/* How often a demonstrator errs. It must err, so that a policy warm-started on it leaves something to train. */
struct trainer_demo_options {
    double p_stop;      /* (0.12) per turn: answers too early */
    double p_wrong;     /* (0.3) hopworld: follows a fact that was not asked for; others: makes a useless call */
    double p_needless;  /* (0.1) continues to search although it knows all */
    double p_hindsight; /* (0.5) answers right although it stopped too early */
    double p_belief;    /* (0.3) belief rows: cut after a turn and answered right at once */
};

TRAINER_API void trainer_demo_options_init(struct trainer_demo_options *options);

/*
 * One demonstration of a seed: tokens, and mask (1 = to be trained on), each with room for trainer_env_max_tokens.
 * Returns the length. Belief rows only train the tokens of the answer; without them, information gain would mean
 * nothing.
 */
TRAINER_API size_t trainer_env_demonstrate(const struct trainer_env *env,
                                           const struct trainer_demo_options *options,
                                           uint64_t seed, int32_t *tokens, uint8_t *mask);

/*
 * A worked solution of a question: prompt, the calls that it takes, the tool's answers (it never fails here), ANS
 * and the true answer, even if max_turns calls do not suffice. tokens has room for trainer_env_max_tokens; returns
 * the length.
 */
TRAINER_API size_t trainer_env_solve(const struct trainer_env *env, uint64_t question,
                                     int32_t *tokens);

/* The question of the demonstration with that seed. */
TRAINER_API uint64_t trainer_env_demonstrated(uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
