/*
 * tool_turn.h: the grammar of turns that environments with a tool share: S word word /S calls the
 * tool, ANS begins the answer.
 */
#ifndef TRAINER_ENV_TOOL_TURN_H
#define TRAINER_ENV_TOOL_TURN_H

#include "env/env_kind.h"

/* What the parser of the policy's tokens expects next; within an answer AT_ANSWER + tokens so far. */
enum tool_state { AT_TURN, AT_FIRST, AT_SECOND, AT_END, AT_ANSWER };

/* What the second word of a call may be. */
enum tool_word { TOOL_RELATION, TOOL_ENTITY, TOOL_ANY };

struct tool_turn {
    enum tool_word second;
    /* Answer the call that stands in the episode (entity, relation): text, and how many tokens. */
    size_t (*call)(const struct trainer_env *env, struct trainer_episode *episode, int32_t *text);
    /* Whether all is known that the answer needs; NULL: the outcome alone judges answers. */
    bool (*knows_all)(const struct trainer_episode *episode);
};

/* Tokens of a call. */
#define TOOL_TURN_CALL 4

/* Tokens of a call and of the longest list of facts. */
size_t tool_turn_tokens(const struct trainer_env *env);

/* Ranges that all environments with a tool have; n_answer: tokens of the longest answer. */
enum trainer_status tool_turn_check(const struct trainer_env *env, int32_t n_answer,
                                    struct trainer_error *err);

/* Take a token of the policy, which answers with the tokens of trainer_env_answer. */
enum trainer_turn tool_turn_step(const struct tool_turn *tool, const struct trainer_env *env,
                                 struct trainer_episode *episode, int32_t token, int32_t *text,
                                 size_t *n);

#endif
