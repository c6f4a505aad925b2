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
