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
 *               of which one is the fact that was asked for, or by OBS NONE /OBS
 *   the answer  ANS entity, the entity at the end of the chain; reward 1 if it is right, else 0
 * Every question has a graph of its own, a hash of (question, entity, relation), so that facts cannot be memorised.
 * Relations of the lower half stay inside the entity's region; relations of the upper half lead anywhere. A malformed
 * turn, or more searches than max_turns, ends the episode with reward 0.
 *
 * slots (slot filling: each search can fill one slot of the answer)
 *   prompt      Q entity relation_1 .. relation_k /Q
 *   a turn      as in hopworld, but distractors have relations that the question does not name, so that a search fills
 *               at most one slot
 *   the answer  ANS relation_1 value_1 .. relation_k value_k; reward 1 if all of it is right
 * A search for an empty slot is useful. Any other search wastes one of max_turns.
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
 * is useful if both numbers are known (a sum is known once the tool has shown it), and their sum is one of the k sums
 * and not known yet.
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

/* Marker tokens. The tokens of the relations follow them, then the tokens of the entities. */
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

/* Writes a token as readable text ("S", "r07", "e42", ..) into a buffer of at least 16 bytes. */
TRAINER_API void trainer_token_text(const struct trainer_world *world, int32_t token, char text[16]);

enum trainer_env_kind { TRAINER_HOPWORLD, TRAINER_REVERSE, TRAINER_SLOTS, TRAINER_LEDGER, TRAINER_SUMS, TRAINER_N_ENVS };

TRAINER_API const char *trainer_env_name(enum trainer_env_kind kind);

#define TRAINER_HOPS_MAX 12  /* largest k_max, and largest number of tokens of an answer */
#define TRAINER_TURNS_MAX 15 /* largest max_turns */
#define TRAINER_FACTS_MAX 6  /* largest facts */
#define TRAINER_PROMPT_MAX (TRAINER_HOPS_MAX + 3)
#define TRAINER_OBSERVATION_MAX (2 * TRAINER_FACTS_MAX + 2)

struct trainer_env {
    enum trainer_env_kind kind;
    struct trainer_world world;
    int32_t k_min, k_max; /* (3, 5) range of the number of hops, slots, entries or sums; reverse: of the length */
    int32_t max_turns;    /* (7) largest number of tool calls */
    int32_t facts;        /* (2) facts per answer of the search tool; not used by sums and reverse */
    double p_fail;        /* (0.1) probability that the tool finds nothing */
};

TRAINER_API void trainer_env_init(struct trainer_env *env, enum trainer_env_kind kind);

/* Checks every member; the error message names the member that is out of range. */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_env_check(const struct trainer_env *env, struct trainer_error *err);

/* Length of the longest possible episode in tokens, prompt included. */
TRAINER_API size_t trainer_env_max_tokens(const struct trainer_env *env);

/* An episode being played. Callers only read its members. */
struct trainer_episode {
    uint64_t question, noise;
    int32_t k;                           /* number of hops, slots, entries or sums; reverse: length */
    int32_t relations[TRAINER_HOPS_MAX]; /* 0-based relations that the question names */
    /*
     * hopworld: entities along the chain; slots, ledger: the entity of the question, then its values or balances; sums:
     * the list, then its sums; reverse: the string
     */
    int32_t path[TRAINER_HOPS_MAX + 1];
    /* entity and relation of the call being written; ledger, sums: its first number, and relations + its second */
    int32_t entity, relation;
    int32_t turn;             /* number of calls answered so far */
    int32_t hop;              /* hopworld: hops of the chain found so far; ledger: balances known */
    /* bit i is set if the tool has shown the fact of relation i (slots, ledger) or sum i (sums) */
    uint32_t found;
    uint32_t good; /* bit t: call t was useful; bit `turn`: answering was right */
    int32_t state; /* of the parser */
    bool done, malformed;
    bool truncated; /* it ended because it asked for another call after max_turns calls; also malformed */
    double reward; /* once done */
};

enum trainer_turn {
    TRAINER_TURN_GOES_ON,  /* the policy continues */
    TRAINER_TURN_OBSERVED, /* the tool has answered; a new turn begins */
    TRAINER_TURN_DONE
};

/* Starts an episode. Writes its prompt (at most TRAINER_PROMPT_MAX tokens) and returns the prompt's length. */
TRAINER_API size_t trainer_env_reset(const struct trainer_env *env, uint64_t question, uint64_t noise,
                                     struct trainer_episode *episode, int32_t *prompt);

/*
 * Takes one token of the policy. text (at least TRAINER_OBSERVATION_MAX) and *n receive the tool's answer; *n is 0 if
 * the tool has not answered. In a finished episode the token has no effect.
 */
TRAINER_API enum trainer_turn trainer_env_step(const struct trainer_env *env, struct trainer_episode *episode, int32_t token,
                                               int32_t *text, size_t *n);

/* Writes the tokens of the true answer, without ANS; returns their number (at most TRAINER_HOPS_MAX). */
TRAINER_API size_t trainer_env_answer(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *tokens);

/*
 * A rule-based judge of steps: whether turn t of a finished episode was GOOD.
 *
 * A call is GOOD if it asked for what was needed next (hopworld: the next hop; slots: an empty slot; ledger: an
 * entry that was not shown yet, or the next sum; sums: a sum that can be computed and is not known), whether or not
 * the tool failed. The closing turn is GOOD if it was rewarded. In slots, ledger and sums it is also GOOD if nothing
 * was left to find out, or if no call was left to find it out.
 */
TRAINER_API bool trainer_env_judge(const struct trainer_episode *episode, int32_t turn);

/*
 * How often a demonstrator errs. Some errors are needed, because a policy that is warm-started on perfect
 * demonstrations has nothing left to learn.
 */
struct trainer_demo_options {
    double p_stop;      /* (0.12) per turn: answers too early */
    double p_wrong;     /* (0.3) hopworld: follows a fact that was not asked for; others: makes a useless call */
    double p_needless;  /* (0.1) continues to search although it knows everything */
    double p_hindsight; /* (0.5) answers correctly although it stopped too early */
    double p_belief;    /* (0.3) belief rows: demonstrations cut after a turn, followed by the right answer */
};

TRAINER_API void trainer_demo_options_init(struct trainer_demo_options *options);

/*
 * Writes the demonstration of a seed: tokens, and mask (1 = to be trained on), each with room for
 * trainer_env_max_tokens. Returns the length. Belief rows only train the tokens of the answer; without belief rows,
 * information gain would mean nothing.
 */
TRAINER_API size_t trainer_env_demonstrate(const struct trainer_env *env, const struct trainer_demo_options *options,
                                           uint64_t seed, int32_t *tokens, uint8_t *mask);

/*
 * Writes a worked solution of a question: the prompt, the necessary calls, the tool's answers (the tool never fails
 * here), ANS and the true answer. It is complete even if it takes more than max_turns calls. tokens has room for
 * trainer_env_max_tokens; returns the length.
 */
TRAINER_API size_t trainer_env_solve(const struct trainer_env *env, uint64_t question, int32_t *tokens);

/* Returns the question of the demonstration with this seed. */
TRAINER_API uint64_t trainer_env_demonstrated(uint64_t seed);

#endif
