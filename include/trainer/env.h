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
 *         if (turn == TRAINER_TURN_OBSERVED) ...                   the tool wrote text[0..n)
 *     }
 * An episode is a plain struct of the caller's: any number of them run in lock-step, none
 * allocates, and the same two seeds give the same episode whatever runs beside it. `question` fixes
 * what is asked and what is true, `noise` what the tool does by chance.
 *
 * hopworld (multi-hop question answering with a search tool)
 *   prompt      Q entity relation_1 .. relation_k /Q
 *   a turn      S entity relation /S, answered by OBS relation entity .. /OBS with `facts` facts
 *               about that entity, one of them the one asked for, or by OBS NONE /OBS
 *   the answer  ANS entity, the entity at the end of the chain; reward 1 if right, else 0
 * Every question has a graph of its own, a hash of (question, entity, relation), so facts cannot be
 * learned by heart. Relations of the lower half stay inside the entity's region, the others lead
 * anywhere. A malformed turn, or a search too many, ends the episode with reward 0.
 *
 * slots (slot filling: evidence accumulates)
 *   prompt      Q entity relation_1 .. relation_k /Q
 *   a turn      as in hopworld; distractors are of relations that the question does not name, so
 *               that a search fills one slot at most
 *   the answer  ANS relation_1 value_1 .. relation_k value_k; reward 1 if all of it is right
 * A search for a slot that is still empty is useful; any other costs one of max_turns and brings
 * nothing.
 *
 * ledger (a table and a calculator)
 *   prompt      Q account relation_1 .. relation_k /Q
 *   a turn      S account relation /S, answered as in slots: an entry of the account, a number; or
 *               S number number /S, answered by OBS number sum /OBS, or OBS NONE /OBS
 *   the answer  ANS relation_1 balance_1 .. relation_k balance_k, balance_i being the sum of the
 *               first i entries; reward 1 if all of it is right
 * Numbers are the entities, and sums go round at the last of them.
 *
 * sums (a calculator: a list is added up two numbers at a time)
 *   prompt      Q number_0 .. number_k /Q, all distinct
 *   a turn      S number number /S, answered by OBS number sum /OBS, the second number being told
 *               again, or by OBS NONE /OBS
 *   the answer  ANS and for each of k sums the second of its numbers and the sum; reward 1 if all
 *               of it is right
 * The list is a queue: the first two numbers are taken and their sum is put behind the last, until
 * one is left. A call is useful if it adds two numbers that are known (a sum is when the tool has
 * told it) and whose sum is asked for and not known yet.
 *
 * reverse (one turn, no tool)
 *   prompt      S entity_1 .. entity_n /S
 *   the answer  ANS entity_n .. entity_1; reward 1 if all of it is right
 *
 * All use the tokens of one struct trainer_world, so one policy can be trained on several at once.
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

/* Marker tokens; relations follow, then entities. */
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

/* What tokens there are. regions * region_size entities. */
struct trainer_world {
    int32_t regions;     /* 16 */
    int32_t region_size; /* 6 */
    int32_t relations;   /* 16 */
};

TRAINER_API int32_t trainer_world_entities(const struct trainer_world *world);
TRAINER_API int32_t trainer_world_tokens(const struct trainer_world *world);

/* A token as a person reads it ("search(", "r07", "e42", ..); buffer of at least 16 bytes. */
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
    int32_t k_min, k_max; /* hops, slots, entries or sums (3, 5); length of a string */
    int32_t max_turns;    /* calls of the tool allowed (7) */
    int32_t facts;        /* facts per answer of the tool (2); sums: none */
    double p_fail;        /* probability that the tool finds nothing (0.1) */
};

TRAINER_API void trainer_env_init(struct trainer_env *env, enum trainer_env_kind kind);

/* Check every member; the message names the one that is out of range. */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_env_check(const struct trainer_env *env,
                                                                    struct trainer_error *err);

/* Longest episode in tokens, prompt included. */
TRAINER_API size_t trainer_env_max_tokens(const struct trainer_env *env);

/* One episode under way. Members are read-only for callers. */
struct trainer_episode {
    uint64_t question, noise;
    int32_t k;                           /* hops, slots, entries, sums, or length */
    int32_t relations[TRAINER_HOPS_MAX]; /* 0-based relations that the question names */
    int32_t path[TRAINER_HOPS_MAX + 1];  /* entities along the chain; the entity asked about and its
                                            values or balances; sums: the list and its sums;
                                            reverse: the string */
    int32_t entity, relation; /* of the call being written; ledger, sums: the first number
                                 and relations + the second */
    int32_t turn;             /* calls answered so far */
    int32_t hop;              /* hopworld: hops of the chain found so far; ledger: balances known */
    uint32_t found;           /* slots, ledger: bit i: the fact of relation i was shown; sums: of
                                 sum i */
    uint32_t good; /* bit t: call t brought the episode on; bit turn: it was right to answer */
    int32_t state; /* of the parser */
    bool done, malformed;
    double reward; /* once done */
};

enum trainer_turn {
    TRAINER_TURN_GOES_ON,  /* write on */
    TRAINER_TURN_OBSERVED, /* the tool has written; a new turn begins */
    TRAINER_TURN_DONE
};

/* Start an episode; writes its prompt (at most TRAINER_PROMPT_MAX tokens), returns the length. */
TRAINER_API size_t trainer_env_reset(const struct trainer_env *env, uint64_t question,
                                     uint64_t noise, struct trainer_episode *episode,
                                     int32_t *prompt);

/*
 * Take one token of the policy. text (at least TRAINER_OBSERVATION_MAX) and *n receive what the
 * tool writes, *n is 0 otherwise. An episode that is done stays done.
 */
TRAINER_API enum trainer_turn trainer_env_step(const struct trainer_env *env,
                                               struct trainer_episode *episode, int32_t token,
                                               int32_t *text, size_t *n);

/* The true answer's tokens, without ANS; returns how many (at most TRAINER_HOPS_MAX). */
TRAINER_API size_t trainer_env_answer(const struct trainer_env *env,
                                      const struct trainer_episode *episode, int32_t *tokens);

/*
 * A rule-based judge of steps: whether turn t of a finished episode was GOOD. A call is if it asked
 * for what was needed next (hopworld: the next hop; slots: a slot still empty; ledger: an entry not
 * yet seen, or the next sum; sums: a sum that can be made and is not known), whether or not the
 * tool failed. The closing turn is if it was rewarded; in slots, ledger and sums also if nothing was
 * left to find out, or no turn to do it in.
 */
TRAINER_API bool trainer_env_judge(const struct trainer_episode *episode, int32_t turn);

/* How a noisy demonstrator errs, so that a policy warm-started on it is worth training. */
struct trainer_demo_options {
    double p_stop;      /* 0.12: answers early, per turn */
    double p_wrong;     /* 0.3: follows a fact that was not asked for; else: useless calls */
    double p_needless;  /* 0.1: searches on when it is done */
    double p_hindsight; /* 0.5: answers right although it stopped short */
    double p_belief;    /* 0.3: rows that are cut at a turn's end and answered right at once */
};

TRAINER_API void trainer_demo_options_init(struct trainer_demo_options *options);

/*
 * One demonstration: tokens and mask (1 = to be trained on), each at least trainer_env_max_tokens
 * long; returns the length. Belief rows train the answer's tokens only: they give information gain
 * a meaning.
 */
TRAINER_API size_t trainer_env_demonstrate(const struct trainer_env *env,
                                           const struct trainer_demo_options *options,
                                           uint64_t seed, int32_t *tokens, uint8_t *mask);

/*
 * A worked solution of a question: prompt, the calls that it takes one after another, what the tool
 * says to them (it never fails here), ANS and the true answer. Where max_turns do not suffice, the
 * answer is true all the same. tokens: at least trainer_env_max_tokens; returns the length.
 */
TRAINER_API size_t trainer_env_solve(const struct trainer_env *env, uint64_t question,
                                     int32_t *tokens);

/* The question that trainer_env_demonstrate of that seed is about. */
TRAINER_API uint64_t trainer_env_demonstrated(uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
