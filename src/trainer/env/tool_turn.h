/*
 * tool_turn.h: the grammar of turns that all environments with a tool share: S word word /S calls the tool, ANS
 * begins the answer.
 */
#pragma once

#include "env/env_kind.h"

/* What the parser expects next. Within an answer the state is AT_ANSWER + number of its tokens so far. */
enum tool_state { AT_TURN, AT_FIRST, AT_SECOND, AT_END, AT_ANSWER };

/* What the second word of a call may be. */
enum tool_word { TOOL_RELATION, TOOL_ENTITY, TOOL_ANY };

struct tool_turn {
    enum tool_word second;
    /* Answers the call that the episode has just parsed (entity, relation): writes text, returns its length. */
    size_t (*call)(const struct trainer_env *env, struct trainer_episode *episode, int32_t *text);
    /* Returns whether everything that the answer needs is known. If NULL, answers are judged by the outcome alone. */
    bool (*knows_all)(const struct trainer_episode *episode);
};

/* Number of tokens of a call. */
#define TOOL_TURN_CALL 4

/* Number of tokens of a call and of the longest list of facts. */
size_t tool_turn_tokens(const struct trainer_env *env);

/* Checks the ranges that all environments with a tool share. n_answer: tokens of the longest answer. */
enum trainer_status tool_turn_check(const struct trainer_env *env, int32_t n_answer, struct trainer_error *err);

/* Takes a token of the policy. The right answer is the one that trainer_env_answer writes. */
enum trainer_turn tool_turn_step(const struct tool_turn *tool, const struct trainer_env *env, struct trainer_episode *episode,
                                 int32_t token, int32_t *text, size_t *n);

/* ---- the tool that adds two numbers, for environments whose entities are numbers ---- */

/* Returns the sum modulo the number of entities, so that every sum has a token. */
int32_t calculator_sum(const struct trainer_env *env, int32_t a, int32_t b);

/* Return the two numbers of the call S number number /S that the episode has just parsed. */
int32_t calculator_first(const struct trainer_episode *episode);
int32_t calculator_second(const struct trainer_env *env, const struct trainer_episode *episode);

/* The largest number of tokens that calculator_answer writes. */
#define CALCULATOR_ANSWER_MAX 4

/*
 * Answers the call that the episode has just parsed: OBS second sum /OBS, which has the form of a fact, or with
 * probability p_fail OBS NONE /OBS. Uses the random stream of the current turn. Returns the number of tokens.
 */
size_t calculator_answer(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *text);

/* ---- the search tool, which answers a search with the fact that was asked for and distractors ---- */

/* Which facts may be distractors in an answer that contains the fact that was asked for. */
enum search_distractors {
    DISTRACTORS_ANY_OTHER,    /* any other fact about the entity */
    DISTRACTORS_NONE_OF_ASKED /* no fact of a relation that the question names */
};

/*
 * Answers a search for a relation of an entity: OBS relation entity .. /OBS with env->facts facts, or with
 * probability p_fail OBS NONE /OBS. Returns the number of tokens.
 */
size_t search_tool_answer_for(const struct trainer_env *env, const struct trainer_episode *episode, int32_t entity,
                              int32_t relation, enum search_distractors distractors, struct trainer_rng *rng, int32_t *text);

/* Answers the search that the episode has just parsed, with the random stream of the current turn. */
size_t search_tool_answer(const struct trainer_env *env, const struct trainer_episode *episode,
                          enum search_distractors distractors, int32_t *text);

/* Checks the ranges of environments with a search tool. n_answer: tokens of the longest answer. */
enum trainer_status search_tool_check(const struct trainer_env *env, enum search_distractors distractors, int32_t n_answer,
                                      struct trainer_error *err);

/* ---- code shared by the environments whose questions name k relations of one entity, and whose answers are
 * a value for each relation, found slot by slot.
 */

enum trainer_status slot_answer_check(const struct trainer_env *env, struct trainer_error *err);

/* Returns the number of tokens of the question, the calls, ANS and a value for every slot. */
size_t slot_answer_max_tokens(const struct trainer_env *env);

/* Writes each slot's relation and its value path[i + 1]; returns the number of tokens. */
size_t slot_answer_tokens(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *tokens);

/*
 * Answers the search that the episode has just parsed: writes text and returns its length. A search for an empty slot
 * is GOOD even if the tool fails, because the judge rates the step and not the tool's luck. Searching again, for
 * another entity, or for a relation that was not asked for uses one of max_turns without any benefit. `found` has a bit
 * for each slot that the tool has shown.
 */
size_t slot_answer_search(const struct trainer_env *env, struct trainer_episode *episode, int32_t *text);

/* ---- the graph of facts that a question is about. It defines which entity each relation of an entity leads
 * to.
 *
 * Every question has its own graph, so that facts can only be found, never remembered: what a policy learns is how to
 * search. Half of the relations stay inside a region, so that a guess within it is better than none.
 */

/* Returns the entity that a relation of an entity leads to, in the graph of a question. */
int32_t graph_follow(const struct trainer_env *env, uint64_t question, int32_t entity, int32_t relation);

/*
 * Starts a question about an entity and k relations of it: draws both, writes the prompt
 * Q entity relation_1 .. relation_k /Q and returns its length.
 */
size_t graph_ask(const struct trainer_env *env, struct trainer_episode *episode, int32_t *prompt);
